// Detects that the loop (the thread that decides) makes no progress although it has work, for
// example because a scheduling pass never ends or the store hangs. The watchdog repairs nothing. It
// logs the stall. /healthz and /readyz of the HTTP port fail until the loop makes progress again.
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

// Detects a stall from the figures that its caller passes.
// Threads: one at a time.
class StallDetector {
 public:
  explicit StallDetector(DurationMs patience_ms) : patience_ms_(patience_ms) {}
  // Returns true if more than `patience_ms` have passed without progress. Progress means that a
  // batch was released since the last call, or that there was no work at this call or at the last
  // one. So the first call always returns false. `now_ms`: the time by a monotonic clock.
  bool stalled(const RuntimeStats& stats, DurationMs now_ms);

 private:
  DurationMs patience_ms_;
  // The number of released batches at the last call.
  std::uint64_t batches_ = 0;
  // The time of the last call that saw progress.
  DurationMs since_ms_ = 0;
  // True: there was work at the last call.
  bool working_ = false;
};

// A thread that looks for a stall about ten times in each period of `patience_ms`.
class Watchdog {
 public:
  // Starts the thread, which calls `stats` to get the result of Runtime::stats(). `clock` must
  // outlive the watchdog. `patience_ms`: how long work may wait while no batch is released.
  Watchdog(std::function<RuntimeStats()> stats, const Clock& clock,
           DurationMs patience_ms = limits::kWatchdogPatienceMs);
  // Joins the thread. `stats` is not called after that.
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // stalled() is true from the detection of a stall until the watchdog sees progress. stalls()
  // returns the number of stalls detected since the start.
  // Threads: any.
  bool stalled() const { return stalled_.load(std::memory_order_relaxed); }
  std::uint64_t stalls() const { return stalls_.load(std::memory_order_relaxed); }

 private:
  // The main function of the thread, until the destructor ends it.
  void run();
  // Looks for a stall once. It logs the start and the end of a stall.
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
