// Figures of the claims that exist, and of their victims (docs/design/0084). A claim sets GPUs
// aside for a waiting job, the claimant. Its victims are the jobs that Subak asks to end because
// they hold these GPUs. derive/claim_search finds new claims.
//
// Threads: any; pure functions.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "accounting/quota/entitlement.h"
#include "accounting/quota/without.h"
#include "core/reason.h"
#include "engine/answers/answers.h"
#include "engine/state/state.h"

namespace subak::derive {

// Returns the milli-GPU of the product that the job holds.
MilliGpu holds_of(const State& s, const state::Job& job, ProductId product);
// Removes the job's GPUs of every product from the holdings in `without`.
void remove_job(const State& s, const state::Job& job, WithoutHoldings& without);

// Returns the holdings of all accounts as they would be if the victims of all claims had ended.
// O(victims x depth).
WithoutHoldings without_victims(const State& s);
// Returns the account rule that will still stop the claimant after the victims of all claims have
// ended; nullopt if no rule will. `gone` is the result of without_victims(). The claim itself does
// not count as held.
std::optional<Binding> stopped_once_gone(const State& s, const state::Claim& claim,
                                         const WithoutHoldings& gone);
// Returns the account rule that stops the claimant now; nullopt: none does. Other claims count as
// held only while one of this claim's own victims has not ended.
std::optional<Binding> stopped_now(const State& s, const state::Claim& claim);
// True if the claimant still has the right to its claim (ClaimRight). For a claim by quota, the
// nearest account with a quota counts, from the claimant's account up. Its quota must cover all
// GPUs that its jobs claim by quota. GPUs that the account has borrowed meanwhile do not count. A
// claim by class needs a priority class that still preempts.
bool is_entitled(const State& s, const state::Claim& claim);

// Returns the reason why the claimant waits: the jobs whose GPUs it gets, and the time from which
// these jobs may be asked to end.
Reason reason_of_claim(const State& s, const state::Claim& claim);

// Returns the claims of jobs at or below the account of this path; an empty path stands for all
// accounts.
std::vector<ClaimRow> claim_rows(const State& s, std::string_view account);

// Returns the earliest time by which all victims of a claim should have ended, among claims with
// victims that have not ended; 0 if there is no such claim.
TimeMs first_due(const State& s);
// Returns when the next victim may be asked to end; nullopt if no victim is left to ask.
std::optional<TimeMs> next_ask(const State& s);
// True if the victim may be asked to end at `now`. It must be in the attempt that was claimed, and
// its minimum run must be over. In addition, it must still be preemptible, not be ending, and not
// be an inferred gang of which some pods are bound and others not yet.
bool may_ask(const State& s, const state::Claim::Victim& victim, TimeMs now);
// True if some victim of the claim was asked to end, has ended, or can no longer be asked.
bool any_asked(const State& s, const state::Claim& claim);

}  // namespace subak::derive
