#include "placement/search/pools.h"

#include <algorithm>
#include <string>

#include "core/must.h"

namespace subak {

NodeSpec FleetPool::node_to_come(std::uint32_t index) const {
  NodeSpec node = pool.node;
  node.name = "new-" + pool.name + "-" + std::to_string(index);
  return node;
}

std::vector<PoolNodes> pool_nodes(const Fleet& fleet, const FleetPools& pools) {
  std::vector<PoolNodes> out;
  for (std::size_t i = 0; i < pools.all.size(); ++i) {
    const FleetPool& of = pools.all[i];
    PoolNodes& nodes = out.emplace_back(PoolNodes{i, {}, 0});
    for (const NodeId id : fleet.nodes(of.cluster)) {
      const std::vector<Label>& labels = fleet.node(id)->labels;
      if (std::find(labels.begin(), labels.end(), of.pool.label) != labels.end())
        nodes.present.push_back(id);
    }
    const std::size_t have = nodes.present.size();
    nodes.to_come = have < of.pool.most ? of.pool.most - static_cast<std::uint32_t>(have) : 0;
  }
  must(out.size() == pools.all.size(), "each pool has a row");
  return out;
}

}  // namespace subak
