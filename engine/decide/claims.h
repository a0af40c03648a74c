// Claims in a pass (docs/design/0084): makes them in the order, asks their victims, starts the
// claimants and ends what no longer holds. Threads: as the pass.
#pragma once

#include "engine/decide/decide.h"
#include "engine/decide/decision.h"

namespace subak::decide {

// Ends claims whose claimant or slots are no longer as they were.
void end_claims(Decision& d);
// Ends the claims on a node that changes or is removed, before it does: what they claim there is
// not the same any more. Also outside a pass.
void end_claims_on(Decision& d, NodeId node);
// Asks the victims whose minimum run is over to end.
void ask_victims(Decision& d);
// Makes claims, in the order, for jobs that found no placement in their turn. At most
// limits::kMaxClaimSteps are looked for in one pass. True if that was not enough for all.
bool make_claims(Decision& d, PassMemory& memory);

}  // namespace subak::decide
