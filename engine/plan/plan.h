// Computes the timeline of the fleet, which shows which jobs have which GPUs at which time
// (engine/answers/plan.h, docs/design/0055). Implements Engine::plan().
// Threads: as the state; pure functions.
#pragma once

#include "engine/answers/plan.h"
#include "engine/forecast/forecast.h"
#include "engine/state/state.h"

namespace subak::derive {

// Computes the timeline from `t` on. `t` must not be before the state's time. Jobs run as long as
// run_times() predicts. The forecast may be older than the state, so starts of jobs that no longer
// wait do not count. A job that still waits holds the nodes of its forecast from its forecast start
// on. If the forecast names no nodes for the job, the job holds its reserved nodes. Without a
// forecast start, the job holds its reserved nodes from its promised start on. A waiting job never
// gets GPUs that other jobs hold or that are unusable at that time: its lane shows only the GPUs
// that are left. O(jobs + nodes).
FleetPlan plan(const State& s, const PlanAsked& asked, const Forecast& forecast, TimeMs t);

// Returns the length of a timeline that shows the next `known_ms` milliseconds. The result is the
// next larger of a few usual lengths, such as 15 minutes, 2 hours or 12 hours. The result is at
// least limits::kLeastPlanMs. It is at most limits::kPlanAheadMs, even if `known_ms` is larger.
DurationMs plan_span(DurationMs known_ms);

}  // namespace subak::derive
