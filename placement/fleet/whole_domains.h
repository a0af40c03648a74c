// The NVLink domains of several nodes that DomainRules::keep_whole leaves to gangs. The result
// depends only on the nodes and on their holds, so the fleet stores nothing for it. Private to
// placement.
#pragma once

#include <vector>

#include "placement/fleet/fleet_impl.h"

namespace subak {

// Returns the fields of the domain's Group that follow from its nodes, computed from scratch: held,
// product, working, computing.
Group measured(const Fleet::Impl& fleet, DomainIndex domain);
// Returns the domains left to gangs if the domains in `emptied` were empty, beside those that are
// empty in the fleet now. Ascending.
std::vector<DomainIndex> reserved_domains(const Fleet::Impl& fleet,
                                          const std::vector<DomainIndex>& emptied);

}  // namespace subak
