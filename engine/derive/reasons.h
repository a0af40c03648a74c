// Why a job waits: everything that binds now, and the walk that ranks it.
// Threads: none; pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/derive/reservations.h"
#include "engine/engine.h"
#include "engine/state/state.h"

namespace subak::derive {

// All that bind a job that waits, structural first. `position` in the queue; 0: not known, or not
// in it. O(nodes).
std::vector<Reason> reasons_of(const State& s, const Places& places, const state::Job& job,
                               std::size_t position);
// The first of them, or whether a place is free, without a look at every node (Engine).
Reason first_reason(const State& s, const Places& places, const state::Job& job,
                    std::size_t position);
// Of a queued job: who is compared at each node of the tree, from the root down, by the walk that a
// pass takes. O(depth + siblings on the path), each asked for its next job.
std::vector<RankStep> ranking(const State& s, const state::Job& job, TimeMs t);
// Engine::explain. Without `position` the whole order is made for it.
std::optional<Explanation> explain(const State& s, const Places& places, JobId id, TimeMs t,
                                   std::optional<std::size_t> position);

}  // namespace subak::derive
