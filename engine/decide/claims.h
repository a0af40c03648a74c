// Claims in a pass (docs/design/0084): makes them in the order, asks their victims, starts the
// claimants and ends what no longer holds. Threads: as the pass.
#pragma once

#include <optional>

#include "engine/decide/decide.h"
#include "engine/decide/decision.h"
#include "engine/decide/pass_walk.h"
#include "engine/derive/reservations.h"

namespace subak::decide {

// Ends claims whose claimant or slots are no longer as they were.
void end_claims(Decision& d);
// Ends the claims on a node that changes or is removed, before it does: what they claim there is
// not the same any more. Also outside a pass.
void end_claims_on(Decision& d, NodeId node);
// Asks the victims whose minimum run is over to end.
void ask_victims(Decision& d);
// Which jobs may get claims.
enum class Claimants {
  // All jobs that wait. Call it when the pass has started all jobs that can start.
  kAll,
  // Jobs of the shapes in PassMemory::blocked, but no job class of PassMemory::claim_tried. Call it
  // before a job beyond quota starts: else it could start on GPUs that an earlier job claims next.
  kBlocked,
};
// A job that waits, with a placement.
struct Placeable {
  JobId job;
  Placement placement;
};
// Returns the first job in the order that could claim GPUs from `borrower` if the borrower started
// now, but that has a placement itself. The order may have the borrower first: an account takes its
// turn with its first job, which may borrow although a later one would not.
std::optional<Placeable> entitled_before(Decision& d, const state::Job& borrower,
                                         const PassMemory& memory,
                                         derive::ReservedUntil& reserved_until, Work& work);
// True if the policy and the quotas allow some job to claim.
bool some_may_claim(const Decision& d);
// Makes claims, in the order, for jobs that found no placement in their turn. At most
// limits::kMaxClaimSteps are looked for in one pass. True if that was not enough for all.
bool make_claims(Decision& d, PassMemory& memory, Claimants which);

}  // namespace subak::decide
