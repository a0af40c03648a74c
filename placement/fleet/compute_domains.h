// The gangs that use a ComputeDomain and hold, or are promised, GPUs in an NVLink domain. Two of
// them in one domain clash, and a node takes part in one ComputeDomain (DomainRules::clique_gangs).
// The result depends only on holds and reservations. Private to placement.
#pragma once

#include <functional>
#include <vector>

#include "placement/fleet/scene.h"

namespace subak {

// True if the pod takes part in a ComputeDomain: it has GPUs, and its gang uses one.
inline bool uses_compute_domain(const Fleet::Impl& fleet, const Hold& hold) {
  return hold.slot.milligpu > 0 && fleet.shape(hold.shape).request().terms.compute_domain;
}
// Returns the owners of pods that take part, on nodes wired to the domain. Ascending, each once.
// `load_of` returns the load of a node.
std::vector<JobId> computing_in(const Fleet::Impl& fleet, DomainIndex domain,
                                const std::function<const Load&(NodeIndex)>& load_of);
// Returns the other gangs with a ComputeDomain in the node's domain, in this snapshot: those that
// hold GPUs there, and those for which nodes there are reserved. If the snapshot has no holds, it
// returns those that hold something on nodes reserved for other jobs.
std::vector<JobId> computing_beside(const Scene& scene, NodeIndex node, JobId owner);
// True if a gang of `owner` with a ComputeDomain may not have the node.
bool is_computed(const Scene& scene, NodeIndex node, JobId owner);

}  // namespace subak
