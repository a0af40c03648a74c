// The nodes of a clique that gangs with GangRequest::spare reserve to replace broken nodes. The
// choice depends only on the holds in the clique, so the fleet stores no choice. Private to
// placement.
#pragma once

#include <functional>
#include <vector>

#include "placement/fleet/fleet_impl.h"
#include "placement/fleet/scene.h"

namespace subak {

// True if the gang of this hold reserves nodes of the clique for replacements.
bool gang_reserves_replacements(const Fleet::Impl& fleet, const Hold& hold);

// The reserved nodes of one clique.
struct ReplacementNodes {
  // True: a gang reserves nodes in the clique.
  bool wanted = false;
  // The reserved nodes, ascending. There are fewer than wanted if too few are free.
  std::vector<NodeIndex> nodes;
};
// Returns the spare nodes of the domain. Each gang, in the order of ids, gets as many as it asked
// for. A spare node has no GPU pod and could run one of the gang's pods. Working nodes come first,
// then nodes with the highest ids. `load_of` returns the load of a node.
ReplacementNodes replacement_nodes_of(const Fleet::Impl& fleet, DomainIndex domain,
                                      const std::function<const Load&(NodeIndex)>& load_of);

// Returns the nodes, ascending, that a gang on these slots could reserve as spares if no node had
// holds. In each clique it chooses as many as the gang asks for, those with the fewest held GPUs.
// The nodes work, and none is reserved for another job. If a clique has too few such nodes, it
// returns fewer.
std::vector<NodeIndex> replacement_nodes_to_wait_for(const Scene& scene, const Shape& shape,
                                                     const std::vector<PodSlot>& slots);

}  // namespace subak
