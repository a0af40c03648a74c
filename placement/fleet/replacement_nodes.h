// The spare nodes of a clique, which is a group of nodes that NVLink joins. They stay free so that
// a gang with GangTerms::spare can replace its broken nodes. The choice depends only on the nodes
// of the clique and their holds, so no checkpoint stores it.
// Threads: several may read a fleet while no thread changes it. Private to placement.
#pragma once

#include <functional>
#include <vector>

#include "placement/fleet/fleet_impl.h"
#include "placement/fleet/scene.h"

namespace subak {

// True if the gang of this hold keeps spare nodes in the clique.
bool gang_reserves_replacements(const Fleet::Impl& fleet, const Hold& hold);

// The spare nodes of one clique.
struct ReplacementNodes {
  // True: some gang in the clique asks for spare nodes.
  bool wanted = false;
  // The spare nodes, ascending. There are fewer than the gangs ask for if too few nodes are free.
  std::vector<NodeIndex> nodes;
};
// Returns the spare nodes of the domain. Each gang, in the order of ids, gets as many as it asked
// for. A spare node has no GPU pod and could run one of the gang's pods. Nodes that take pods and
// have no unhealthy GPU come first. Among equal nodes, those with the highest ids come first.
// `load_of` returns the load of a node.
ReplacementNodes replacement_nodes_of(const Fleet::Impl& fleet, DomainIndex domain,
                                      const std::function<const Load&(NodeIndex)>& load_of);

// Returns the spare nodes, ascending, that a gang on these slots would have if no node had holds.
// In each clique, the function chooses as many nodes as the gang asks for, those with the fewest
// held GPUs. It chooses only nodes that could run a pod of the gang, take pods and have no
// unhealthy GPU. These nodes must not be reserved for a job, nor be spare nodes of another gang. If
// a clique has too few such nodes, the function returns fewer.
std::vector<NodeIndex> replacement_nodes_to_wait_for(const Scene& scene, const Shape& shape,
                                                     const std::vector<PodSlot>& slots);

}  // namespace subak
