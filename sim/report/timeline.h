// Computes the running and queued GPUs of each team as exact integrals for each hour of the window
// [A, B). Changes must come in the order of time. All figures of a window are sums of these
// integrals.
// Threads: one at a time for each object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/quantity.h"

namespace subak::sim {

// The integrals of one team in one hour, in milli-GPU x ms. A double is exact for integers up to
// 2^53, which is 1,000 GPUs for three months.
struct HourCell {
  double running = 0;
  double queued = 0;
};

// The cells of all hours and teams. Memory: one cell for each hour and team.
class Timeline {
 public:
  // All teams begin at 0. The window [from, to) must not be empty.
  Timeline(std::size_t teams, TimeMs from, TimeMs to);
  // Adds `running` and `queued` to the team's running and queued amounts, from `t` on. For one
  // team, times must never go backwards. Changes outside [from, to) change only the team's present
  // amounts.
  void change(std::uint32_t team, TimeMs t, MilliGpu running, MilliGpu queued);
  // Closes all integrals at `to`. Call finish() once, after the last change.
  void finish();

  // The number of hours. The last hour may be shorter.
  std::size_t hours() const { return hours_; }
  std::size_t teams() const { return levels_.size(); }
  // Returns the length of the hour in ms. Only the last hour may be shorter than an hour.
  DurationMs hour_length(std::size_t hour) const;
  // Returns the integrals of one hour. The integrals are complete after finish().
  const HourCell& cell(std::size_t hour, std::uint32_t team) const {
    return cells_[hour * levels_.size() + team];
  }
  // Returns the team's running GPUs after its last change.
  MilliGpu running(std::uint32_t team) const { return levels_[team].running; }

 private:
  // The amounts of a team since its last change.
  struct Level {
    // The cells include the amounts up to this time.
    TimeMs since = 0;
    MilliGpu running = 0, queued = 0;
  };
  // Adds the amounts up to `t` to the cells.
  void advance(std::uint32_t team, TimeMs t);
  TimeMs from_, to_;
  // The number of hours of the window. An incomplete last hour counts too.
  std::size_t hours_;
  // The present amounts of each team; the index is the team.
  std::vector<Level> levels_;
  // The cells, hour by hour, each with all teams.
  std::vector<HourCell> cells_;
};

}  // namespace subak::sim
