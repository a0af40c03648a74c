// Which jobs Subak may end so that others get their GPUs, and what the other jobs hold
// (docs/design/0084).
//
// Threads: any; pure functions.
#pragma once

#include <functional>

#include "accounting/quota/promises.h"
#include "core/quantity.h"
#include "engine/state/state.h"

namespace subak::derive {

// True if a job that is asked to end loses no more than its run: a launcher or a controller
// recreates its pods, or their gates are still closed. False for a job that Subak did not start.
bool may_be_ended(const state::Job& job);
// True if Subak may end the job so that another one gets its GPUs: may_be_ended(), and it is not
// marked as not preemptible.
bool can_be_preempted(const State& s, const state::Job& job);
// True if the job cannot be preempted once its pods run: it is marked so, Subak did not start it,
// or some pod has no controller.
bool is_fixed(const State& s, const state::Job& job);
// True if a preempted job does not end: it is still there long after it was asked, or its cluster
// refuses to end it. No claim counts on such a job any more. Subak still asks it.
bool stays(const state::Job& job);
// True if the policy lets jobs within quota reclaim GPUs.
bool reclaims(const State& s);
// True if some priority class preempts. As with quotas, that works only with
// OrderPolicy::kTargetShare.
bool some_class_preempts(const State& s);
// True if the job has a priority class that preempts jobs of its own account (docs/design/0085).
bool preempts_by_class(const State& s, const state::Job& job);
// Returns the name of the priority class that the job named. Empty: it named none, or the class is
// gone.
std::string class_name_of(const State& s, const state::Job& job);
// Returns the account of a job without its user. The job has an account (asserted).
AccountId account_of(const State& s, const state::Job& job);
// Calls `fn` once for each job that has a hold. O(holds).
void each_holder(const State& s, const std::function<void(const state::Job&)>& fn);
// What fixed jobs hold (is_fixed()). O(holds).
FixedHoldings fixed_holdings(const State& s);
// The longest grace period of the job's live pods. Kubernetes' 30 seconds where it is not known.
DurationMs grace_of(const state::Job& job);
// How long a claim waits for the job after it was asked to end: its grace period, at most the
// policy's longest one, and limits::kClaimPatienceMs.
DurationMs time_to_end(const State& s, const state::Job& job);

}  // namespace subak::derive
