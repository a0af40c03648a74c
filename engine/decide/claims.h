// The steps of a pass that deal with claims (docs/design/0084). They make claims in the order of
// the queue, ask victims to end, and end claims that are no longer valid. Threads: as the pass.
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
// Asks victims to end as soon as their minimum run is over.
void ask_victims(Decision& d);
// Which jobs may get claims.
enum class Claimants {
  // All jobs that wait. Use this value when the pass has started all jobs that can start.
  kAll,
  // Jobs of the shapes in PassMemory::blocked, but no job class of PassMemory::claim_tried. Use
  // this value before a job beyond quota starts. Without it, that job could start on GPUs that a
  // job earlier in the order would claim next.
  kBlocked,
};
// A job that waits, with a placement.
struct Placeable {
  JobId job;
  Placement placement;
};
// Returns the first job in the order that has a placement now, and that could claim GPUs from
// `borrower` if the borrower started instead. Such a job may come after the borrower in the order.
// The reason is that an account takes its turn with its first job. That first job may borrow
// although a later job of the account is within quota. Each search for a placement counts as one of
// `work.checks`.
std::optional<Placeable> entitled_before(Decision& d, const state::Job& borrower,
                                         const PassMemory& memory,
                                         derive::ReservedUntil& reserved_until, Work& work);
// True if the policy and the quotas allow some job to claim.
bool some_may_claim(const Decision& d);
// Makes claims for jobs that found no placement in their turn, in the order of the queue. One pass
// does at most limits::kMaxClaimSteps searches for claims. Returns true if some jobs had no search
// for this reason.
bool make_claims(Decision& d, PassMemory& memory, Claimants which);

}  // namespace subak::decide
