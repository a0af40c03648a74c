// The steps of a pass that deal with claims (docs/design/0084). They make claims in the order of
// the queue, ask victims to end, and end claims that are no longer valid. Threads: as the pass.
#pragma once

#include "engine/decide/decide.h"
#include "engine/decide/decision.h"

namespace subak::decide {

// Ends the claims that are no longer valid, for example because the policy, the account's quota or
// a claimed node has changed, or because a victim does not end.
void end_claims(Decision& d);
// Ends the claims on this node. Call it before the node changes or is removed, because the claimed
// slots then become invalid. end_claims_on() may also be called outside a pass.
void end_claims_on(Decision& d, NodeId node);
// Asks victims to end as soon as their minimum run is over.
void ask_victims(Decision& d);
// Makes claims for jobs that found no placement in their turn, in the order of the queue. One pass
// does at most limits::kMaxClaimSteps searches for claims. Returns true if some jobs had no search
// for this reason.
bool make_claims(Decision& d, PassMemory& memory);

}  // namespace subak::decide
