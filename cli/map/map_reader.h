// Reads the answer of GetFleetMap as nodes with cells, for `subak cluster map`.
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "subak/v1/fleet_map.pb.h"

namespace subak::cli {

// A part of a cell, or a complete cell.
struct MapPart {
  v1::GpuState state = v1::GPU_STATE_FREE;
  // The index of the job in MapView::jobs; -1: none.
  std::int32_t job = -1;
  std::int64_t milligpu = 0;
};

// A GPU that is not cut into slices, or a MIG slice.
struct MapCell {
  // For a divided cell, the state is GPU_STATE_DIVIDED, and `parts` has its parts.
  MapPart whole;
  std::vector<MapPart> parts;
};

struct MapNode {
  std::string name;
  // The index of its area in FleetMap.areas, of its kind in FleetMap.kinds, and of its condition in
  // FleetMap.conditions; -1: the node takes new pods.
  std::int32_t area = 0, kind = 0, condition = -1;
  std::vector<MapCell> cells;
};

struct MapView {
  std::vector<MapNode> nodes;
  // The ids of the jobs, such as "1-42".
  std::vector<std::string> jobs;
};

// Returns the nodes and jobs of the map. The error is kInvalid, and names a column that contradicts
// the others. It never reads beyond a column, whatever the columns contain.
Result<MapView> read_map(const v1::FleetMap& map);

}  // namespace subak::cli
