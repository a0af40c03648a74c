// The gangs that use a ComputeDomain and hold GPUs, or have reserved nodes, in an NVLink domain.
// DomainRules::clique_gangs bounds how many there may be. A node takes part in at most one
// ComputeDomain. The result depends only on holds and reservations. Private to placement.
#pragma once

#include <functional>
#include <vector>

#include "placement/fleet/scene.h"

namespace subak {

// True if the pod takes part in a ComputeDomain: it has GPUs, and its gang uses one.
inline bool uses_compute_domain(const Fleet::Impl& fleet, const Hold& hold) {
  return hold.slot.milligpu > 0 && fleet.shape(hold.shape).request().terms.compute_domain;
}
// Returns the owners of pods that take part in a ComputeDomain, on nodes wired to the NVLink
// domain. Ascending, each once. `load_of` returns the load of a node.
std::vector<JobId> computing_in(const Fleet::Impl& fleet, DomainIndex domain,
                                const std::function<const Load&(NodeIndex)>& load_of);
// Returns the other gangs with a ComputeDomain in the node's domain, in this snapshot: those that
// hold GPUs there, and those for which nodes there are reserved. In a snapshot without holds, the
// only holds that count are those on nodes reserved for other jobs.
std::vector<JobId> computing_beside(const Scene& scene, NodeIndex node, JobId owner);
// True if a gang of `owner` with a ComputeDomain may not have the node.
bool is_computed(const Scene& scene, NodeIndex node, JobId owner);

}  // namespace subak
