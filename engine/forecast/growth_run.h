// Finds out how many nodes the node pools should get. A pool is a set of nodes that an autoscaler
// enlarges or shrinks. The simulation runs passes in a fleet in which each pool has all nodes that
// it may have. The service runs it with each forecast.
// Threads: any; pure functions.
#pragma once

#include <functional>

#include "engine/answers/growth.h"
#include "engine/forecast/forecast.h"

namespace subak {

// Runs passes on the copy of the state, first without and then with the nodes that may come, until
// no more jobs start. So the order of jobs, quotas, limits, budgets and reservations decide, as in
// a real pass. A new node counts once for all jobs on it. From time to time, the function calls
// `go_on`. If `go_on` returns false, only the jobs found so far count. O(state) for each pass.
// Without pools, the result is empty, and the cost is O(facts).
Growth plan_growth(const ForecastBasis& basis, const std::function<bool()>& go_on = nullptr);

}  // namespace subak
