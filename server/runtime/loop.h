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
  // Never nullptr; may be empty.
  std::shared_ptr<std::vector<Fact>> facts = std::make_shared<std::vector<Fact>>();
  // At most one of `one` and `all` is set. Both may be empty: no caller waits.
  struct Completion {
    ReplyFn one;
    RepliesFn all;
    // One for each input, in their order.
    std::vector<Reply> replies;
  };
  std::vector<Completion> completions;
  // Effects by stream, in the order of the decisions.
  std::vector<std::pair<std::shared_ptr<EffectStream>, std::vector<Effect>>> deliveries;
  // What on_durable gets.
  Released released;
  // True if nothing waits for this batch to be durable.
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
  // Starts the store thread, then the loop.
  void start_threads();
  void stop();
  // Lets the loop finish its work, and joins both threads.
  void stop_threads();
  // Any thread. False: not accepting, or the mailbox is full; it counts as refused.
  bool post(Mail mail);
  // For tests without threads (RuntimeOptions::stepped).
  void step();
  void commit();

  // The loop.
  // The loop's thread: turns until there is nothing left to do after stop(), or a commit failed.
  void run();
  // Sleeps until there is work, at most patience(). False: the end.
  bool wait();
  // Takes posts and the store's answer. False: the end.
  bool collect() SUBAK_REQUIRES(shared.mutex);
  // One round: fills a batch, hands it over if the store is free, releases the durable one.
  void turn();
  // Applies posts, at most limits::kMaxBatchInputs in a batch, and a Tick if one is due.
  void fill();
  // Applies all inputs of a post, or subscribes its stream.
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
  // Returns the effects of the filling batch for this stream.
  std::vector<Effect>& delivery(const std::shared_ptr<EffectStream>& stream);
  // Runs a scheduling pass, if one is due and the options let passes run by themselves.
  void pass_if_due();
  // Gives the filling batch to the store, after a pass if one is due. An empty batch is not given.
  void hand_over();
  // In stepped mode commit() takes the facts.
  void give_to_store(std::shared_ptr<const std::vector<Fact>> facts);
  // True for each digest_every-th batch, if it can be compared.
  bool wants_digest(const std::vector<Fact>& facts) const;
  // on_durable first, then the View, effects and replies, in this order. So a caller with a reply
  // finds its effect in the View.
  void release(Batch& batch);
  // Takes the store's answer. The store thread's; stepped: the caller's.
  void committed(StoreThread::Done done);
  // Looks at the clocks, once per turn.
  void stamp();
  // Applies in::ClockWrong once when the clock turns out to be behind.
  void say_clock_wrong();
  ClockReading read_clock() const { return {clock.wall_ms(), clock.boot_ms()}; }
  // Logs a change of the judgement.
  void tell_clock(const ClockStatus& before) const;
  // Returns the longest wait: until the next deadline, within bounds.
  DurationMs patience() const;
  // True if the filling batch has room for a further input.
  bool can_fill() const;
  // True if a pass is due and passes run by themselves.
  bool wants_pass() const;
  // True if a post waits or a batch is on its way.
  bool has_work() const SUBAK_REQUIRES(shared.mutex);
  // True if there is work and no commit has failed.
  bool has_more() const {
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
    // For the loop.
    CondVar wake;
    // For start(), which waits for the first batch.
    CondVar started;
    Mailbox mailbox SUBAK_GUARDED_BY(mutex);
    // All but the figures that Runtime::stats() adds.
    RuntimeStats stats SUBAK_GUARDED_BY(mutex);
    // nullptr before the first release.
    std::shared_ptr<const View> view SUBAK_GUARDED_BY(mutex);
    // The store's answer, until the loop takes it.
    std::optional<StoreThread::Done> store_done SUBAK_GUARDED_BY(mutex);
    // The error of the commit that failed.
    std::optional<Error> failure SUBAK_GUARDED_BY(mutex);
    // post() takes inputs.
    bool accepting SUBAK_GUARDED_BY(mutex) = false;
    // stop() was called: the loop ends once its work is done.
    bool stopping SUBAK_GUARDED_BY(mutex) = false;
    // The loop looks at the clock at once.
    bool nudged SUBAK_GUARDED_BY(mutex) = false;
    // Between start() and stop().
    bool running SUBAK_GUARDED_BY(mutex) = false;
    // Boot clock: when it last had all facts of the store.
    std::int64_t followed_at_ms SUBAK_GUARDED_BY(mutex) = 0;
  };
  Shared shared;

  // The rest is used by the loop alone.
  Engine engine;
  // What a follower of another leader knows.
  struct OfLeader {
    // The state is complete.
    bool is_known = false;
    // As the leader said last.
    KnownAs known_as;
  };
  OfLeader of_leader;
  // The times that inputs get.
  struct Stamps {
    // Written under the mutex. The loop alone reads it without.
    BelievedTime time;
    // The time of the present turn.
    TimeMs last = 0;
    // in::ClockWrong was applied since the clock is behind.
    bool said_wrong = false;
  };
  Stamps stamps;
  // Taken from the mailbox, not applied yet.
  std::deque<Mail> mails;
  // Turns that a due Tick has waited for `mails`.
  std::size_t tick_put_off = 0;
  // The batches on their way: at most one of each kind.
  struct Batches {
    std::unique_ptr<Batch> filling = std::make_unique<Batch>();
    // Handed over, not committed; nullptr: the store is free.
    std::unique_ptr<Batch> at_store;
    // Committed, not released yet.
    std::unique_ptr<Batch> durable;
    // Batches so far, for digest_every.
    std::uint64_t handed_over = 0;
    // Stepped only: the facts that commit() takes.
    std::shared_ptr<const std::vector<Fact>> to_commit;
  };
  Batches batches;
  // Open streams, by cluster. A closed one is dropped at its next effect.
  std::vector<std::pair<ClusterId, std::shared_ptr<EffectStream>>> streams;
  // nullptr: stepped, or not started.
  std::unique_ptr<StoreThread> store_thread;
  std::thread thread;
};

}  // namespace subak
