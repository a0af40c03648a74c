// The follower: a second engine on its own thread, fed with durable facts through evolve(). It
// serves every read that is larger than the View (lists, why, bills), writes the checkpoints, and
// compares digests with the loop. It never stops the loop: when it falls too far behind, it reads
// the missing facts back from the store.
//
// Reads wait in two lanes. Facts come first, then every cheap read that waits, then one dear one,
// and so on: a cheap read waits for at most one dear one, whoever asked for however many.
//
// The order of the queue is a dear read by itself, so the follower makes it only if somebody asks,
// at most once in limits::kQueuePictureMs, and on a thread of its own from a copy: meanwhile other
// reads go on, and those that asked for it wait (docs/design/0025). The forecast of starts is made
// the same way, whether somebody asks or not.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/error.h"
#include "core/limits.h"
#include "engine/engine.h"
#include "engine/queue_picture.h"
#include "engine/told_starts.h"
#include "server/runtime/fair_queue.h"
#include "server/runtime/ports.h"
#include "server/runtime/runtime.h"

namespace subak {

struct FollowerOptions {
  // Facts after which a checkpoint is written (more if the last checkpoint was large, so that
  // writing them costs a constant part of all work). 0: only on stop.
  std::uint64_t checkpoint_every = limits::kCheckpointEveryFacts;
  bool checkpoint_on_stop = true;
  // Asked before a checkpoint is written, as only who leads may. None: yes.
  std::function<bool()> may_write{};
  std::size_t most_queued_facts = limits::kFollowerFacts;
  // No threads: the caller runs turn(), so that a simulation of faults repeats exactly.
  bool stepped = false;
  // Milliseconds of a clock that never goes backwards: how old a picture of the queue is. Unset:
  // the machine's.
  std::function<DurationMs()> monotonic_ms;
  // The time at which starts are forecast. Unset: that of the last fact.
  std::function<TimeMs()> now_ms;
  std::function<void()> on_digest_mismatch;
  // A job that was told a start has started, so far from what was expected. On the follower's thread.
  std::function<void(DurationMs error_ms)> on_told_start;
  // Called once when the store can no longer be read. Unset: log and end the process at once.
  Fatal fatal;
};

struct FollowerStats {
  std::uint64_t seq = 0;          // evolved up to here
  std::uint64_t durable_seq = 0;  // released up to here: the difference is its lag
  std::uint64_t checkpoints = 0;  // written
  std::uint64_t checkpoint_failures = 0;
  std::uint64_t checkpoint_seq = 0;  // of the newest
  std::uint64_t digests_equal = 0;
  std::uint64_t digests_different = 0;     // must stay 0
  std::uint64_t caught_up_from_store = 0;  // times that the queue overflowed
  std::uint64_t queue_pictures = 0;        // made
  std::uint64_t forecasts = 0;             // made
  std::size_t reads_waiting = 0;           // of both lanes
  std::uint64_t reads_answered = 0;        // since the start, of both lanes
  bool failed = false;                     // the store could not be read: reads are refused
};

class Follower {
 public:
  // `store` outlives the follower.
  Follower(FollowerOptions options, Store& store);
  ~Follower();  // stop(); a stepped one just ends, as a process that crashes
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // Opens a reader and starts the thread, which first rebuilds the state; reads wait for that.
  // Call before Runtime::start(), or right after it; after Runtime::follow() and before Runtime::followed(), so that
  // no fact comes in between.
  std::optional<Error> start();
  // Works off what is queued, writes a checkpoint if one is due, joins. Call after Runtime::stop().
  void stop();

  // For RuntimeOptions::on_durable. Never blocks.
  void durable(const Released& batch);

  using Read = std::function<void(const Engine&)>;
  // Queues a cheap read: one of some rows, whatever the size of the fleet and the queue. It runs on
  // the follower's thread and sees at least everything that was released before this call (so a
  // client that got its reply reads its own write). False: lane full (limits::kMaxCheapReads), or
  // not running. Threads: any.
  bool read(Read fn);
  // The same for a read whose cost grows with the state. Callers take turns. At most
  // limits::kMaxReadsPerCaller of one caller and limits::kMaxDearReads in all wait.
  Queued read_dear(const std::string& caller, Read fn);
  // The same for a read of the queue's order. The picture is that of the engine's state, or, of a
  // queue of more than limits::kQueueOrderedAtOnce jobs, at most limits::kQueuePictureMs older.
  // Beside it the newest forecast of starts: of a small state that of now, else at most some seconds old
  // (server/runtime/forecaster.h).
  using QueueRead = std::function<void(const Engine&, const QueuePicture&, const ForecastStarts&)>;
  Queued read_queue(const std::string& caller, QueueRead fn);
  // As read(), with the newest forecast of starts beside the engine; none is made for it.
  using StartsRead = std::function<void(const Engine&, const ForecastStarts&)>;
  bool read_starts(StartsRead fn);
  // As read_queue(), of what asks for no order.
  Queued read_dear_starts(const std::string& caller, StartsRead fn);
  FollowerStats stats() const;
  // Stepped only: works off what is queued, reads too, and writes a checkpoint if one is due.
  void turn();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
