#include "sim/report/timeline.h"

#include <algorithm>

namespace subak::sim {

Timeline::Timeline(std::size_t teams, TimeMs from, TimeMs to)
    : from_(from),
      to_(to),
      hours_(static_cast<std::size_t>((to - from + kHourMs - 1) / kHourMs)),
      levels_(teams, Level{from, 0, 0}),
      cells_(hours_ * teams) {}

void Timeline::advance(std::uint32_t team, TimeMs t) {
  Level& level = levels_[team];
  const TimeMs end = std::min(t, to_);
  if (level.running == 0 && level.queued == 0) level.since = std::max(level.since, end);
  while (level.since < end) {
    const auto hour = static_cast<std::size_t>((level.since - from_) / kHourMs);
    const TimeMs next = std::min(end, from_ + static_cast<TimeMs>(hour + 1) * kHourMs);
    const auto length = static_cast<double>(next - level.since);
    HourCell& cell = cells_[hour * levels_.size() + team];
    cell.running += static_cast<double>(level.running) * length;
    cell.queued += static_cast<double>(level.queued) * length;
    level.since = next;
  }
}

void Timeline::change(std::uint32_t team, TimeMs t, MilliGpu running, MilliGpu queued) {
  advance(team, t);
  levels_[team].running += running;
  levels_[team].queued += queued;
}

void Timeline::finish() {
  for (std::uint32_t team = 0; team < levels_.size(); ++team) advance(team, to_);
}

DurationMs Timeline::hour_length(std::size_t hour) const {
  const TimeMs start = from_ + static_cast<TimeMs>(hour) * kHourMs;
  return std::min(kHourMs, to_ - start);
}

}  // namespace subak::sim
