// A snapshot (class `FleetView`) opened for reading: the room of each node, its holds and their
// owners. Lives no longer than its snapshot. Private to placement.
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

// The differences of a snapshot (class `FleetView`) from the live fleet: nodes without some of
// their holds, and nodes of a clique that no gang reserves any more. All else is read from the
// fleet.
struct Overlay {
  struct Node {
    // The node, with what it holds and has free in the snapshot.
    NodeIndex node = 0;
    Load load;
    Room room;
  };
  struct Domain {
    // The clique.
    DomainIndex domain = 0;
    // The exclusive holds that are left on the domain.
    std::uint32_t kept_holds = 0;
    // The gangs that use a ComputeDomain there; ascending.
    std::vector<JobId> computing;
  };
  // Ascending, at most limits::kMaxFleetViewNodes.
  std::vector<Node> nodes;
  // Ascending.
  std::vector<Domain> domains;
  // The domains left to gangs in the snapshot; ascending.
  std::vector<DomainIndex> left;

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

// A cheap copy of a snapshot's pointers, with the switches of a search.
struct Scene {
  explicit Scene(const FleetView& fleet_view)
      : fleet(fleet_view.fleet().impl()),
        reserved(fleet_view.reserved_ != nullptr && !fleet_view.reserved_->empty()
                     ? fleet_view.reserved_
                     : nullptr),
        overlay(fleet_view.overlay_.get()),
        nothing_held(fleet_view.nothing_held_),
        all_open(fleet_view.all_open_) {}

  const Fleet::Impl& fleet;
  // nullptr: none are reserved.
  const ReservedNodes* reserved;
  // nullptr: no difference from the live fleet.
  const Overlay* overlay;
  // All rooms are empty.
  bool nothing_held;
  // Every node that matches may be used, whatever its condition.
  bool all_open;
  // Every job may use what is left to gangs.
  bool broken_into = false;
  // Gangs with a ComputeDomain may be anywhere.
  bool together = false;

  // The node must have been seen, here and below.
  const NodeState& node(NodeIndex i) const { return *fleet.nodes[i]; }
  // The room of the node.
  const Room& room(NodeIndex i) const {
    if (nothing_held) return all_open ? node(i).empty : node(i).works;
    const Overlay::Node* other = overlay == nullptr ? nullptr : overlay->find(i);
    return other == nullptr ? node(i).room : other->room;
  }
  // The holds of the node; with nothing_held, those that a job would wait for.
  const Load& load(NodeIndex i) const {
    const Overlay::Node* other = overlay == nullptr ? nullptr : overlay->find(i);
    return other == nullptr ? node(i).load : other->load;
  }
  // True if its NVLink domain is left to gangs that need several nodes of one
  // (DomainRules::keep_whole).
  bool in_reserved_domain(NodeIndex i) const {
    const DomainIndex home = node(i).home();
    if (!rules_hold() || home == kNoArea) return false;
    if (overlay != nullptr) return overlay->is_left(home);
    return fleet.domains[home]->left;
  }
  // True if domains are left to gangs at all, in this snapshot and for this search.
  bool rules_hold() const {
    return fleet.whole.rules().keep_whole > 0 && !broken_into && !is_empty();
  }
  // Gangs that use a ComputeDomain and hold something in the domain; ascending. Not for use with
  // nothing_held.
  const std::vector<JobId>& computing(DomainIndex d) const {
    const Overlay::Domain* other = overlay == nullptr ? nullptr : overlay->find_domain(d);
    return other == nullptr ? fleet.domains[d]->computing : other->computing;
  }
  // Exclusive holds on the whole domain.
  std::uint32_t kept_holds(DomainIndex d) const {
    const Overlay::Domain* other = overlay == nullptr ? nullptr : overlay->find_domain(d);
    return other == nullptr ? fleet.domains[d]->kept : other->kept_holds;
  }
  // The job for which the node is reserved. None: it is not reserved.
  JobId owner_of(NodeIndex i) const {
    return reserved == nullptr ? JobId() : reserved->owner_of(NodeId(i));
  }
  // The empty fleet: any placement will do, and the search caches nothing for it.
  bool is_empty() const { return nothing_held && all_open; }
  // The live fleet, with or without reservations: results cached for the live fleet are valid here
  // too.
  bool as_it_is() const { return !nothing_held && overlay == nullptr; }
  // The same without reservations.
  Scene without_reservations() const {
    Scene s = *this;
    s.reserved = nullptr;
    return s;
  }
  // The same without reservations and without domains left to gangs.
  Scene for_all() const {
    Scene s = without_reservations();
    s.broken_into = true;
    return s;
  }
  // The same, but gangs with a ComputeDomain may be anywhere.
  Scene share_compute_domain() const {
    Scene s = *this;
    s.together = true;
    return s;
  }
  // The same, with every matching node open.
  Scene opened() const {
    Scene s = *this;
    s.all_open = true;
    return s;
  }
};

}  // namespace subak
