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

// A batch: facts that are not durable yet, and the replies and effects that wait for these facts.
// One turn begins to fill it. Later turns may add to it until the store is free.
struct Batch {
  // The facts. Never nullptr; may be empty.
  std::shared_ptr<std::vector<Fact>> facts = std::make_shared<std::vector<Fact>>();
  // The replies to one post. At most one of `one` and `all` is set.
  // If both are empty, no caller waits.
  struct Completion {
    ReplyFn one;
    RepliesFn all;
    // One reply for each input, in the order of the inputs.
    std::vector<Reply> replies;
  };
  std::vector<Completion> completions;
  // Effects by stream, in the order of the decisions.
  std::vector<std::pair<std::shared_ptr<EffectStream>, std::vector<Effect>>> deliveries;
  // The argument for on_durable.
  Released released;
  // True if nothing waits for this batch to be durable.
  bool empty() const { return facts->empty() && completions.empty() && deliveries.empty(); }
};

// The loop. It moves each batch through the states filling, at the store, durable, released. The
// store works on one batch while the loop fills the next. Before a batch is durable, the loop
// publishes no reply, no effect and no View of it.
struct Runtime::Impl {
  // `s` and `c` outlive this object. The constructor starts no thread.
  Impl(RuntimeOptions o, Store& s, const Clock& c)
      : options(std::move(o)), store(s), clock(c), shared(options.most_waiting) {}

  // See Runtime::follow(). recover() reads checkpoint and facts into the engine. The thread that
  // starts the service calls both, before start().
  Result<Recovered> recover(const std::function<void(const Fact&)>& saw);
  Result<Recovered> follow(const std::function<void(const Fact&)>& saw);
  // See Runtime::followed(). The standby's thread calls it, until start(). `facts` follow those
  // that the engine has.
  void followed(std::vector<Fact> facts, const KnownAs& known_as);
  // Returns the View with the leader's user name in each cluster.
  std::shared_ptr<const View> followed_view() const;
  // Releases facts of another leader, which are durable already.
  void show(std::vector<Fact> facts);
  // See runtime.h. start() returns once the first batch (in::Restarted) is durable.
  Result<Recovered> start();
  // Starts the store thread, then the loop.
  void start_threads();
  void stop();
  // Lets the loop finish its work, and joins both threads.
  void stop_threads();
  // Puts a post into the mailbox. Threads: any. False: the loop does not accept posts, or the
  // mailbox is full. The post then counts as refused.
  bool post(Mail mail);
  // Runtime::turn() and Runtime::commit(), for tests without threads (RuntimeOptions::stepped).
  void step();
  void commit();

  // The work of the loop's thread. It runs turns until a commit fails, or until no work is left
  // after stop().
  void run();
  // Sleeps until there is work, at most patience(). False: the loop must end.
  bool wait();
  // Takes posts and the store's answer. False: the loop must end.
  bool collect() SUBAK_REQUIRES(shared.mutex);
  // Does one round: fills a batch, gives it to the store if the store is free, and releases the
  // durable batch.
  void turn();
  // Applies posts, at most limits::kMaxBatchInputs inputs in a batch, and a Tick if one is due.
  void fill();
  // Applies all inputs of a post, or subscribes the stream of the post.
  void take_mail(Mail& mail);
  // Applies a Tick if one is due. Waiting posts go first, for a bounded number of turns.
  void tick_if_due();
  // Gives the input the turn's time, records it, and decides it. Facts and effects go into the
  // filling batch.
  Reply apply(Input input);
  // As apply(), for AcceptClock. The new time counts from the next input on.
  Reply accept_clock(Input input);
  // Subscribes a stream, which begins with the outstanding effects of its cluster.
  void subscribe(Mail& mail);
  // Returns the effects of the filling batch for this stream.
  std::vector<Effect>& delivery(const std::shared_ptr<EffectStream>& stream);
  // Runs a scheduling pass, if one is due and the options let passes run by themselves.
  void pass_if_due();
  // Gives the filling batch to the store, after a pass if one is due.
  // It does not give an empty batch.
  void hand_over();
  // Gives facts to the store thread. In stepped mode, commit() takes them.
  void give_to_store(std::shared_ptr<const std::vector<Fact>> facts);
  // True for each digest_every-th batch, if its digest can be compared.
  bool wants_digest(const std::vector<Fact>& facts) const;
  // Releases a batch: on_durable, then the View, the effects and the replies, in this order. So a
  // caller that gets a reply finds the result in the View.
  void release(Batch& batch);
  // Takes the store's answer. The store thread calls it;
  // in stepped mode, the caller of commit() does.
  void committed(StoreThread::Done done);
  // Reads the clocks, once in each turn.
  void stamp();
  // Applies in::ClockWrong once when the wall clock is found to be behind.
  void say_clock_wrong();
  ClockReading read_clock() const { return {clock.wall_ms(), clock.boot_ms()}; }
  // Logs a change of the clock's state.
  void tell_clock(const ClockStatus& before) const;
  // Returns how long the loop may sleep: until the next deadline, within bounds.
  DurationMs patience() const;
  // True if the filling batch has room for a further input.
  bool can_fill() const;
  // True if a pass is due and passes run by themselves.
  bool wants_pass() const;
  // True if a post waits, or if a batch is not released yet.
  bool has_work() const SUBAK_REQUIRES(shared.mutex);
  // True if there is work and no commit has failed.
  bool has_more() const {
    const MutexLock lock(shared.mutex);
    return has_work() && !shared.stats.failed;
  }

