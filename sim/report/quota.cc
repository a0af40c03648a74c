#include "sim/report/quota.h"

#include <algorithm>
#include <iterator>

namespace subak::sim {

QueuedWithinQuota::QueuedWithinQuota(const Workload& workload)
    : to_(workload.to_ms), levels_(workload.teams.size()) {
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    levels_[i].quota = workload.teams[i].quota;
    levels_[i].since = workload.from_ms;
  }
}

void QueuedWithinQuota::advance(Level& level, TimeMs t) {
  t = std::min(t, to_);
  if (t <= level.since) return;
  gpu_ms_ += static_cast<double>(level.fits) / kMilliPerGpu * static_cast<double>(t - level.since);
  level.since = t;
}

void QueuedWithinQuota::update(Level& level) {
  level.fits = 0;
  MilliGpu room = level.quota - level.running;
  for (const auto& [milligpu, jobs] : level.queued) {
    if (milligpu == 0) continue;  // a job without GPUs fits, and adds nothing
    const std::int64_t more = std::min(jobs, std::max<MilliGpu>(0, room) / milligpu);
    if (more == 0) break;
    level.fits += more * milligpu;
    room -= more * milligpu;
  }
}

void QueuedWithinQuota::queued(std::uint32_t team, TimeMs t, MilliGpu milligpu) {
  Level& level = levels_[team];
  advance(level, t);
  ++level.queued[milligpu];
  update(level);
}

void QueuedWithinQuota::started(std::uint32_t team, TimeMs t, MilliGpu milligpu) {
  Level& level = levels_[team];
  advance(level, t);
  const auto size = level.queued.find(milligpu);
  if (--size->second == 0) level.queued.erase(size);
  level.running += milligpu;
  update(level);
}

void QueuedWithinQuota::ended(std::uint32_t team, TimeMs t, MilliGpu milligpu) {
  Level& level = levels_[team];
  advance(level, t);
  level.running -= milligpu;
  update(level);
}

double QueuedWithinQuota::gpu_hours() {
  for (Level& level : levels_) advance(level, to_);
  return gpu_ms_ / kHourMs;
}

}  // namespace subak::sim
