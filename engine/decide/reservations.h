// Which jobs nodes are kept for, and when that changes: the steps of a pass (pass.cc) that make, move
// and end reservations (docs/design/0043). Where and when is found by derive/reservations.h.
//
// A promised start moves later only by a cause of ReserveCause: something there stays longer, a node is
// lost, or something else came there. Threads: none.
#pragma once

#include <vector>

#include "engine/decide/decide.h"
#include "engine/state/clusters.h"
#include "engine/state/state.h"

namespace subak::decide {

// Of all clusters; a copy, for whoever changes them meanwhile.
std::vector<state::Reservation> all_reservations(const Decision& d);
// The queued job has waited as long as the policy asks before nodes are kept for it.
bool has_waited(const Decision& d, const state::Job& job);
// Of a cluster there are at most Policy::reserve_jobs; none while its list is not complete.
bool may_reserve(const Decision& d, ClusterId cluster);

// Ends those of jobs that a rule of their accounts stops, and those that are more than the policy
// says. True if there was one.
bool give_up_stopped(Decision& d);
// Chooses anew where what was to be free by the start will not be, or a node is gone or closed. True if
// there was one.
bool mend(Decision& d, PassMemory& memory);
// The job had no place in its turn: keeps nodes for it, if it has waited, and there is one to give.
//   - of a cluster, at most Policy::reserve_jobs; while others wait, half of them for one account
//   - at most one for a job that fits one node: it rarely waits long, and would take it from gangs
//   - at most one whose start is an estimate: nobody else may use its nodes meanwhile
// True if it has one now.
bool reserve(Decision& d, const state::Job& job, PassMemory& memory);
// Before others have their turn: for an estimate a promise, or nodes with less to wait for, which are
// most of the time those that were just given back.
void choose_estimates(Decision& d);
// After others had their turn: for a promise other nodes with an earlier start. It stands as long as its
// nodes do, also where these will be free sooner: who would be gone in half of the longer time may still
// use them. What is found holds until something is given back, as time that passes and what starts only
// make other places worse.
void pull(Decision& d, PassMemory& memory);
// Ends one that nothing is in the way of any more, and whose job still has no place there.
void give_up_in_vain(Decision& d, const state::Reservation& r, bool barred);

}  // namespace subak::decide
