// Finds the gangs with a ComputeDomain that hold GPUs, or have reserved nodes, in an NVLink domain.
// A ComputeDomain is the multi-node NVLink that NVIDIA's DRA driver sets up for a gang.
// DomainRules::clique_gangs bounds the number of these gangs. A node takes part in at most one
// ComputeDomain. The results depend only on holds and reservations.
// Threads: several may read a fleet while no thread changes it. Private to placement.
#pragma once

#include <functional>
#include <vector>

#include "placement/fleet/scene.h"

namespace subak {

// True if the pod takes part in a ComputeDomain: it has GPUs, and its gang uses one.
inline bool uses_compute_domain(const Fleet::Impl& fleet, const Hold& hold) {
  return hold.slot.milligpu > 0 && fleet.shape(hold.shape).request().terms.compute_domain;
}
// Returns the jobs whose pods take part in a ComputeDomain on nodes wired to the NVLink domain:
// ascending, each once. `load_of` returns the load of a node.
std::vector<JobId> computing_in(const Fleet::Impl& fleet, DomainIndex domain,
                                const std::function<const Load&(NodeIndex)>& load_of);
// Returns the gangs other than `owner` that use a ComputeDomain in the node's domain, in this
// snapshot. These are gangs that hold GPUs in the domain, and gangs for which nodes of it are
// reserved. In a snapshot without holds (FleetView::drained()), only the holds on nodes reserved
// for other jobs count.
std::vector<JobId> computing_beside(const Scene& scene, NodeIndex node, JobId owner);
// True if the node is forbidden for the gang `owner`, which uses a ComputeDomain, because other
// gangs use a ComputeDomain in the node's NVLink domain.
bool is_computed(const Scene& scene, NodeIndex node, JobId owner);

}  // namespace subak
