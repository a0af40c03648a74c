// The GPUs that jobs and accounts have borrowed, lent and given back, as reads show them.
//
// Threads: any; pure functions.
#pragma once

#include <vector>

#include "engine/answers/answers.h"
#include "engine/state/state.h"
#include "model/effect.h"

namespace subak::derive {

// Returns the GPUs of a starting or running job that no quota covers, and the time from which the
// job may be asked to give them back. The result is empty if the policy does not let jobs reclaim
// GPUs, or if no account has a quota. From the job's account up, the first account with a quota
// decides. The result has at most the amount of each product that this account borrows. O(pods +
// depth).
Loan loan_of(const State& s, const state::Job& job);
// Returns for which job this job was preempted last, and how often it was preempted. The job must
// have been preempted. O(depth).
Preemption preemption_of(const State& s, const state::Job& job);
// Fills in AccountRow::lending except `borrowed`, which must already be set. `not_recallable` is 0
// while the policy does not let jobs reclaim GPUs. `rows` must have all accounts, parents first.
// O(accounts + pods that hold GPUs).
void add_lending(const State& s, std::vector<AccountRow>& rows);

}  // namespace subak::derive
