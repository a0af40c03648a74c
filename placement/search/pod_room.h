// Checks whether a pod still has GPUs of its own. The holds on a node can exceed its GPUs, if a pod
// came that Subak did not place, or if GPUs disappeared. Then at least one pod there has no GPUs of
// its own.
// Threads: as the fleet.
#pragma once

#include "placement/fleet/fleet_view.h"

namespace subak {

// True if the pod would find GPUs on its node after the release of its own hold, if all other holds
// stay. Ignores CPU, memory, reservations, and whether the node is open. `held` must be held in the
// fleet. O(holds on the node).
bool has_room_there(const Fleet& fleet, const Allocation& held);

}  // namespace subak
