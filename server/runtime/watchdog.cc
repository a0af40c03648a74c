#include "server/runtime/watchdog.h"

#include <chrono>
#include <utility>

#include "server/log/log.h"
#include "server/log/thread_name.h"

namespace subak {

bool StallDetector::stalled(const RuntimeStats& stats, DurationMs now_ms) {
  const bool progress = !working_ || !stats.has_work || stats.batches != batches_;
  working_ = stats.has_work;
  batches_ = stats.batches;
  if (progress) since_ms_ = now_ms;
  return working_ && now_ms - since_ms_ > patience_ms_;
}

Watchdog::Watchdog(std::function<RuntimeStats()> stats, const Clock& clock, DurationMs patience_ms)
    : stats_(std::move(stats)),
      clock_(clock),
      patience_ms_(patience_ms),
      thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Watchdog::run() {
  name_thread("watchdog");
  StallDetector detector(patience_ms_);
  MutexLock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    look(detector);
    lock.lock();
    wake_.wait_for(lock, std::chrono::milliseconds(patience_ms_ / 10 + 1),
                   [&]() SUBAK_REQUIRES(mutex_) { return stopping_; });
  }
}

void Watchdog::look(StallDetector& detector) {
  const RuntimeStats stats = stats_();
  const bool now = detector.stalled(stats, clock_.monotonic_ms());
  const bool before = stalled_.exchange(now, std::memory_order_relaxed);
  if (now && !before) {
    stalls_.fetch_add(1, std::memory_order_relaxed);
    log::error("the loop makes no progress",
               {{"waiting", stats.mailbox}, {"batches", stats.batches}});
  } else if (before && !now) {
    log::info("the loop makes progress again", {{"batches", stats.batches}});
  }
}

}  // namespace subak
