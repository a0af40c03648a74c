// Claims: which jobs give GPUs back so that a job within its quota can start, and which GPUs it
// then gets (docs/design/0084).
//
// Threads: none; pure functions, but for the memory of the search, which decides nothing.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "accounting/quota/entitlement.h"
#include "core/reason.h"
#include "engine/answers/answers.h"
#include "engine/state/state.h"
#include "placement/search/search.h"

namespace subak::derive {

// What a claim would be.
struct ClaimFound {
  // By rank.
  std::vector<PodSlot> slots;
  // Ascending by job. Some may be ending already.
  std::vector<fact::Claimed::Victim> victims;
};
// Finds a claim for a queued job that finds no placement in its turn. nullopt: its accounts have a
// right to nothing that others borrow, or ending all of that would not help. A gang that needs
// free nodes for replacements claims nothing: a claim does not hold these nodes until it starts.
//
// Who gives: jobs of accounts beyond their quota, below the account up to which the claimant is
// entitled (reach_of()), that can be preempted. Every account between such a job and the first one
// that it has in common with the claimant is beyond its quota on that product. At each account the
// child with the most allocation for its shares gives first; within an account the job with the
// lowest priority, then the latest start. A job whose account would fall below its quota comes
// last. Who is not needed is left out, the largest loss first.
//
// O(holds on the product), and a search for each binary digit of the number of jobs and for each
// victim.
std::optional<ClaimFound> find_claim(const State& s, Search& search, const state::Job& job);

// The rule that stops a claimant from starting on what is claimed: now, or once all victims have
// ended. nullopt: none. The claim itself does not count as held.
enum class Victims { kNow, kGone };
std::optional<Binding> stopped_on_claim(const State& s, const state::Claim& claim, Victims victims);
// True if the quota of the claimant's account still covers all that its jobs claim. What they have
// borrowed meanwhile does not count.
bool is_entitled(const State& s, const state::Claim& claim);

// Why the claimant waits: whose GPUs it gets, and from when on they are asked.
Reason reason_of_claim(const State& s, const state::Claim& claim);

// The claims for jobs at or below the account of this path; empty: all.
std::vector<ClaimRow> claim_rows(const State& s, std::string_view account);

// When the next victim may be asked to end. nullopt: none is left to ask.
std::optional<TimeMs> next_ask(const State& s);
// True if the victim may be asked at `now`: it is in the attempt that was claimed, and not ending.
bool may_ask(const State& s, const state::Claim::Victim& victim, TimeMs now);
// True if some victim of the claim has been asked to end, or has ended.
bool any_asked(const State& s, const state::Claim& claim);

}  // namespace subak::derive
