#include "placement/search/grown_fleet.h"

#include <algorithm>
#include <set>

#include "core/limits.h"
#include "placement/fleet/fleet_impl.h"

namespace subak {

GrownFleet::GrownFleet(const Fleet& fleet, const FleetPools& pools)
    : descriptions_(fleet.description_version()), pools_(pools.version) {
  first_new_ = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(fleet.impl().nodes.size()));
  std::set<ClusterId> clusters;
  for (const FleetPool& of : pools.all) clusters.insert(of.cluster);
  for (const ClusterId cluster : clusters) {
    for (const NodeId id : fleet.nodes(cluster)) {
      fleet_.set_node(id, cluster, *fleet.node(id), false, 0);
    }
  }
  for (const PoolNodes& nodes : pool_nodes(fleet, pools)) {
    const FleetPool& of = pools.all[nodes.pool];
    names_.push_back(of.pool.name);
    for (std::uint32_t i = 0; i < nodes.to_come; ++i) {
      const NodeId id(first_new_ + static_cast<std::uint32_t>(pool_of_.size()));
      if (id.value > limits::kMaxNodeIds) return;  // no id is left for a new node
      pool_of_.push_back(nodes.pool);
      fleet_.set_node(id, of.cluster, of.node_to_come(i), false, 0);
    }
  }
}

bool GrownFleet::is_of(const Fleet& fleet, const FleetPools& pools) const {
  return descriptions_ == fleet.description_version() && pools_ == pools.version;
}

std::vector<std::string> GrownFleet::pools_for(ClusterId cluster, const GangRequest& request) {
  const ShapeUse shape = fleet_.use(cluster, request);
  const auto placement = search_.find(FleetView::empty(fleet_), shape);
  std::vector<std::string> out;
  if (!placement) return out;
  std::set<std::size_t> pools;
  for (const PodSlot& slot : placement->slots) {
    if (slot.node.value >= first_new_) pools.insert(pool_of_[slot.node.value - first_new_]);
  }
  for (const std::size_t pool : pools) out.push_back(names_[pool]);
  return out;
}

}  // namespace subak
