// The follower: a second engine on its own thread, fed with durable facts through evolve(). It
// serves every read that is larger than the View (lists, why, bills). It also writes the
// checkpoints and compares digests with the loop. It never stops the loop: when it falls too far
// behind, it reads the missing facts from the store.
//
// Reads wait in two priority lanes, cheap and expensive. The follower first takes facts, then every
// waiting cheap read, then one expensive read, and so on. So a cheap read waits for at most one
// expensive one, however many of those wait.
//
// The order of the queue is an expensive read. The follower makes a snapshot of it on demand, at
// most once in limits::kQueueSnapshotMs. It makes it on a thread of its own from a copy of the
// state. Other reads go on meanwhile, and reads of the order wait (docs/design/0025). Start
// estimates are made the same way, also without demand.
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

// What the follower is given. Callbacks run on its thread unless they say otherwise.
struct FollowerOptions {
  // Facts after which a checkpoint is written. After a large checkpoint there are more, so that
  // writing costs a constant part of all work. 0: only on stop.
  std::uint64_t checkpoint_every = limits::kCheckpointEveryFacts;
  // stop() writes a checkpoint if facts have come since the newest one.
  bool checkpoint_on_stop = true;
  // Called before a checkpoint is written, since only the leader may write. None: always.
  std::function<bool()> may_write{};
  // Facts that may wait for the follower. Beyond that it drops them and reads the store.
  std::size_t most_queued_facts = limits::kFollowerFacts;
  // No threads: the caller runs turn(), so that a simulation of faults is reproducible.
  bool stepped = false;
  // A monotonic clock in ms, for the age of a queue snapshot. Unset: the machine's.
  std::function<DurationMs()> monotonic_ms;
  // The time at which starts are forecast. Unset: that of the last fact.
  std::function<TimeMs()> now_ms;
  // Called when a digest differs from the loop's: one of the two engines is wrong.
  std::function<void()> on_digest_mismatch;
  // Called on the follower's thread when a job with a start estimate starts. `error_ms`: the
  // difference to the expected start.
  std::function<void(DurationMs error_ms)> on_told_start;
  // Called once when the store can no longer be read. Unset: log and end the process at once.
  Fatal fatal;
};

// Figures for metrics and health. Counters only rise.
struct FollowerStats {
  // Evolved up to this fact.
  std::uint64_t seq = 0;
  // Released up to this fact. The difference to `seq` is the lag.
  std::uint64_t durable_seq = 0;
  // Checkpoints written, and attempts that failed.
  std::uint64_t checkpoints = 0;
  std::uint64_t checkpoint_failures = 0;
  // The last fact of the newest checkpoint; 0: there is none.
  std::uint64_t checkpoint_seq = 0;
  // Digests compared with the loop's.
  std::uint64_t digests_equal = 0;
  // Must stay 0.
  std::uint64_t digests_different = 0;
  // How often the queue overflowed and facts were read from the store.
  std::uint64_t caught_up_from_store = 0;
  // Snapshots of the queue's order made so far.
  std::uint64_t queue_snapshots = 0;
  // Forecasts of starts made so far.
  std::uint64_t forecasts = 0;
  // Reads that wait in both lanes.
  std::size_t reads_waiting = 0;
  // Reads answered since the start, in both lanes.
  std::uint64_t reads_answered = 0;
  // The store could not be read: reads are refused.
  bool failed = false;
};

class Follower {
 public:
  // `store` outlives the follower.
  Follower(FollowerOptions options, Store& store);
  ~Follower();  // stop(); a stepped follower just ends, like a process that crashes
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Opens a reader and starts the thread, which first rebuilds the state; reads wait for that. Call
  // before Runtime::start() or right after it. With Runtime::follow(), call after that and before
  // Runtime::followed(), so that no fact comes in between.
  std::optional<Error> start();
  // Finishes queued work, writes a checkpoint if one is due, and joins. Call after Runtime::stop().
  void stop();

  // For RuntimeOptions::on_durable. Never blocks.
  void durable(const Released& batch);

  using Read = std::function<void(const Engine&)>;
  // Queues a cheap read: a read of some rows, whose cost does not grow with fleet or queue. It runs
  // on the follower's thread and sees at least everything that was released before this call. So a
  // client that got its reply reads its own write. False: the lane is full
  // (limits::kMaxCheapReads), or the follower does not run. Threads: any.
  bool read(Read fn);
  // As read(), for an expensive read: its cost grows with the state. Callers take turns. At most
  // limits::kMaxReadsPerCaller of one caller and limits::kMaxExpensiveReads in all wait.
  Queued read_expensive(const std::string& caller, Read fn);
  // As read_expensive(), with a snapshot of the queue's order and the newest start estimates.
  // - The snapshot is of the engine's state. For a queue of more than limits::kQueueOrderedAtOnce
  //   jobs it may be up to limits::kQueueSnapshotMs older.
  // - The estimates of a small state are of the same moment. Those of a large state are at most
  //   some seconds old (server/runtime/forecaster.h).
  using QueueRead = std::function<void(const Engine&, const QueueSnapshot&, const ForecastStarts&)>;
  Queued read_queue(const std::string& caller, QueueRead fn);
  // As read(), with the newest start estimates; none are made for the read.
  using StartsRead = std::function<void(const Engine&, const ForecastStarts&)>;
  bool read_starts(StartsRead fn);
  // As read_queue(), without the order.
  Queued read_expensive_starts(const std::string& caller, StartsRead fn);
  // Threads: any.
  FollowerStats stats() const;
  // Stepped only: finishes queued work, reads too, and writes a checkpoint if one is due.
  void turn();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
