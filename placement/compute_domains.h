// Which gangs that use a ComputeDomain have, or are promised, places in an NVLink domain: two in one clash, and a node
// takes part in one (DomainRules::clique_gangs). It follows from what is held. Private to placement.
#pragma once

#include <functional>
#include <vector>

#include "placement/scene.h"

namespace subak {

// The pod takes part in a ComputeDomain: it has GPUs, and its gang uses one.
inline bool computes(const Fleet::Impl& fleet, const Hold& hold) {
  return hold.slot.milligpu > 0 && fleet.shape(hold.shape).request().compute_domain;
}
// Owners of such pods on nodes that are wired to the domain, ascending, each once. `load_of` says what is held.
std::vector<JobId> computing_in(const Fleet::Impl& fleet, DomainIndex domain,
                                const std::function<const Load&(NodeIndex)>& load_of);
// Such gangs beside `owner` in the node's domain, in this picture: those that hold something there and those that
// nodes are kept for. With nothing held, those that hold something on nodes that are kept for others.
std::vector<JobId> computing_beside(const Scene& scene, NodeIndex node, JobId owner);
// A gang of `owner` with a ComputeDomain may not have the node.
bool is_computed(const Scene& scene, NodeIndex node, JobId owner);

}  // namespace subak
