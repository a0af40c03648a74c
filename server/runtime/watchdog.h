// Detects that the loop makes no progress although it has work: a pass that never ends, or a store
// that hangs. It does not repair. It logs, and health is not serving until the loop makes progress
// again.
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

// The detection alone, without a thread.
// Threads: one.
class StallDetector {
 public:
  explicit StallDetector(DurationMs patience_ms) : patience_ms_(patience_ms) {}
  // Returns true if nothing was released for longer than the patience although there was work all
  // the time.
  // `now_ms`: a monotonic clock. Progress is any batch released since the last call, or a moment
  // without work. The first call never says true.
  bool stalled(const RuntimeStats& stats, DurationMs now_ms);

 private:
  DurationMs patience_ms_;
  // As of the last call.
  std::uint64_t batches_ = 0;
  // When progress was seen last.
  DurationMs since_ms_ = 0;
  // There was work at the last call.
  bool working_ = false;
};

// It looks ten times per patience.
class Watchdog {
 public:
  // `stats` is called by the watchdog's thread (Runtime::stats). `clock` outlives the watchdog.
  // Starts its thread. `patience_ms`: how long work may wait without a released batch.
  Watchdog(std::function<RuntimeStats()> stats, const Clock& clock,
           DurationMs patience_ms = limits::kWatchdogPatienceMs);
  // Joins. `stats` is not called afterwards.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Threads: any.
  // True from the detection until the loop makes progress. stalls() counts detections since the
  // start.
  bool stalled() const { return stalled_.load(std::memory_order_relaxed); }
  std::uint64_t stalls() const { return stalls_.load(std::memory_order_relaxed); }

 private:
  // The thread, until the destructor.
  void run();
  // Looks once. A change goes to the log.
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
