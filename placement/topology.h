// What labels say of where nodes stand, and where that cannot be.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/ids.h"
#include "placement/fleet.h"

namespace subak {

// Groups of a cluster whose nodes contradict each other, in words, by level and name; at most `most`:
//   - a rack, or a block, whose nodes name different groups of the next level: it is taken as several,
//     one in each
//   - a clique whose nodes stand in several racks: it stays one NVLink domain
// The nodes serve all the same. O(groups and nodes of cliques). Threads: as the fleet.
std::vector<std::string> topology_contradictions(const Fleet& fleet, ClusterId cluster,
                                                 std::size_t most);

}  // namespace subak
