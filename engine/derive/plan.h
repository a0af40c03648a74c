// The fleet by time (engine/plan.h, docs/design/0055). Threads: none; pure functions.
#pragma once

#include "engine/forecast.h"
#include "engine/plan.h"
#include "engine/state/state.h"

namespace subak::derive {

// From `t` on, which is not before the state's time. Jobs run as long as run_times() says. Who waits holds what
// the forecast says where it is of use still: the job waits, the node takes pods and has as much left. For whom
// nodes are kept holds those from its promised start on where the forecast has no place for it. O(jobs + nodes).
FleetPlan plan(const State& s, const PlanAsked& asked, const Forecast& forecast, TimeMs t);

// The span of a picture that shows all that is known up to `known_ms` from its beginning: a round one, within
// limits::kLeastPlanMs and limits::kPlanAheadMs.
DurationMs plan_span(DurationMs known_ms);

}  // namespace subak::derive
