// The differences of a snapshot (class `FleetView`) from the live fleet: nodes without some of
// their holds, and nodes of a clique that no gang reserves any more. All else is read from the
// fleet. Private to placement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/error.h"
#include "placement/fleet/fleet_impl.h"
#include "placement/fleet/fleet_view.h"

namespace subak {

struct Overlay {
  struct Node {
    NodeIndex node = 0;
    Load load;
    Room room;
  };
  struct Domain {
    DomainIndex domain = 0;
    std::uint32_t kept_holds = 0;  // exclusive holds on the domain
    std::vector<JobId> computing;  // gangs that use a ComputeDomain; ascending
  };
  std::vector<Node> nodes;        // ascending, at most limits::kMaxFleetViewNodes
  std::vector<Domain> domains;    // ascending
  std::vector<DomainIndex> left;  // ascending: domains left to gangs in the snapshot

  // nullptr: no difference from the fleet.
  const Node* find(NodeIndex node) const;
  const Domain* find_domain(DomainIndex domain) const;
  bool is_left(DomainIndex domain) const {
    return std::binary_search(left.begin(), left.end(), domain);
  }
};

// Returns `before` (nullptr: the live fleet) after the release of the holds in `gone` too. Each
// must be held there. Errors: as `FleetView::without()`.
Result<std::shared_ptr<const Overlay>> give_back(const Fleet::Impl& fleet, const Overlay* before,
                                                 std::span<const Allocation> gone);

}  // namespace subak
