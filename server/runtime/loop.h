// The loop of the runtime: the thread that owns the engine and decides (runtime.h has the diagram).
// Private to server/runtime. A comment says which thread calls a member, unless the loop's thread
// calls it.
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
// One turn of the loop begins to fill the batch. Later turns may add to the batch until the store
// is free.
struct Batch {
  // The facts. The pointer is never nullptr, but the list may be empty.
  std::shared_ptr<std::vector<Fact>> facts = std::make_shared<std::vector<Fact>>();
  // The replies to one post. At most one of `one` and `all` is set. If neither is set, no caller
  // waits for the replies.
  struct Completion {
    ReplyFn one;
    RepliesFn all;
    // One reply for each input, in the order of the inputs.
    std::vector<Reply> replies;
  };
  std::vector<Completion> completions;
  // The effects for each stream, in the order of the decisions.
  std::vector<std::pair<std::shared_ptr<EffectStream>, std::vector<Effect>>> deliveries;
  // The argument for RuntimeOptions::on_durable.
  Released released;
  // True if nothing waits for this batch to be durable.
  bool empty() const { return facts->empty() && completions.empty() && deliveries.empty(); }
};

// The loop. The loop moves each batch through four states: filling, at the store, durable,
// released. The store works on one batch while the loop fills the next one. Until a batch is
// durable, the loop publishes none of its replies and effects, and no View that shows it.
struct Runtime::Impl {
  // `s` and `c` must outlive this object. The constructor starts no thread.
  Impl(RuntimeOptions o, Store& s, const Clock& c)
      : options(std::move(o)), store(s), clock(c), shared(options.most_waiting) {}

  // recover() reads the checkpoint and the facts after it into the engine. follow(): see
  // Runtime::follow(). The thread that starts the service calls both.
  Result<Recovered> recover(const std::function<void(const Fact&)>& saw);
  Result<Recovered> follow(const std::function<void(const Fact&)>& saw);
  // See Runtime::followed(). The standby's thread calls it until start() is called. `facts` begin
  // with the first fact that the engine does not have.
  void followed(std::vector<Fact> facts, const KnownAs& known_as);
  // Returns the engine's View, with the user name of the leader's edge in each cluster.
  std::shared_ptr<const View> followed_view() const;
  // Releases facts that another leader has committed, which are durable already.
  void show(std::vector<Fact> facts);
  // See runtime.h. start() returns once the first batch, which has in::Restarted, is released.
  Result<Recovered> start();
  // Starts the store thread, then the loop.
  void start_threads();
  void stop();
  // Lets the loop finish its work, and joins both threads.
  void stop_threads();
  // Puts a post into the mailbox. False: the loop does not accept posts, or the mailbox is full.
  // The post then counts in RuntimeStats::refused. Threads: any.
  bool post(Mail mail);
  // Runtime::turn() and Runtime::commit(), for tests without threads (RuntimeOptions::stepped).
  void step();
  void commit();

  // The main function of the loop's thread. It runs turns until a commit fails, or until stop() was
  // called and no work is left.
  void run();
  // Sleeps until there is work, but at most for patience(). False: the loop must end.
  bool wait();
  // Takes new posts, and the store's answer if there is one. False: the loop must end.
  bool collect() SUBAK_REQUIRES(shared.mutex);
  // Does one turn: fills the filling batch, gives this batch to the store if the store is free, and
  // releases the durable batch if there is one.
  void turn();
  // Applies posts until the filling batch has limits::kMaxBatchInputs inputs, and a Tick if one is
  // due.
  void fill();
  // Applies all inputs of a post, or subscribes the stream of the post.
  void take_mail(Mail& mail);
  // Applies a Tick if one is due. A due Tick lets waiting posts go first, for a bounded number of
  // turns.
  void tick_if_due();
  // Gives the input the turn's time, records the input, and lets the engine decide it. The facts
  // and effects go into the filling batch.
  Reply apply(Input input);
  // Works as apply(), for in::AcceptClock. The next input is the first that gets the new time.
  Reply accept_clock(Input input);
  // Subscribes a stream. The stream first gets the outstanding effects of its cluster.
  void subscribe(Mail& mail);
  // Returns the effects of the filling batch for this stream.
  std::vector<Effect>& delivery(const std::shared_ptr<EffectStream>& stream);
  // Runs a scheduling pass, if wants_pass() is true.
  void pass_if_due();
  // Runs a pass if one is due, and then gives the filling batch to the store. It does not give an
  // empty batch.
  void hand_over();
  // Gives the facts to the store thread. In stepped mode, the next call of commit() takes them
  // instead.
  void give_to_store(std::shared_ptr<const std::vector<Fact>> facts);
  // True if the batch with these facts is a digest_every-th batch, and its last fact has the
  // engine's present time.
  bool wants_digest(const std::vector<Fact>& facts) const;
  // Releases a batch in this order: on_durable, the View, the effects, the replies. So a caller
  // that gets a reply finds the result in the View.
  void release(Batch& batch);
  // Stores the store's answer for the loop, and wakes the loop. The store thread calls committed().
  // In stepped mode, commit() calls committed().
  void committed(StoreThread::Done done);
  // Reads the clocks and sets the turn's time, once in each turn.
  void stamp();
  // Applies in::ClockWrong when a turn first finds that the wall clock is far behind. It applies
  // the input again only if the wall clock was right meanwhile.
  void say_clock_wrong();
  // Applies in::TellCivilEnds if RuntimeOptions::civil_ends says so.
  void tell_civil_ends();
  ClockReading read_clock() const { return {clock.wall_ms(), clock.boot_ms()}; }
  // Logs a change of the clock's state.
  void tell_clock(const ClockStatus& before) const;
  // Returns how long the loop may sleep: until the engine's next deadline, but at most
  // limits::kLoopMaxWaitMs.
  DurationMs patience() const;
  // True if the filling batch has room for a further input.
  bool can_fill() const;
  // True if a pass is due and RuntimeOptions::auto_pass is set.
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

