// Which nodes of a clique gangs with GangRequest::spare keep for their replacements. It follows from what is held
// in the clique alone, so nothing need be remembered. Private to placement.
#pragma once

#include <functional>
#include <vector>

#include "placement/fleet_impl.h"
#include "placement/scene.h"

namespace subak {

// What its gang holds there makes it keep nodes for replacements.
bool keeps_spare(const Fleet::Impl& fleet, const Hold& hold);

struct Spares {
  bool wanted = false;           // some gang keeps nodes there
  std::vector<NodeIndex> nodes;  // ascending; fewer than are wanted where no more are free
};
// Each gang, in the order of their ids, keeps as many as it asked for of the nodes that hold no GPU pod and could
// serve one of its own: those that work first, then those with the highest ids. `load_of` says what is held.
Spares spares_of(const Fleet::Impl& fleet, DomainIndex domain,
                 const std::function<const Load&(NodeIndex)>& load_of);

// Nodes that a gang, were nothing held and it were on these slots, could leave to spare: of each clique as many as it
// asks for, those with least to wait for. Only such as work and are kept for nobody else; fewer where there are
// no more. Ascending.
std::vector<NodeIndex> spares_to_wait_for(const Scene& scene, const Shape& shape,
                                          const std::vector<PodSlot>& slots);

}  // namespace subak
