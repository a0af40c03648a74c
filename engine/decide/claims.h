// The steps of a pass (pass.cc) that deal with claims (docs/design/0084). A claim sets GPUs aside
// for a waiting job, the claimant. Its victims are the jobs that Subak asks to end because they
// hold these GPUs. Example: a job of ml within quota waits, and a job of bio borrows the quota of
// ml. A pass makes a claim, and asks the job of bio to end. Passes also end claims that are no
// longer valid.
// Threads: one at a time; all functions run inside Engine::apply.
#pragma once

#include <optional>

#include "engine/decide/decide.h"
#include "engine/decide/decision.h"
#include "engine/decide/pass_walk.h"
#include "engine/derive/reservations.h"

namespace subak::decide {

// Ends the claims that are no longer valid, for example because the policy, the account's quota or
// a claimed node has changed, or because a victim does not end.
void end_claims(Decision& d);
// Ends the claims on this node. Call it before the node changes or is removed, because the claimed
// slots then become invalid. end_claims_on() may also be called outside a pass.
void end_claims_on(Decision& d, NodeId node);
// Asks each victim to end if its minimum run is over: the time for which no attempt is asked to
// give GPUs back.
void ask_victims(Decision& d);
// Which jobs may get claims.
enum class Claimants {
  // All jobs that wait. Use this value when the pass has started all jobs that can start.
  kAll,
  // Only jobs whose shape found no placement (PassMemory::blocked), without the job classes in
  // PassMemory::claim_tried. Use it before a job beyond quota starts, so that the job does not take
  // GPUs that a job earlier in the order would claim next.
  kBlocked,
};
// A waiting job, and a placement that it could take now.
struct Placeable {
  JobId job;
  Placement placement;
};
// Returns a job that should start before `borrower`, a job beyond its quota. It is the first job in
// the order that has a placement now, and that could claim the borrower's GPUs after its start.
// Such a job may come later in the order. The reason: an account takes its turn with its first job.
// That job may borrow although a later job of the account is within quota. Each search for a
// placement counts as one of `work.checks`.
std::optional<Placeable> entitled_before(Decision& d, const state::Job& borrower,
                                         const PassMemory& memory,
                                         derive::ReservedUntil& reserved_until, Work& work);
// True if the policy and the quotas allow some job to claim.
bool some_may_claim(const Decision& d);
// Makes claims for waiting jobs that have a right to GPUs of other jobs, in the order of the queue.
// One pass does at most limits::kMaxClaimSteps searches for claims. Returns true if the function
// stopped at this bound, so that further jobs had no search. There are at most limits::kMaxClaims
// claims.
bool make_claims(Decision& d, PassMemory& memory, Claimants which);

}  // namespace subak::decide
