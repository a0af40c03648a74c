// A dry-run pass: it makes the decisions of the next pass on a copy of the state. Reads use it to
// say what would happen next.
// Threads: one at a time.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "engine/answers/answers.h"
#include "engine/state/state.h"

namespace subak::decide {

// Returns the number of jobs that have not ended plus the number of nodes.
std::size_t live_size(const State& s);

// Returns the jobs that a pass at the state's time would start; nullopt if live_size() is more
// than limits::kMaxDryRunJobs. O(state).
std::optional<std::set<JobId>> dry_run_pass(const State& s);

// Returns the claims that a dry-run pass would make with a policy that reclaims (Policy::reclaim).
// The claims are for jobs at or below the account of this path; an empty path stands for all
// accounts. live_size() must be at most limits::kMaxShadowQueue. O(state).
std::vector<ClaimRow> dry_run_claims(const State& s, std::string_view account);

// Fills the empty state `copy`, so that passes on it make the same decisions as passes on `s` at
// its time. The copy has no request ids and no reports of Observed. O(state).
void copy_state(const State& s, State& copy);

}  // namespace subak::decide
