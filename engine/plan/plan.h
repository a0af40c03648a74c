// Computes the timeline of the fleet (engine/answers/plan.h, docs/design/0055).
// Threads: none; pure functions.
#pragma once

#include "engine/answers/plan.h"
#include "engine/forecast/forecast.h"
#include "engine/state/state.h"

namespace subak::derive {

// Computes the timeline from `t` on, which is not before the state's time. Jobs run as long as
// run_times() predicts. A waiting job holds its forecast placement if that is still usable: the job
// still waits, and the node takes pods and has room. A job without a forecast placement holds its
// reserved nodes instead. It holds them from its forecast start, else from its promised start.
// O(jobs + nodes).
FleetPlan plan(const State& s, const PlanAsked& asked, const Forecast& forecast, TimeMs t);

// Returns a round span for a timeline that should show the first `known_ms`. It is within
// limits::kLeastPlanMs and limits::kPlanAheadMs.
DurationMs plan_span(DurationMs known_ms);

}  // namespace subak::derive
