// Compares the queue at the end of a window as it is with the queue under a change: forecast
// starts, promised starts and claims. `whatif` shows the result (server/whatif).
// Threads: one at a time; the function has no shared state.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "sim/history/change.h"
#include "sim/history/history.h"

namespace subak::sim {

// A job whose start differs with the change. Its forecast start is meant in `starts`, and the start
// that its reservation promises in `promises`. nullopt: there is no such start.
struct JobMove {
  JobId job;
  std::string name, account, user;
  std::optional<TimeMs> before_ms, after_ms;
};

// A claim: GPUs that Subak sets aside for a waiting job. `victims`: how many jobs must end for it.
struct ClaimMade {
  JobId job;
  std::string account;
  std::size_t victims = 0;
};

// The forecasts and the decisions of the next pass, without and with the change.
struct PresentDifference {
  // The time of the forecasts.
  TimeMs time_ms = 0;
  // The jobs that wait, and how many of them start at least a minute sooner or later.
  std::size_t waiting = 0, sooner = 0, later = 0;
  // The mean time from now to the start, over the jobs that start in both forecasts, in seconds.
  double mean_before_s = 0, mean_after_s = 0;
  // The jobs whose forecast start moves the most, at most limits::kMaxMovers.
  std::vector<JobMove> starts;
  // The promised starts that move, at most limits::kMaxMovers, and how many move.
  std::vector<JobMove> promises;
  std::size_t promises_moved = 0;
  // The claims that the next pass makes without and with the change.
  std::vector<ClaimMade> claims_before, claims_after;
};

// Compares the state at the end of the history with the same state under the change. The load of
// the change has no effect. `go_on`: a forecast calls it from time to time, and is cut short if it
// returns false. Errors: as changed().
Result<PresentDifference> present_difference(const History& history, const Change& change,
                                             const std::function<bool()>& go_on = nullptr);

}  // namespace subak::sim
