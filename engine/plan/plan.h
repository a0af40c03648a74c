// The timeline of the fleet (engine/answers/plan.h, docs/design/0055). Threads: none; pure
// functions.
#pragma once

#include "engine/answers/plan.h"
#include "engine/forecast/forecast.h"
#include "engine/state/state.h"

namespace subak::derive {

// Computes the timeline from `t` on, which is not before the state's time. Jobs run as long as
// run_times() says. A waiting job holds its forecast placement while that is still usable: the job
// waits, and the node takes pods and has room. A job without a forecast placement holds its
// reserved nodes instead, from its forecast start, else its promised start, on. O(jobs + nodes).
FleetPlan plan(const State& s, const PlanAsked& asked, const Forecast& forecast, TimeMs t);

// The span of a timeline that shows everything known up to `known_ms` from its beginning: a round
// one, within limits::kLeastPlanMs and limits::kPlanAheadMs.
DurationMs plan_span(DurationMs known_ms);

}  // namespace subak::derive
