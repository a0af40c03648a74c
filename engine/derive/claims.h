// Claims that were made, and which jobs may be victims of one (docs/design/0084).
// derive/claim_search finds new ones.
//
// Threads: none; pure functions.
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

// Returns what the job holds of the product.
MilliGpu holds_of(const State& s, const state::Job& job, ProductId product);
// Removes all that the job holds, of every product, from its accounts.
void remove_job(const State& s, const state::Job& job, WithoutHoldings& without);

// What all accounts would hold once the victims of all claims have ended. O(victims x depth).
WithoutHoldings without_victims(const State& s);
// Returns the rule that will still stop the claimant after all victims have ended. nullopt: none.
// `gone`: without_victims(). The claim itself does not count as held.
std::optional<Binding> stopped_once_gone(const state::Claim& claim, const WithoutHoldings& gone);
// Returns the rule that stops the claimant now. Other claims count as held only while one of its
// own victims is there: that victim has to end for them.
std::optional<Binding> stopped_now(const State& s, const state::Claim& claim);
// True if the claimant still has the right by which it claims. By quota: the quota of its account
// covers all that jobs of the account claim by quota. What they have borrowed meanwhile does not
// count. By class: its class still preempts.
bool is_entitled(const State& s, const state::Claim& claim);

// Why the claimant waits: whose GPUs it gets, and from when on they are asked.
Reason reason_of_claim(const State& s, const state::Claim& claim);

// The claims for jobs at or below the account of this path; empty: all.
std::vector<ClaimRow> claim_rows(const State& s, std::string_view account);

// The earliest time by which all victims of some claim should have ended that have not; 0: none.
TimeMs first_due(const State& s);
// When the next victim may be asked to end. nullopt: none is left to ask.
std::optional<TimeMs> next_ask(const State& s);
// True if the victim may be asked at `now`: it is in the attempt that was claimed, and not ending.
bool may_ask(const State& s, const state::Claim::Victim& victim, TimeMs now);
// True if some victim of the claim has been asked to end, or has ended.
bool any_asked(const State& s, const state::Claim& claim);

}  // namespace subak::derive
