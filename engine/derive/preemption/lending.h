// Computes what jobs and accounts have borrowed or lent, and the preemptions of jobs. An account
// borrows GPUs beyond its quota, and lends the unused GPUs of its quota. The API shows these
// figures; effects carry them to messages in the cluster. No decision depends on them.
//
// Threads: any; pure functions.
#pragma once

#include <vector>

#include "engine/answers/answers.h"
#include "engine/state/state.h"
#include "model/effect.h"

namespace subak::derive {

// Returns the GPUs that the job holds and no quota covers, and the time from which the job may be
// asked to give them back. The job must be in an attempt (asserted). Only the nearest account with
// a quota counts, from the job's account up. For each product, the result is at most what this
// account borrows. The result is empty if the policy does not let jobs reclaim GPUs, or if no
// account has a quota. O(pods + depth).
Loan loan_of(const State& s, const state::Job& job);
// Returns the job's last preemption, and how often the job was preempted. The job must have been
// preempted (asserted). O(depth).
Preemption preemption_of(const State& s, const state::Job& job);
// Fills in AccountRow::lending except `borrowed`, which must already be set. All entries of
// `not_recallable` are 0 while the policy does not let jobs reclaim GPUs. `rows` must have all
// accounts, parents first. O(accounts + pods that hold GPUs).
void add_lending(const State& s, std::vector<AccountRow>& rows);

}  // namespace subak::derive
