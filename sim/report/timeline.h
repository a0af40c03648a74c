// Running and queued GPUs of each team, as exact integrals per hour of the window [A, B), from
// changes in order of time. All figures per window are sums of these.
// Threads: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/quantity.h"

namespace subak::sim {

// Milli-GPU x ms of one team in one hour; a double holds the integer exactly (2^53 is a million
// GPUs for three months).
// The integrals of one team in one hour.
struct HourCell {
  double running = 0;
  double queued = 0;
};

// Memory: one cell for each hour and team.
class Timeline {
 public:
  // All teams begin at 0. The window [from, to) must not be empty.
  Timeline(std::size_t teams, TimeMs from, TimeMs to);
  // From `t` on, the team's running and queued amounts change by these differences. Times never go
  // backwards per team. Changes outside [from, to) affect the levels only.
  void change(std::uint32_t team, TimeMs t, MilliGpu running, MilliGpu queued);
  // Closes all integrals at `to`. Call once, after the last change.
  void finish();

  // The number of hours; the last one may be shorter.
  std::size_t hours() const { return hours_; }
  std::size_t teams() const { return levels_.size(); }
  // In ms: an hour, or less for the last one.
  DurationMs hour_length(std::size_t hour) const;
  // Returns the integrals of one hour. Complete after finish().
  const HourCell& cell(std::size_t hour, std::uint32_t team) const {
    return cells_[hour * levels_.size() + team];
  }
  // Returns the team's running GPUs after its last change.
  MilliGpu running(std::uint32_t team) const { return levels_[team].running; }

 private:
  // The amounts of a team since its last change.
  struct Level {
    // The time up to which the cells have the amounts.
    TimeMs since = 0;
    MilliGpu running = 0, queued = 0;
  };
  // Adds the amounts up to `t` to the cells.
  void advance(std::uint32_t team, TimeMs t);
  TimeMs from_, to_;
  // In the window, an incomplete last one included.
  std::size_t hours_;
  // By team.
  std::vector<Level> levels_;
  // Hour by hour, each with all teams.
  std::vector<HourCell> cells_;
};

}  // namespace subak::sim
