// Checks the labels that say in which rack, block and clique nodes stand.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/ids.h"
#include "placement/fleet/fleet.h"

namespace subak {

// Describes groups of a cluster whose nodes contradict each other, by level and name; at most
// `most`:
//   - a rack or block whose nodes name different groups of the next level: treated as several
//     groups, one in each
//   - a clique whose nodes stand in several racks: it stays one NVLink domain
// The nodes stay in use. O(groups and nodes of cliques). Threads: as the fleet.
std::vector<std::string> topology_contradictions(const Fleet& fleet, ClusterId cluster,
                                                 std::size_t most);

}  // namespace subak
