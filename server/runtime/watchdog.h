// Detects that the loop makes no progress although it has work, for example because a pass never
// ends or the store hangs. It repairs nothing. It logs, and the health status is not SERVING until
// the loop makes progress again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "core/limits.h"
#include "server/runtime/ports.h"
#include "server/runtime/runtime.h"
#include "threads/mutex.h"

namespace subak {

// Detects a stall, without a thread.
// Threads: one.
class StallDetector {
 public:
  explicit StallDetector(DurationMs patience_ms) : patience_ms_(patience_ms) {}
  // Returns true if no batch was released for longer than the patience, although there was work all
  // the time.
  // `now_ms`: a monotonic clock. A batch released since the last call counts as progress, and so
  // does a moment without work. The first call never returns true.
  bool stalled(const RuntimeStats& stats, DurationMs now_ms);

 private:
  DurationMs patience_ms_;
  // The number of released batches at the last call.
  std::uint64_t batches_ = 0;
  // When progress was last seen.
  DurationMs since_ms_ = 0;
  // True: there was work at the last call.
  bool working_ = false;
};

// The thread that looks for a stall, ten times in each period of the patience.
class Watchdog {
 public:
  // Starts the thread. The thread calls `stats` (Runtime::stats). `clock` outlives the watchdog.
  // `patience_ms`: how long work may wait without a released batch.
  Watchdog(std::function<RuntimeStats()> stats, const Clock& clock,
           DurationMs patience_ms = limits::kWatchdogPatienceMs);
  // Joins the thread. `stats` is not called after that.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // stalled() is true from the detection of a stall until the loop makes progress. stalls() counts
  // detections since the start. Threads: any.
  bool stalled() const { return stalled_.load(std::memory_order_relaxed); }
  std::uint64_t stalls() const { return stalls_.load(std::memory_order_relaxed); }

 private:
  // The thread's work, until the destructor.
  void run();
  // Looks once, and logs a change.
  void look(StallDetector& detector);

  std::function<RuntimeStats()> stats_;
  const Clock& clock_;
  DurationMs patience_ms_;
  std::atomic<bool> stalled_{false};
  std::atomic<std::uint64_t> stalls_{0};
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ SUBAK_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace subak
