// Says which jobs Subak may end so that other jobs get their GPUs, and how many GPUs the remaining
// jobs hold (docs/design/0060). The passes and the search for claims ask these functions.
//
// Threads: any; pure functions.
#pragma once

#include <functional>

#include "accounting/quota/promises.h"
#include "core/quantity.h"
#include "engine/state/state.h"

namespace subak::derive {

// True if the job can run again after it was asked to end: a launcher or a controller recreates its
// pods, or the gates of the pods are still closed. False for a job that Subak did not start.
bool may_be_ended(const state::Job& job);
// True if Subak may end the job so that another job gets its GPUs: may_be_ended() is true, and the
// job is not marked as not preemptible.
bool can_be_preempted(const State& s, const state::Job& job);
// True if the job was preempted since the last outside event (state::Claims::outside_event_ms()),
// such as an arrival of a job or an edit. Until the next such event, no claim takes the job's GPUs
// again (docs/design/0084).
bool was_preempted_since_event(const State& s, const state::Job& job);
// True if the job cannot be preempted while its pods run: it is marked as not preemptible, Subak
// did not start it, or some pod has no controller.
bool is_fixed(const State& s, const state::Job& job);
// True if a preempted job does not end: it still holds GPUs after time_to_end(), or its cluster
// refuses to end it. A claim no longer counts on the GPUs of such a job, but Subak still asks it to
// end.
bool stays(const state::Job& job);
// True if the policy lets jobs within quota reclaim GPUs and the order is
// OrderPolicy::kTargetShare.
bool reclaims(const State& s);
// True if some priority class of the policy preempts and the order is OrderPolicy::kTargetShare.
// Other orders do not preempt.
bool some_class_preempts(const State& s);
// True if the job has a priority class that preempts jobs of its own account (docs/design/0085).
bool preempts_by_class(const State& s, const state::Job& job);
// Returns the name of the priority class that the job named. Empty: the job named no class, or the
// class is gone.
std::string class_name_of(const State& s, const state::Job& job);
// Returns the account of a job without its user. The job has an account (asserted).
AccountId account_of(const State& s, const state::Job& job);
// Calls `fn` once for each job that has a hold. O(holds).
void each_holder(const State& s, const std::function<void(const state::Job&)>& fn);
// Returns the GPUs that fixed jobs hold (is_fixed()). O(holds).
FixedHoldings fixed_holdings(const State& s);
// Returns the longest grace period of the job's live pods. A pod with an unknown grace period
// counts with the 30 seconds of Kubernetes.
DurationMs grace_of(const state::Job& job);
// Returns how long a claim waits for the job after it was asked to end. The result is the job's
// grace period, but at most Policy::reclaim_max_grace_ms, plus limits::kClaimPatienceMs.
DurationMs time_to_end(const State& s, const state::Job& job);

}  // namespace subak::derive
