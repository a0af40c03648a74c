// Why a job waits: all reasons that apply now, and the walk that ranks it. Threads: none; pure
// functions.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/answers/answers.h"
#include "engine/derive/reservations.h"
#include "engine/state/state.h"

namespace subak::derive {

// All reasons of a waiting job, structural first. `position` in the queue; 0: not known, or not in
// it. O(nodes).
std::vector<Reason> reasons_of(const State& s, const Places& places, const state::Job& job,
                               std::size_t position);
// The first of these reasons, or whether there is room for the job, without a look at every node
// (Engine::first_reason).
Reason first_reason(const State& s, const Places& places, const state::Job& job,
                    std::size_t position);
// The ranking of a queued job: the siblings at each node of the tree, from the root down, by the
// walk of a pass. O(depth + siblings on the path), each asked for its next job.
std::vector<RankStep> ranking(const State& s, const state::Job& job, TimeMs t);
// Implements Engine::explain. Without `position` it computes the whole order.
std::optional<Explanation> explain(const State& s, const Places& places, JobId id, TimeMs t,
                                   std::optional<std::size_t> position);

}  // namespace subak::derive
