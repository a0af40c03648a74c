// Which NVLink domains of several nodes DomainRules::keep_whole leaves to gangs. It follows from the nodes and from what
// is held on them, so nothing need be remembered. Private to placement.
#pragma once

#include <vector>

#include "placement/fleet_impl.h"

namespace subak {

// Of what a domain is known by itself, from scratch: held, product, working, computing.
Group measured(const Fleet::Impl& fleet, DomainIndex domain);
// Ascending: those that are left to gangs where, beside those that are empty in the fleet as it is, `emptied` are.
std::vector<DomainIndex> left_to_gangs(const Fleet::Impl& fleet,
                                       const std::vector<DomainIndex>& emptied);

}  // namespace subak
