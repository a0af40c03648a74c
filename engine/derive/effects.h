// Effects as a function of the state. A starting job needs its gates opened, and an ending one its
// pods evicted. For a job that waits again, no earlier command may open a gate. The engine does not
// store which effects it sent. Threads: none; pure functions.
#pragma once

#include <optional>
#include <vector>

#include "engine/state/state.h"
#include "model/effect.h"

namespace subak::derive {

// True if the job is ending and this pod has to go. A pod with a closed gate stays for the next
// attempt, unless a person ends the whole job.
bool must_go(const state::Job& job, std::uint32_t rank);
// The effect of one job. nullopt: there is nothing to do.
std::optional<Effect> effect_of(const State& s, const state::Job& job);
// The effects of all jobs of a cluster: first of those that wait again, then of those that start or
// end, by job id, then rank.
std::vector<Effect> outstanding(const State& s, ClusterId cluster);

}  // namespace subak::derive
