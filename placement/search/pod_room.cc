#include "placement/search/pod_room.h"

#include "core/must.h"
#include "placement/fleet/fleet_impl.h"

namespace subak {

bool has_room_there(const Fleet& fleet, const Allocation& held) {
  const Fleet::Impl& impl = fleet.impl();
  const NodeState* n = impl.find(held.slot.node);
  must(n != nullptr, "what is held is on a node");
  const PodShape& pod = *impl.shape(held.shape).pods_of(held.rank).shape;
  Load load = n->load;
  const Hold* hold = load.find(held.shape, held.rank, held.slot, held.owner);
  must(hold != nullptr, "the hold to release exists");
  load.remove(hold, pod);
  return fits(n->spec, left_on(n->spec, n->empty, load, 0, {}, nullptr), pod, kAllGpus, kOnlyGpus);
}

}  // namespace subak
