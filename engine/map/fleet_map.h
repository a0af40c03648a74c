// Makes the map of a cluster's fleet (engine/answers/fleet_map.h, docs/design/0130).
// Threads: as the state; pure functions.
#pragma once

#include "engine/answers/fleet_map.h"
#include "engine/state/state.h"

namespace subak::derive {

// Returns the map of the cluster, which must exist. The amounts of each node add up to the levels
// of the node (Fleet::levels()):
//   - running, held and foreign amounts and the excess are allocated
//   - free, reserved and kept amounts are idle
//   - drained and unfit amounts are unusable
// O(cells + nodes log nodes).
FleetMap fleet_map(const State& s, ClusterId cluster);

}  // namespace subak::derive
