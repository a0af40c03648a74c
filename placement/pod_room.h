// Whether the place of a pod is its own still. Where a node holds more than it has, as something came there
// that was not placed or GPUs went, somebody's is not. Threads: as the fleet.
#pragma once

#include "placement/picture.h"

namespace subak {

// Would the pod find GPUs on its node, were its place given back, with all else there as it is? CPU, memory,
// whether the node is open and for whom GPUs are kept count for nothing. The allocation is held. O(what the node holds).
bool has_room_there(const Fleet& fleet, const Allocation& held);

}  // namespace subak
