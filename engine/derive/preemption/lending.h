// What jobs and accounts have borrowed, lent, and given back, for people to read.
//
// Threads: none; pure functions.
#pragma once

#include <vector>

#include "engine/answers/answers.h"
#include "engine/state/state.h"
#include "model/effect.h"

namespace subak::derive {

// The GPUs of a starting or running job that no quota covers, and from when on the job may be asked
// to give them back. Nothing while the policy does not let jobs reclaim GPUs, and nothing if no
// account has a quota. The first account with a quota, from the job's own up, decides: of each
// product at most what this account borrows. O(pods + depth).
Loan loan_of(const State& s, const state::Job& job);
// For which job a job was preempted last, and how often that was. The job was preempted. O(depth).
Preemption preemption_of(const State& s, const state::Job& job);
// Fills in AccountRow::lending but for `borrowed`, which is there. What cannot be recalled is 0
// while the policy does not let jobs reclaim GPUs. The rows are those of all accounts, parents
// first. O(accounts + pods that hold GPUs).
void add_lending(const State& s, std::vector<AccountRow>& rows);

}  // namespace subak::derive
