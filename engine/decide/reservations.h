// The steps of a pass (pass.cc) that make, move and end reservations (docs/design/0043). A
// reservation is whole nodes that Subak reserves for a waiting job that starts later.
// derive/reservations.h finds nodes and times. A start is promised if it follows from time limits,
// and estimated otherwise.
//
// A promised start moves later only for a cause of ReserveCause. For example, a job on the nodes
// runs beyond its limit, a node is lost, or other pods came to the nodes.
// Threads: one at a time; all functions run inside Engine::apply.
#pragma once

#include <vector>

#include "engine/decide/decide.h"
#include "engine/state/clusters.h"
#include "engine/state/state.h"

namespace subak::decide {

// Returns a copy of the reservations of all clusters. The copy stays the same when reservations
// change.
std::vector<state::Reservation> all_reservations(const Decision& d);
// True if the queued job has waited for at least derive::patience(), the wait after which a job may
// get a reservation.
bool has_waited(const Decision& d, const state::Job& job);
// True if the cluster may have one more reservation: it has fewer than QueueSettings::reserve_jobs
// reservations, and its list is complete.
bool may_reserve(const Decision& d, ClusterId cluster);

// Ends the reservations of jobs that a rule of their accounts stops, and the reservations beyond
// the policy's number. Returns true if it ended a reservation.
bool give_up_stopped(Decision& d);
// Chooses new nodes for each reservation that can no longer be kept. Such a reservation has nodes
// that will not be free in time, or a node that is gone or takes no pods. Or a planned drain of its
// nodes would begin before the job ends. If there are no new nodes, or a rule refuses them, the
// reservation ends. Returns true if there was such a reservation.
bool mend(Decision& d, PassMemory& memory);
// The result of reserve().
enum class Reserving {
  kMade,
  kStopped,  // a rule of the job's accounts refuses the product of the nodes
  kNothing,  // the job may have no reservation, or no nodes were found
};
// Reserves nodes for a job that had no placement in its turn, if has_waited() is true and these
// limits of its cluster allow it:
//   - there are at most QueueSettings::reserve_jobs reservations; one account has at most half of
//     this number, but at least 1, while jobs of other accounts wait
//   - at most one reservation is for a job that fits on one node, because such a job rarely waits
//     long, and would take the node from gangs
//   - at most one reservation has an estimated start, because no other job may use the nodes of
//     such a reservation
Reserving reserve(Decision& d, const state::Job& job, PassMemory& memory);
// Call it before the jobs have their turn. Moves each reservation with an estimated start to nodes
// with a promised start, or to nodes on which jobs hold fewer GPUs. There are usually such nodes if
// a job has just ended.
void choose_estimates(Decision& d);
// Call it after the jobs have had their turn. Moves a promised start to other nodes if it is
// earlier there: by at least limits::kReserveGainMs, and by at least 1/limits::kReserveGainPart
// of the time from Reservation::made_ms to the start. On the same nodes, the promise keeps its
// start, even if they become free sooner: a sooner start would leave other jobs less time there.
// The next passes skip the search until one of its inputs changes, such as by a release of a
// hold.
void pull(Decision& d, PassMemory& memory);
// Ends a reservation whose nodes are free although its job still has no placement on them.
// `blocked_by_rule`: a rule of the job's accounts is the reason.
void cancel_reservation(Decision& d, const state::Reservation& r, bool blocked_by_rule);

}  // namespace subak::decide