  const RuntimeOptions options;
  Store& store;
  const Clock& clock;

  // The data that other threads read and write. Only the loop writes `view` and most of `stats`.
  struct Shared {
    explicit Shared(std::size_t most_waiting) : mailbox(most_waiting) {}
    mutable Mutex mutex;
    // Wakes the loop.
    CondVar wake;
    // Wakes start(), which waits for the first batch.
    CondVar started;
    Mailbox mailbox SUBAK_GUARDED_BY(mutex);
    // All figures except those that Runtime::stats() adds.
    RuntimeStats stats SUBAK_GUARDED_BY(mutex);
    // nullptr before the first release.
    std::shared_ptr<const View> view SUBAK_GUARDED_BY(mutex);
    // The store's answer, until the loop takes it.
    std::optional<StoreThread::Done> store_done SUBAK_GUARDED_BY(mutex);
    // The error of the commit that failed.
    std::optional<Error> failure SUBAK_GUARDED_BY(mutex);
    // True: post() accepts inputs.
    bool accepting SUBAK_GUARDED_BY(mutex) = false;
    // True: stop() was called, so the loop ends once its work is done.
    bool stopping SUBAK_GUARDED_BY(mutex) = false;
    // True: the loop must read the clock at once.
    bool nudged SUBAK_GUARDED_BY(mutex) = false;
    // True between start() and stop().
    bool running SUBAK_GUARDED_BY(mutex) = false;
    // When the engine last had all facts of the store, by the boot clock.
    std::int64_t followed_at_ms SUBAK_GUARDED_BY(mutex) = 0;
  };
  Shared shared;

  // Only the loop uses this and all following members.
  Engine engine;
  // The data about another leader that this process follows.
  struct OfLeader {
    // True: the engine has all facts up to now.
    bool is_known = false;
    // The user names that the leader stored last.
    KnownAs known_as;
  };
  OfLeader of_leader;
  // The times that inputs get.
  struct Stamps {
    // The loop writes it under the mutex. Only the loop reads it without the mutex.
    BelievedTime time;
    // The time of the present turn.
    TimeMs last = 0;
    // True: in::ClockWrong was applied since the clock is behind.
    bool said_wrong = false;
  };
  Stamps stamps;
  // Posts taken from the mailbox and not applied yet.
  std::deque<Mail> mails;
  // For how many turns a due Tick has waited for `mails`.
  std::size_t tick_put_off = 0;
  // The batches that are not released: at most one of each kind.
  struct Batches {
    std::unique_ptr<Batch> filling = std::make_unique<Batch>();
    // The batch that was given to the store and is not committed; nullptr: the store is free.
    std::unique_ptr<Batch> at_store;
    // The batch that is committed and not released.
    std::unique_ptr<Batch> durable;
    // The number of batches given to the store so far, for digest_every.
    std::uint64_t handed_over = 0;
    // In stepped mode: the facts that commit() takes.
    std::shared_ptr<const std::vector<Fact>> to_commit;
  };
  Batches batches;
  // Open streams, by cluster. A closed stream is dropped at its next effect.
  std::vector<std::pair<ClusterId, std::shared_ptr<EffectStream>>> streams;
  // nullptr: in stepped mode, or before the start.
  std::unique_ptr<StoreThread> store_thread;
  std::thread thread;
};

}  // namespace subak
