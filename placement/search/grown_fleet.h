// A copy of the fleet in which each node pool (nodes that an autoscaler adds and removes) has the
// most nodes that it may have. It shows which gangs a pool could hold that the present fleet could
// never hold. Private to placement.
// Threads: one at a time; the Search that made it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "placement/fleet/fleet.h"
#include "placement/search/pools.h"
#include "placement/search/search.h"

namespace subak {

// The copy, with a search of its own. A Search makes a new one when the fleet's nodes or pools
// change.
class GrownFleet {
 public:
  // Copies the nodes of the clusters with pools, without their holds. O(nodes).
  GrownFleet(const Fleet& fleet, const FleetPools& pools);
  // True if the copy is of the fleet's present nodes and pools. O(1).
  bool is_of(const Fleet& fleet, const FleetPools& pools) const;
  // Returns the names of the pools with new nodes in a placement of the gang when nothing is held.
  // Empty: there is no placement, or it has no new nodes.
  std::vector<std::string> pools_for(ClusterId cluster, const GangRequest& request);

 private:
  std::uint64_t descriptions_ = 0, pools_ = 0;
  Fleet fleet_;
  Search search_{fleet_};
  // The names of the pools, and the pool of each new node, by id from `first_new_` on.
  std::vector<std::string> names_;
  std::vector<std::size_t> pool_of_;
  std::uint32_t first_new_ = 0;
};

}  // namespace subak
