// Computes the timeline of the fleet (engine/answers/plan.h, docs/design/0055).
// Threads: one at a time; pure functions.
#pragma once

#include "engine/answers/plan.h"
#include "engine/forecast/forecast.h"
#include "engine/state/state.h"

namespace subak::derive {

// Computes the timeline from `t` on. `t` must not be before the state's time. Jobs run as long as
// run_times() predicts. A waiting job holds its forecast placement if that is still usable: the job
// still waits, and the nodes take pods and have room. A job without a forecast placement holds its
// reserved nodes instead. It holds these nodes from its forecast start on, or else from its
// promised start on. O(jobs + nodes).
FleetPlan plan(const State& s, const PlanAsked& asked, const Forecast& forecast, TimeMs t);

// Returns a round length for a timeline that should show the first `known_ms`. The length is at
// least limits::kLeastPlanMs and at most limits::kPlanAheadMs.
DurationMs plan_span(DurationMs known_ms);

}  // namespace subak::derive
