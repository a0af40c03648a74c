// Collects the figures of a `Survey` (engine/answers/answers.h): figures for metrics that no index
// has, such as the fragmentation of free GPUs.
// Threads: one at a time; pure functions.
#pragma once

#include "engine/answers/answers.h"
#include "engine/derive/reservations.h"
#include "engine/state/state.h"
#include "placement/explain/mig_plan.h"

namespace subak::derive {

// Implements Engine::reserved_idle(): returns the free milli-GPU of the cluster on reserved nodes.
MilliGpu reserved_idle(const State& s, ClusterId cluster);
// Implements Engine::mig_plan(). O(queued jobs + nodes).
MigPlan mig_plan(const State& s, ClusterId cluster);
// Implements Engine::survey(). O(queued jobs + pods that hold GPUs + nodes).
Survey survey(const State& s, const Places& places);

}  // namespace subak::derive
