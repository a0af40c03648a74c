// Puts the nodes of a cluster into nested areas: product, superpod, block, rack and NVLink domain.
// Threads: any; pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "engine/answers/fleet_map.h"
#include "engine/state/state.h"

namespace subak::derive {

// The areas, and the nodes in the order of FleetMap::nodes.
struct MapAreas {
  std::vector<FleetMap::Area> areas;
  std::vector<NodeId> nodes;
};

// A node without GPUs is in an area of the product "". An area is left out if its name is empty,
// or if it is the node's NVLink domain and has the name of the rack. O(nodes log nodes).
MapAreas map_areas(const State& s, ClusterId cluster);

// Compares names as texts, except that numbers in them compare by their value: "node-9" comes
// before "node-10". Names that differ only in leading zeros are equal. O(length of the names).
std::strong_ordering natural_order(std::string_view a, std::string_view b);

}  // namespace subak::derive
