// The follower: a second engine on its own thread, which gets the durable facts through evolve().
// It serves all reads that need more than the View (lists, explanations, bills). It also writes the
// checkpoints and compares digests with the loop. The loop never waits for it: if the follower is
// too far behind, it reads the missing facts from the store.
//
// Reads wait in two priority lanes, cheap and expensive. In each round, the follower takes facts,
// then all waiting cheap reads, then one expensive read. So a cheap read waits for at most one
// expensive read, however many wait.
//
// Reading the order of the queue is expensive. The follower makes a snapshot of the order on
// demand, at most once in limits::kQueueSnapshotMs. A separate thread makes the snapshot from a
// copy of the state. Only reads of the order wait for it (docs/design/0025). Start estimates are
// made in the same way, also without demand.
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
#include "server/runtime/fair_queue.h"
#include "server/runtime/ports.h"
#include "server/runtime/runtime.h"

namespace subak {

// The options of the follower. Callbacks run on the follower's thread, unless their
// comment says otherwise.
struct FollowerOptions {
  // The number of facts after which a checkpoint is written. After a large checkpoint the number is
  // larger, so that writing takes a constant part of all work. 0: only stop() writes one.
  std::uint64_t checkpoint_every = limits::kCheckpointEveryFacts;
  // stop() writes a checkpoint if facts have come since the newest one.
  bool checkpoint_on_stop = true;
  // Called before a checkpoint is written, since only the leader may write. Unset: the follower may
  // always write.
  std::function<bool()> may_write{};
  // How many facts may wait for the follower. If more wait, it drops them and reads the store.
  std::size_t most_queued_facts = limits::kFollowerFacts;
  // True: there are no threads, and the caller runs turn().
  // So a simulation of faults is reproducible.
  bool stepped = false;
  // A monotonic clock in ms, for the age of a queue snapshot. Unset: the machine's.
  std::function<DurationMs()> monotonic_ms;
  // The time at which forecasts begin. Unset: the time of the last fact.
  std::function<TimeMs()> now_ms;
  // Called when a digest differs from the loop's. Then one of the two engines is wrong.
  std::function<void()> on_digest_mismatch;
  // Called on the follower's thread when a job with a start estimate starts. `error_ms`: the
  // difference to the expected start.
  std::function<void(DurationMs error_ms)> on_told_start;
  // Called once when the store can no longer be read. Unset: the follower logs the error and ends
  // the process at once.
  Fatal fatal;
};

// Figures for metrics and health. Counters only rise.
struct FollowerStats {
  // The last fact that the follower's engine has.
  std::uint64_t seq = 0;
  // The last fact that the loop released. The difference to `seq` is the lag.
  std::uint64_t durable_seq = 0;
  // The numbers of checkpoints written, and of attempts that failed.
  std::uint64_t checkpoints = 0;
  std::uint64_t checkpoint_failures = 0;
  // The last fact of the newest checkpoint; 0: there is none.
  std::uint64_t checkpoint_seq = 0;
  // How many digests were equal to the loop's.
  std::uint64_t digests_equal = 0;
  // How many digests differed from the loop's. This must stay 0.
  std::uint64_t digests_different = 0;
  // How often too many facts waited, so that the follower read facts from the store.
  std::uint64_t caught_up_from_store = 0;
  // Snapshots of the queue's order made so far.
  std::uint64_t queue_snapshots = 0;
  // Forecasts of starts made so far.
  std::uint64_t forecasts = 0;
  // The number of reads that wait in both lanes.
  std::size_t reads_waiting = 0;
  // The number of reads answered since the start, in both lanes.
  std::uint64_t reads_answered = 0;
  // True: the store could not be read, so the follower refuses reads.
  bool failed = false;
};

class Follower {
 public:
  // `store` outlives the follower.
  Follower(FollowerOptions options, Store& store);
  ~Follower();  // stop(); a stepped follower just ends, like a process that crashes
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Opens a reader and starts the thread. The thread first rebuilds the state, and reads wait for
  // that. Call it before Runtime::start() or right after it. If Runtime::follow() is used, call it
  // after follow() and before the first Runtime::followed(), so that the follower misses no fact.
  std::optional<Error> start();
  // Finishes queued work, writes a checkpoint if one is due, and joins the thread.
  // Call it after Runtime::stop().
  void stop();

  // Takes a durable batch. RuntimeOptions::on_durable calls it. It never blocks.
  void durable(const Released& batch);

  using Read = std::function<void(const Engine&)>;
  // Queues a cheap read: a read of some rows, whose cost does not grow with fleet or queue. It runs
  // on the follower's thread, and sees at least all facts that were released before this call. So a
  // client that got the reply to a write can read that write. False: the lane is full
  // (limits::kMaxCheapReads), or the follower does not run. Threads: any.
  bool read(Read fn);
  // As read(), for an expensive read: its cost grows with the state. Callers take turns. At most
  // limits::kMaxReadsPerCaller reads of one caller wait, and limits::kMaxExpensiveReads in all.
  Queued read_expensive(const std::string& caller, Read fn);
  // As read_expensive(), with a snapshot of the queue's order and the newest start estimates.
  // - The snapshot is of the engine's state. For a queue of more than limits::kQueueOrderedAtOnce
  //   jobs it may be up to limits::kQueueSnapshotMs older.
  // - The estimates of a small state are of the same moment. Those of a large state are at most
  //   some seconds old (server/runtime/forecaster.h).
  using QueueRead = std::function<void(const Engine&, const QueueSnapshot&, const ForecastStarts&)>;
  Queued read_queue(const std::string& caller, QueueRead fn);
  // As read(), with the newest start estimates. The follower makes no new estimates for this read.
  using StartsRead = std::function<void(const Engine&, const ForecastStarts&)>;
  bool read_starts(StartsRead fn);
  // As read_queue(), without the order of the queue.
  Queued read_expensive_starts(const std::string& caller, StartsRead fn);
  // Threads: any.
  FollowerStats stats() const;
  // For a stepped follower: finishes queued work, with reads, and writes a
  // checkpoint if one is due.
  void turn();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
