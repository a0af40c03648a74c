// How the code of placement/ reads a snapshot (class `FleetView`): the room of each node, its holds
// and their owners. A Scene must not outlive its snapshot.
// Threads: several may read a fleet while no thread changes it. Private to placement.
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

// The differences between a snapshot (class `FleetView`) and the live fleet: nodes without some of
// their holds, and cliques that are no longer the exclusive domain of a gang. A search reads all
// else from the fleet.
struct Overlay {
  // One node that differs.
  struct Node {
    // The node, with its holds and its room in the snapshot.
    NodeIndex node = 0;
    Load load;
    Room room;
  };
  // One clique that differs.
  struct Domain {
    // The clique.
    DomainIndex domain = 0;
    // The number of exclusive holds that are left on the domain.
    std::uint32_t kept_holds = 0;
    // The gangs that use a ComputeDomain there; ascending.
    std::vector<JobId> computing;
  };
  // The nodes that differ, ascending, at most limits::kMaxFleetViewNodes.
  std::vector<Node> nodes;
  // The domains that differ, ascending.
  std::vector<Domain> domains;
  // The domains that the rule keep_whole leaves to large gangs in the snapshot; ascending.
  std::vector<DomainIndex> left;

  // Returns the node's entry; nullptr if it does not differ from the fleet.
  const Node* find(NodeIndex node) const;
  const Domain* find_domain(DomainIndex domain) const;
  bool is_left(DomainIndex domain) const {
    return std::binary_search(left.begin(), left.end(), domain);
  }
};

// Returns the overlay `before` with the holds in `gone` released too. Each hold must be held in the
// snapshot of `before` (nullptr: in the live fleet). Errors: those of `FleetView::without()`.
Result<std::shared_ptr<const Overlay>> give_back(const Fleet::Impl& fleet, const Overlay* before,
                                                 std::span<const Allocation> gone);

// A cheap copy of a snapshot's pointers, with switches that a search may set for itself.
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
  // The reserved nodes; nullptr if there are none.
  const ReservedNodes* reserved;
  // The differences; nullptr if there is no difference from the live fleet.
  const Overlay* overlay;
  // True: no node has holds.
  bool nothing_held;
  // True: the search may use every node that matches, even a node that is not ready, unfit,
  // cordoned or drained.
  bool all_open;
  // True: every job may use the domains that the rule keep_whole leaves to large gangs.
  bool broken_into = false;
  // True: gangs with a ComputeDomain may share a domain.
  bool together = false;

  // The state of the node. Here and below, the node must have been seen.
  const NodeState& node(NodeIndex i) const { return *fleet.nodes[i]; }
  // The room of the node.
  const Room& room(NodeIndex i) const {
    if (nothing_held) return all_open ? node(i).empty : node(i).works;
    const Overlay::Node* other = overlay == nullptr ? nullptr : overlay->find(i);
    return other == nullptr ? node(i).room : other->room;
  }
  // The holds of the node. With nothing_held, room() ignores these holds, but load() has them.
  const Load& load(NodeIndex i) const {
    const Overlay::Node* other = overlay == nullptr ? nullptr : overlay->find(i);
    return other == nullptr ? node(i).load : other->load;
  }
  // True if the node's NVLink domain is left to gangs that need several nodes of one domain
  // (DomainRules::keep_whole).
  bool in_reserved_domain(NodeIndex i) const {
    const DomainIndex home = node(i).home();
    if (!rules_hold() || home == kNoArea) return false;
    if (overlay != nullptr) return overlay->is_left(home);
    return fleet.domains[home]->left;
  }
  // True if the rule keep_whole leaves domains to gangs in this snapshot and for this search.
  bool rules_hold() const {
    return fleet.whole.rules().keep_whole > 0 && !broken_into && !is_empty();
  }
  // The gangs that use a ComputeDomain and hold GPUs in the domain; ascending. Not for use with
  // nothing_held.
  const std::vector<JobId>& computing(DomainIndex d) const {
    const Overlay::Domain* other = overlay == nullptr ? nullptr : overlay->find_domain(d);
    return other == nullptr ? fleet.domains[d]->computing : other->computing;
  }
  // The number of exclusive holds on the whole domain.
  std::uint32_t kept_holds(DomainIndex d) const {
    const Overlay::Domain* other = overlay == nullptr ? nullptr : overlay->find_domain(d);
    return other == nullptr ? fleet.domains[d]->kept : other->kept_holds;
  }
  // The job for which the node is reserved. None: it is not reserved.
  JobId owner_of(NodeIndex i) const {
    return reserved == nullptr ? JobId() : reserved->owner_of(NodeId(i));
  }
  // True for the empty fleet. Here a search only finds out whether a placement exists. The search
  // caches no results for it.
  bool is_empty() const { return nothing_held && all_open; }
  // True for the live fleet, with or without reservations. Results cached for the live fleet are
  // valid for such a scene too.
  bool as_it_is() const { return !nothing_held && overlay == nullptr; }
  // Returns this scene without reservations.
  Scene without_reservations() const {
    Scene s = *this;
    s.reserved = nullptr;
    return s;
  }
  // Returns this scene without reservations, in which every job may use the domains left to gangs.
  Scene for_all() const {
    Scene s = without_reservations();
    s.broken_into = true;
    return s;
  }
  // Returns this scene, but gangs with a ComputeDomain may share a domain.
  Scene share_compute_domain() const {
    Scene s = *this;
    s.together = true;
    return s;
  }
  // Returns this scene, with every matching node open.
  Scene opened() const {
    Scene s = *this;
    s.all_open = true;
    return s;
  }
};

}  // namespace subak
