// Node pools, to which an autoscaler adds nodes: which present nodes belong to a pool, and how many
// nodes it may still get (docs/design/0124).
// Threads: several may read a fleet while no thread changes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "model/node.h"
#include "placement/fleet/fleet.h"

namespace subak {

// A pool, and the cluster that it names.
struct FleetPool {
  ClusterId cluster;
  NodePool pool;
  // Returns a description of a node that the pool may still get. Each `index`, from 0 on, gives the
  // node another name.
  NodeSpec node_to_come(std::uint32_t index) const;
  friend bool operator==(const FleetPool&, const FleetPool&) = default;
};

// The pools of all clusters.
struct FleetPools {
  std::vector<FleetPool> all;
  // A number that grows with each change of `all`.
  std::uint64_t version = 1;
};

// The nodes of one pool.
struct PoolNodes {
  // The index in FleetPools::all.
  std::size_t pool = 0;
  // The present nodes, ascending. Nodes that are drained, not ready or about to be removed count
  // too.
  std::vector<NodeId> present;
  // How many more nodes the pool may get.
  std::uint32_t to_come = 0;
};

// Returns the nodes of each pool, in the order of `pools`. O(nodes of the pools' clusters).
std::vector<PoolNodes> pool_nodes(const Fleet& fleet, const FleetPools& pools);

}  // namespace subak
