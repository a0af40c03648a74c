// Checks whether a pod still has GPUs of its own. The holds on a node can exceed its GPUs if a pod
// was bound there without Subak, or if GPUs disappeared. Then at least one pod on the node has no
// GPUs of its own.
// Threads: several may read a fleet while no thread changes it.
#pragma once

#include "placement/fleet/fleet_view.h"

namespace subak {

// True if the pod's GPUs would fit on its node beside all other holds. Ignores CPU, memory,
// reservations, and whether the node is open. `held` must be held in the fleet. O(holds on the
// node).
bool has_room_there(const Fleet& fleet, const Allocation& held);

}  // namespace subak
