// What should be done outside, as a function of the state: a starting job wants its gates open, an
// ending one its pods gone, one that waits again that an earlier word opens none of its gates. Nothing is
// remembered of what was already asked for.
// Threads: none; pure functions.
#pragma once

#include <optional>
#include <vector>

#include "engine/effect.h"
#include "engine/state/state.h"

namespace subak::derive {

// The job is ending, and this pod is to go. A pod whose gate is closed stays, and waits for the next
// attempt, unless a person ends the whole job.
bool must_go(const state::Job& job, std::uint32_t rank);
// Of one job; nothing if nothing is to be done about it.
std::optional<Effect> effect_of(const State& s, const state::Job& job);
// Of all jobs of a cluster: of those that wait again, then of those that start or end, by job id, then rank.
std::vector<Effect> outstanding(const State& s, ClusterId cluster);

}  // namespace subak::derive
