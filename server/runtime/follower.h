// The follower: a second engine on its own thread. It gets each durable fact from the runtime, and
// applies it with Engine::evolve(), which decides nothing. The follower serves all reads (lists,
// explanations, bills) that need more than the View, the small read-only copy of the state that the
// loop (the thread that decides) publishes. The follower also writes the checkpoints, and compares
// digests of its state with those of the loop. The loop never waits for the follower. If too many
// facts wait for the follower, it drops them and reads them from the store.
//
// Reads wait in two priority lanes, cheap and expensive. In each turn, the follower takes the
// waiting facts, then runs all waiting cheap reads, then one expensive read. So a cheap read waits
// for at most one expensive read, however many expensive reads wait.
//
// A read of the queue's order is expensive, because it needs a snapshot of that order. For a queue
// of at most limits::kQueueOrderedAtOnce jobs, the follower makes the snapshot at once. For a
// longer queue, a separate thread makes the snapshot from a copy of the state, at most once in
// limits::kQueueSnapshotMs. Only reads of the order wait for this thread (docs/design/0025). The
// follower makes start estimates in a similar way, but it makes them even if no read needs them
// (server/runtime/forecaster.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/error.h"
#include "core/limits.h"
#include "engine/answers/queue_snapshot.h"
#include "engine/engine.h"
#include "engine/forecast/start_calibration.h"
#include "server/runtime/checkpointer.h"
#include "server/runtime/fair_queue.h"
#include "server/runtime/ports.h"
#include "server/runtime/runtime.h"

namespace subak {

// The options of the follower. Callbacks run on the follower's thread, unless their comment says
// otherwise.
struct FollowerOptions {
  // The number of facts after which a checkpoint is written. After a large checkpoint more facts
  // must come, so that writing checkpoints takes a constant part of all work. 0: only stop() writes
  // a checkpoint.
  std::uint64_t checkpoint_every = limits::kCheckpointEveryFacts;
  // True: stop() writes a checkpoint if facts have come since the newest checkpoint.
  bool checkpoint_on_stop = true;
  // Returns true if the follower may write a checkpoint now; only the leader may. Unset: the
  // follower may always write.
  std::function<bool()> may_write{};
  // How many facts may wait for the follower. If more wait, the follower drops them and reads them
  // from the store.
  std::size_t most_queued_facts = limits::kFollowerFacts;
  // True: there are no threads, and the caller runs turn(). This makes a simulation of faults
  // reproducible.
  bool stepped = false;
  // A monotonic clock in ms, by which the follower measures the age of snapshots and forecasts.
  // Unset: the machine's clock.
  std::function<DurationMs()> monotonic_ms;
  // Returns the present time, at which a new forecast begins. Unset: the time of the last fact.
  std::function<TimeMs()> now_ms;
  // Called when a digest differs from the loop's digest. One of the two engines is then wrong.
  std::function<void()> on_digest_mismatch;
  // Called when a job with a start estimate starts. `error_ms`: how far the actual start is from
  // the expected one, in either direction.
  std::function<void(DurationMs error_ms)> on_told_start;
  // Called once when the follower cannot read the store. Unset: the follower logs the error and
  // ends the process at once.
  Fatal fatal;
};

// Figures for metrics, /readyz and GetStatus. Counters only rise.
struct FollowerStats {
  // The last fact that the follower's engine has.
  std::uint64_t seq = 0;
  // The last fact that the loop released. `durable_seq` minus `seq` is the follower's lag.
  std::uint64_t durable_seq = 0;
  // The numbers of checkpoints written, and of attempts that failed.
  std::uint64_t checkpoints = 0;
  std::uint64_t checkpoint_failures = 0;
  // The last fact of the newest checkpoint; 0: there is none.
  std::uint64_t checkpoint_seq = 0;
  PastCheckpointStats past;
  // How many digests of the follower were equal to the loop's digests.
  std::uint64_t digests_equal = 0;
  // How many digests of the follower differed from the loop's digests. This number must stay 0.
  std::uint64_t digests_different = 0;
  // How often the follower read facts from the store because too many waited.
  std::uint64_t caught_up_from_store = 0;
  // The number of snapshots of the queue's order made so far.
  std::uint64_t queue_snapshots = 0;
  // The number of forecasts of starts made so far.
  std::uint64_t forecasts = 0;
  // The number of reads that wait now, in both lanes together. Reads that wait for a snapshot of
  // the queue's order do not count.
  std::size_t reads_waiting = 0;
  // The number of reads answered since the start, in both lanes together.
  std::uint64_t reads_answered = 0;
  // True: the store could not be read, so the follower refuses reads.
  bool failed = false;
};

// The follower of one process. Threads: one at a time may call start(), stop() and turn();
// RuntimeOptions::on_durable calls durable(); any thread may call the other members.
class Follower {
 public:
  // `store` must outlive the follower.
  Follower(FollowerOptions options, Store& store);
  ~Follower();  // calls stop(), but not in stepped mode, which ends like a crash
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Opens a reader of the store and starts the thread. The thread first rebuilds the state, and
  // reads wait until that is done. Call start() at a moment at which the follower misses no fact.
  // - If the service uses Runtime::follow(): after follow() and before the first
  //   Runtime::followed().
  // - Otherwise: before Runtime::start(), or immediately after it.
  std::optional<Error> start();
  // Finishes the queued work, including the reads. It then writes a checkpoint if facts have come
  // since the newest one (FollowerOptions::checkpoint_on_stop), and joins the thread. Call it after
  // Runtime::stop().
  void stop();

  // Queues a durable batch for the follower, and never blocks. RuntimeOptions::on_durable calls it.
  void durable(const Released& batch);

  using Read = std::function<void(const Engine&)>;
  // Queues a cheap read: a read of a few rows, whose cost does not grow with the fleet or the
  // queue. `fn` runs on the follower's thread. `fn` sees all facts that were released before this
  // call, and maybe later facts. So a client that got the reply to a write can read that write.
  // False: the lane is full (limits::kMaxCheapReads), or the follower does not run or has failed.
  // Threads: any.
  bool read(Read fn);
  // Works as read(), for an expensive read, which is one whose cost grows with the state. Callers
  // take turns (FairQueue). One caller may have at most limits::kMaxReadsPerCaller reads. At most
  // limits::kMaxExpensiveReads reads of all callers may wait, plus one read of each caller.
  Queued read_expensive(const std::string& caller, Read fn);
  // Works as read_expensive(), with a snapshot of the queue's order and the newest start estimates.
  // - The snapshot shows the state of the engine that `fn` gets. For a queue of more than
  //   limits::kQueueOrderedAtOnce jobs, the snapshot may be older, by up to
  //   limits::kQueueSnapshotMs.
  // - The start estimates for a small state are up to date. The estimates for a large state may be
  //   some seconds old (server/runtime/forecaster.h).
  using QueueRead = std::function<void(const Engine&, const QueueSnapshot&, const ForecastStarts&)>;
  Queued read_queue(const std::string& caller, QueueRead fn);
  // Works as read(), with the newest start estimates. The follower makes no new estimates for this
  // read.
  using StartsRead = std::function<void(const Engine&, const ForecastStarts&)>;
  bool read_starts(StartsRead fn);
  // Works as read_queue(), without the order of the queue.
  Queued read_expensive_starts(const std::string& caller, StartsRead fn);
  // Threads: any.
  FollowerStats stats() const;
  // Only for a stepped follower: finishes the queued work, including the reads, and writes a
  // checkpoint if one is due.
  void turn();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
