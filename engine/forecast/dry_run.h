// A dry-run pass: what the next pass would do, on a copy of the state. Threads: none.
#pragma once

#include <optional>
#include <set>

#include "core/ids.h"
#include "engine/state/state.h"

namespace subak::decide {

// The number of jobs that have not ended, and nodes.
std::size_t live_size(const State& s);

// The jobs that a pass at the state's time would start. nullopt: the state has more jobs and nodes
// than limits::kMaxDryRunJobs. O(state).
std::optional<std::set<JobId>> dry_run_pass(const State& s);

// Makes `copy`, which is empty, equal to the state at the same time as far as decisions depend on
// it. Request ids and ephemeral changes are left out. O(state).
void copy_state(const State& s, State& copy);

}  // namespace subak::decide
