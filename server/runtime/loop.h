// The loop of the runtime (runtime.h has the diagram). Each group of members says which threads use
// it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "server/runtime/mailbox.h"
#include "server/runtime/runtime.h"
#include "server/runtime/store_thread.h"
#include "threads/mutex.h"

namespace subak {

// A batch: facts that wait to be durable, and the replies and effects that wait for them.
// One turn fills it; later turns may add to it until the store is free.
struct Batch {
  std::shared_ptr<std::vector<Fact>> facts = std::make_shared<std::vector<Fact>>();
  // At most one of `one` and `all` is set. Both may be empty: no caller waits.
  struct Completion {
    ReplyFn one;
    RepliesFn all;
    std::vector<Reply> replies;
  };
  std::vector<Completion> completions;
  // Effects by stream, in the order of the decisions.
  std::vector<std::pair<std::shared_ptr<EffectStream>, std::vector<Effect>>> deliveries;
  Released released;
  bool empty() const { return facts->empty() && completions.empty() && deliveries.empty(); }
};

// The state machine of one batch: filling, at the store, durable, released. The store works on one
// batch while the loop fills the next. Nothing of a batch leaves before it is durable: no reply, no
// effect, no View.
struct Runtime::Impl {
  // `s` and `c` outlive it. It starts nothing.
  Impl(RuntimeOptions o, Store& s, const Clock& c)
      : options(std::move(o)), store(s), clock(c), shared(options.most_waiting) {}

  // Before start(), by the thread that starts. recover() reads checkpoint and facts into the
  // engine.
  Result<Recovered> recover(const std::function<void(const Fact&)>& saw);
  Result<Recovered> follow(const std::function<void(const Fact&)>& saw);
  // By the standby's thread, until start(). `facts` follow those that the engine has.
  void followed(std::vector<Fact> facts, const KnownAs& known_as);
  // Returns the View with the names that the leader is known by in the clusters.
  std::shared_ptr<const View> followed_view() const;
  // Releases facts of another leader: they are durable already.
  void show(std::vector<Fact> facts);
  // See runtime.h. start() returns once the first batch (in::Restarted) is durable.
  Result<Recovered> start();
  void start_threads();
  void stop();
  void stop_threads();
  // Any thread. False: not accepting, or the mailbox is full; it counts as refused.
  bool post(Mail mail);
  // For tests without threads (RuntimeOptions::stepped).
  void step();
  void commit();

  // The loop.
  void run();
  // Sleeps until there is work, at most patience().
  bool wait();                                  // false: the end
  bool collect() SUBAK_REQUIRES(shared.mutex);  // false: the end
  // One round: fills a batch, hands it over if the store is free, releases the durable one.
  void turn();
  // Applies posts, at most limits::kMaxBatchInputs in a batch, and a Tick if one is due.
  void fill();
  void take_mail(Mail& mail);
  // Lets waiting posts go first, for a bounded number of turns.
  void tick_if_due();
  // Gives the input the turn's time, records it, and decides it. Facts and effects go into the
  // filling batch.
  Reply apply(Input input);
  // As apply(); the new time counts from the next input on.
  Reply accept_clock(Input input);
  // The stream begins with the outstanding effects of its cluster.
  void subscribe(Mail& mail);
  std::vector<Effect>& delivery(const std::shared_ptr<EffectStream>& stream);
  // Runs a scheduling pass, if one is due and the options let passes run by themselves.
  void pass_if_due();
  void hand_over();
  // In stepped mode commit() takes the facts.
  void give_to_store(std::shared_ptr<const std::vector<Fact>> facts);
  // True for each digest_every-th batch, if it can be compared.
  bool wants_digest(const std::vector<Fact>& facts) const;
  // on_durable first, then the View, effects and replies, in this order. So a caller with a reply
  // finds its effect in the View.
  void release(Batch& batch);
  void committed(StoreThread::Done done);  // store thread
  // Looks at the clocks, once per turn.
  void stamp();
  // Applies in::ClockWrong once when the clock turns out to be behind.
  void say_clock_wrong();
  ClockReading read_clock() const { return {clock.wall_ms(), clock.boot_ms()}; }
  // Logs a change of the judgement.
  void tell_clock(const ClockStatus& before) const;
  DurationMs patience() const;  // the longest wait
  bool can_fill() const;
  bool wants_pass() const;
  bool has_work() const SUBAK_REQUIRES(shared.mutex);
  bool has_more() const {  // and no commit failed
    const MutexLock lock(shared.mutex);
    return has_work() && !shared.stats.failed;
  }

  const RuntimeOptions options;
  Store& store;
  const Clock& clock;

  // What other threads read and write. The loop alone writes `view` and most of `stats`.
  struct Shared {
    explicit Shared(std::size_t most_waiting) : mailbox(most_waiting) {}
    mutable Mutex mutex;
    CondVar wake;     // for the loop
    CondVar started;  // for start()
    Mailbox mailbox SUBAK_GUARDED_BY(mutex);
    RuntimeStats stats SUBAK_GUARDED_BY(mutex);
    std::shared_ptr<const View> view SUBAK_GUARDED_BY(mutex);
    std::optional<StoreThread::Done> store_done SUBAK_GUARDED_BY(mutex);
    std::optional<Error> failure SUBAK_GUARDED_BY(mutex);  // of a commit
    bool accepting SUBAK_GUARDED_BY(mutex) = false;
    bool stopping SUBAK_GUARDED_BY(mutex) = false;
    bool nudged SUBAK_GUARDED_BY(mutex) = false;
    bool running SUBAK_GUARDED_BY(mutex) = false;  // between start() and stop()
    // Boot clock: when it last had all facts of the store.
    std::int64_t followed_at_ms SUBAK_GUARDED_BY(mutex) = 0;
  };
  Shared shared;

  // The rest is used by the loop alone.
  Engine engine;
  // What a follower of another leader knows.
  struct OfLeader {
    bool is_known = false;  // the state is complete
    KnownAs known_as;
  };
  OfLeader of_leader;
  // The times that inputs get.
  struct Stamps {
    BelievedTime time;  // written under the mutex; the loop alone reads it without
    TimeMs last = 0;
    bool said_wrong = false;  // in::ClockWrong was applied since the clock is behind
  };
  Stamps stamps;
  std::deque<Mail> mails;        // taken, not applied yet
  std::size_t tick_put_off = 0;  // turns that a due Tick has waited for mails
  // The batches on their way: at most one of each kind.
  struct Batches {
    std::unique_ptr<Batch> filling = std::make_unique<Batch>();
    std::unique_ptr<Batch> at_store;  // handed over, not committed
    std::unique_ptr<Batch> durable;   // committed, not yet released
    std::uint64_t handed_over = 0;
    std::shared_ptr<const std::vector<Fact>> to_commit;  // stepped only
  };
  Batches batches;
  std::vector<std::pair<ClusterId, std::shared_ptr<EffectStream>>> streams;
  std::unique_ptr<StoreThread> store_thread;  // unless stepped
  std::thread thread;
};

}  // namespace subak
