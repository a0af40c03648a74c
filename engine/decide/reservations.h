// The steps of a pass (pass.cc) that make, move and end reservations (docs/design/0043).
// derive/reservations.h finds nodes and times.
//
// A promised start moves later only for a cause of ReserveCause: a job there stays longer, a node
// is lost, or other pods came there.
// Threads: none.
#pragma once

#include <vector>

#include "engine/decide/decide.h"
#include "engine/state/clusters.h"
#include "engine/state/state.h"

namespace subak::decide {

// The reservations of all clusters, as a copy that survives changes to them.
std::vector<state::Reservation> all_reservations(const Decision& d);
// True if the queued job has waited as long as the policy asks before it may get a reservation.
bool has_waited(const Decision& d, const state::Job& job);
// True if the cluster may have one more reservation: it has fewer than Policy::reserve_jobs, and
// its list is complete.
bool may_reserve(const Decision& d, ClusterId cluster);

// Ends the reservations of jobs that a rule of their accounts stops, and those beyond the policy's
// number. Returns true if it ended any.
bool give_up_stopped(Decision& d);
// Chooses nodes again for reservations whose nodes will not be free in time, or of which a node is
// gone or closed. Returns true if there was one.
bool mend(Decision& d, PassMemory& memory);
// The result of reserve().
enum class Reserving {
  kMade,
  kStopped,  // a rule of its accounts refuses the product of the nodes
  kNothing,  // it may have none, or there are no nodes for it
};
// Reserves nodes for a job that had no placement in its turn, if it has waited and the limits allow
// it:
//   - a cluster has at most Policy::reserve_jobs reservations; one account has at most half of them
//     while jobs of other accounts wait
//   - at most one is for a job that fits one node: such a job rarely waits long, and would take the
//     node from gangs
//   - at most one has an estimated start, since no other job may use its nodes meanwhile
Reserving reserve(Decision& d, const state::Job& job, PassMemory& memory);
// Call it before the jobs have their turn. Replaces an estimate by a promise, or by nodes with less
// to wait for. These are mostly nodes that were just released.
void choose_estimates(Decision& d);
// Call it after the jobs had their turn. Moves a promise to other nodes with an earlier start. If
// the nodes stay the same, the promise does not change, even if they will be free sooner. Jobs that
// end within half of the longer time may still use them. A result without a move is valid until a
// hold is released, since time and new starts only make other nodes worse.
void pull(Decision& d, PassMemory& memory);
// Ends a reservation whose nodes are free although its job still has no placement there.
void cancel_reservation(Decision& d, const state::Reservation& r, bool blocked_by_rule);

}  // namespace subak::decide
