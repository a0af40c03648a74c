// Checks whether a pod's GPUs are still its own. A node can hold more than it has: a pod came there
// that Subak did not place, or GPUs disappeared. Then at least one pod there has no GPUs of its
// own.
// Threads: as the fleet.
#pragma once

#include "placement/fleet/fleet_view.h"

namespace subak {

// True if the pod would find GPUs on its node after the release of its own hold, with everything
// else there unchanged. Ignores CPU, memory, whether the node is open, and for which job GPUs are
// reserved. `held` must be held in the fleet. O(what the node holds).
bool has_room_there(const Fleet& fleet, const Allocation& held);

}  // namespace subak
