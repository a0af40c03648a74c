// What the next pass would do, on a copy. Threads: none.
#pragma once

#include <optional>
#include <set>

#include "core/ids.h"
#include "engine/state/state.h"

namespace subak::decide {

// Jobs that have not ended, and nodes.
std::size_t live_size(const State& s);

// The jobs that a pass at the state's time would start; nothing where the state has more jobs and
// nodes than limits::kMaxRehearsed. O(state).
std::optional<std::set<JobId>> rehearse_pass(const State& s);

// Makes `copy`, which is empty, into the same state at the same time, as far as anything is decided by
// it: without request ids, and without what is no fact. O(state).
void copy_state(const State& s, State& copy);

}  // namespace subak::decide