  // The data that the loop shares with other threads. Only the loop writes `view` and most of
  // `stats`.
  struct Shared {
    explicit Shared(std::size_t most_waiting) : mailbox(most_waiting) {}
    mutable Mutex mutex;
    // Wakes the loop.
    CondVar wake;
    // Wakes start(), which waits for the first batch.
    CondVar started;
    Mailbox mailbox SUBAK_GUARDED_BY(mutex);
    // All figures, except those that Runtime::stats() computes.
    RuntimeStats stats SUBAK_GUARDED_BY(mutex);
    // nullptr before the first release.
    std::shared_ptr<const View> view SUBAK_GUARDED_BY(mutex);
    // The store's answer, from its arrival until the loop takes it.
    std::optional<StoreThread::Done> store_done SUBAK_GUARDED_BY(mutex);
    // The error of the commit that failed; nullopt: none failed.
    std::optional<Error> failure SUBAK_GUARDED_BY(mutex);
    // True: post() accepts inputs.
    bool accepting SUBAK_GUARDED_BY(mutex) = false;
    // True: stop() was called, so the loop ends once no work is left.
    bool stopping SUBAK_GUARDED_BY(mutex) = false;
    // True: the loop must wake and read the clock at once.
    bool nudged SUBAK_GUARDED_BY(mutex) = false;
    // True between start() and stop().
    bool running SUBAK_GUARDED_BY(mutex) = false;
    // The last time at which the engine had all facts of the store, by the boot clock.
    std::int64_t followed_at_ms SUBAK_GUARDED_BY(mutex) = 0;
  };
  Shared shared;

  // Only the loop's thread uses this member and all following ones, except as Stamps says. Before
  // that thread exists, the thread that calls follow(), followed() or start() uses them.
  Engine engine;
  // The data about another leader, which this process follows.
  struct OfLeader {
    // True: the engine has all facts that the store had when this process last looked.
    bool is_known = false;
    // The user names that the leader stored last.
    KnownAs known_as;
  };
  OfLeader of_leader;
  // The times that inputs get.
  struct Stamps {
    // The loop locks the mutex when it writes `time`. Only the loop may read `time` without the
    // mutex.
    BelievedTime time;
    // The time of the present turn.
    TimeMs last = 0;
    // True: the clock is behind, and in::ClockWrong was applied for that.
    bool said_wrong = false;
  };
  Stamps stamps;
  // Posts that were taken from the mailbox and are not applied yet.
  std::deque<Mail> mails;
  // For how many turns a due in::Tick (a deadline of the engine has come) has waited for `mails`.
  std::size_t tick_put_off = 0;
  // The batches that are not released: at most one in each of the three states.
  struct Batches {
    std::unique_ptr<Batch> filling = std::make_unique<Batch>();
    // The batch that the store is committing; nullptr: the store is free.
    std::unique_ptr<Batch> at_store;
    // The batch that is committed and not released yet; nullptr: none.
    std::unique_ptr<Batch> durable;
    // The number of batches given to the store so far, for digest_every.
    std::uint64_t handed_over = 0;
    // In stepped mode: the facts that commit() takes.
    std::shared_ptr<const std::vector<Fact>> to_commit;
  };
  Batches batches;
  // The open streams, each with its cluster. A closed stream is dropped when the loop pushes the
  // next effects to it.
  std::vector<std::pair<ClusterId, std::shared_ptr<EffectStream>>> streams;
  // nullptr: the mode is stepped, or start() was not called yet.
  std::unique_ptr<StoreThread> store_thread;
  std::thread thread;
};

}  // namespace subak
