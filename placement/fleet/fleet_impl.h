// The state of a Fleet, which the .cc files of its methods share. Searches and explanations read it
// too.
// Threads: as Fleet: at a time, one thread may change it or several may read it. Private to
// placement.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/limits.h"
#include "placement/fleet/fleet.h"
#include "placement/fleet/gpu_state.h"
#include "placement/fleet/groups.h"
#include "placement/fleet/whole_domains.h"
#include "placement/gpus/load.h"
#include "placement/gpus/node_claim.h"
#include "placement/gpus/room.h"
#include "placement/tables/backoffs.h"
#include "placement/tables/change_log.h"
#include "placement/tables/least_costs.h"
#include "placement/tables/products.h"
#include "placement/tables/shapes.h"
#include "placement/tables/totals.h"

namespace subak {

// The claims on one node.
struct NodeClaims {
  std::vector<NodeClaim> all;
  // The clique (nodes that NVLink joins) that the claims of exclusive gangs set aside; kNoArea:
  // none. Several such claims on this node count once.
  DomainIndex domain = kNoArea;
};

// All that the fleet stores about one node, even after the node is gone. Only the methods of
// Fleet::Impl write it.
struct NodeState {
  // False: the node was removed. Holds on it must still be released.
  bool present = false;
  // Subak's own cordon.
  bool drained = false;
  ClusterId cluster;
  // The description that was set last.
  NodeSpec spec;
  // The number of its product. A node without GPUs has the number of kAnyProduct.
  ProductId product;
  // The node's clique. A node without a clique has a domain of its own.
  DomainIndex domain = kNoArea;
  // The clique whose label the node has lost. kNoArea: none.
  DomainIndex former = kNoArea;
  // The node's own domain, for the time when it is in no clique. kNoArea: not made yet.
  DomainIndex own_domain = kNoArea;
  // `groups`: the group that contains the node, for each level of the fleet, nearest first.
  // `own_groups`: the groups of this node alone, for levels at which it names no group.
  std::array<std::uint32_t, limits::kTopologyLevels> groups{}, own_groups{};
  // Its row in Fleet::Impl::totals; 0: none.
  std::uint32_t totals = 0;

  // The holds on the node.
  Load load;
  // The claims of queued jobs on the node.
  NodeClaims claims;
  // The stranded amount of its configuration, in milli-GPU (NodeBooks).
  MilliGpu stranded = 0;

  // The room that is free now.
  Room room;
  // The room without holds. Unhealthy GPUs do not count.
  Room works;
  // The room without holds if all GPUs were healthy too.
  Room empty;
  // The state of its GPUs now. 0 while it is not present.
  StateIndex state = 0;
  // The use since `as_of`, and the integrals up to then.
  NodeLevels levels;
  NodeBooks books;
  TimeMs as_of = 0;
  // True: as_of is set.
  bool dated = false;
  // The last change of the node's description, as a position in the change log.
  std::uint64_t static_position = 0;

  // True: NVLink may join the node's GPUs to other GPUs.
  bool linked = true;
  // True: the node stays free as a spare node of a gang in its clique.
  bool spare = false;
  // True: the node has several NVLink domains inside, and no clique joins them.
  bool split = false;

  // The domain that its NVLink wires join, whatever its label says now.
  DomainIndex home() const { return former == kNoArea ? domain : former; }
  // True if it takes pods without tolerations.
  bool open() const { return open_for(false); }
  // Cordoned nodes take pods that tolerate the cordon.
  bool open_for(bool tolerates_cordon) const {
    return present && spec.ready && spec.unfit.empty() && !drained &&
           (!spec.unschedulable || tolerates_cordon);
  }
};

// Returns the room that the node would have without holds. Only the usage of pods without a hold is
// subtracted.
inline Room left_if_nothing_held(const NodeState& n, const GpuHeadroom& headroom) {
  Load load;
  load.others = n.load.others;
  return left_on(n.spec, n.empty, load, 0, headroom, nullptr);
}

// True if the gang needs more GPUs together than the node has. Such a gang needs an NVLink domain
// of several nodes.
inline bool needs_several(const Shape& shape, const NodeState& node) {
  return shape.together > node.spec.gpus * kMilliPerGpu;
}

// All changes go through the methods below, which update all tables together. Each table has its
// own invariant and a check() for it. Searches and explanations read the members.
struct Fleet::Impl {
  // By NodeId::value. Null: the id is of no node that was seen.
  std::vector<Owned<NodeState>> nodes;
  // NVLink domains, and the groups above them.
  Domains domains;
  TopologyLevels topology;
  // The choice of domains left to large gangs, and the rules for it.
  WholeDomains whole;
  // The GPU states of present nodes.
  GpuStates states;
  Products products;
  Totals totals;
  // The least costs over the products and nodes that were seen.
  LeastCosts costs;
  ShapeTable shapes;
  Backoffs backoffs;
  ChangeLog changes;
  FreedVersion freed;
  // The CPU and memory that non-GPU pods must leave free for each free GPU.
  GpuHeadroom headroom;

  // nodes.cc
  NodeState& at(NodeId id) { return *nodes[id.value]; }
  const NodeState& at(NodeId id) const { return *nodes[id.value]; }
  // nullptr if the node was never seen.
  NodeState* find(NodeId id);
  const NodeState* find(NodeId id) const;
  // Returns the node. Makes a new record if the node was never seen.
  NodeState& ensure(NodeId id);
  // Brings the node's integrals up to `now`.
  void accrue(NodeState& node, TimeMs now);
  // Recomputes the room that is left on the node after any change of the node, and writes the node
  // to the change log.
  void refresh(NodeId id);
  // Writes the node to the change log. wired_changed() writes all nodes wired to the domain.
  void changed(NodeIndex node);
  void wired_changed(DomainIndex domain);
  // nodes.cc: updates all that depends on the nodes of the domain. Call it after a change of a node
  // that is or was wired to the domain.
  void nodes_changed(DomainIndex domain);
  // Takes the node out of its domain and its groups. If it is present, puts it into those that its
  // description names.
  void move_to_groups(NodeId id, bool present);
  // enter() counts the node in the totals, costs and topology, which depend on the node's
  // description. withdraw() removes the node from them.
  void enter(NodeState& node);
  void withdraw(NodeState& node);
  // replacement_nodes.cc: chooses again which nodes of the clique are spare nodes.
  void choose_replacements(DomainIndex domain);
  // whole_domains.cc. survey() computes the domain's figures again from its nodes. note_held()
  // updates the figures after a change of the holds on a node. leave_to_gangs() chooses which
  // domains of a kind are left to gangs.
  void survey(DomainIndex domain);
  void note_held(const NodeState& node, MilliGpu change);
  void leave_to_gangs(WholeDomains::Kind kind);
  // compute_domains.cc: updates the gangs with a ComputeDomain in the node's domain. Call it after
  // the holds of such gangs on the node change.
  void note_computing(const NodeState& node);

  const Shape& shape(ShapeId id) const { return shapes[id]; }
  // Writes into `room` the resources that this load and the claims on the node leave free. The load
  // may be that of a snapshot. `kept`, `unhealthy_free`: as for fill_left().
  void fill_room(const NodeState& node, const Load& load, GpuMask kept, MilliGpu* unhealthy_free,
                 Room& room) const;
  // The shapes of pods, for with_claims().
  PodShapeOf pod_shapes() const;

  // ways/exclusive.cc: returns how far the domain of an nvlink-exclusive gang reaches from the
  // node: a part of the node, the node, or its clique.
  enum class Level : std::uint8_t { kInner, kNode, kClique };
  Level exclusive_level(const Shape& shape, std::uint32_t rank, const NodeState& node) const;
  // The GPUs that no other job may use because of a hold of an nvlink-exclusive gang: GPUs of the
  // hold's node, or a whole clique. They depend only on the present state of the node and its
  // domain.
  struct Keep {
    // At most one of the two is set. If neither is set, the hold keeps nothing from other jobs.
    GpuMask gpus = 0;
    DomainIndex domain = kNoArea;
  };
  Keep keep_of(const Hold& hold, const NodeState& node) const;
  // holds.cc: computes keep_of() again for all holds in the domain.
  void keep_anew(DomainIndex home);
};

// Returns the GPUs of the node that no new job may get, because gangs keep them: gangs with
// exclusive domains, or with spare nodes; nodes.cc.
GpuMask kept_gpus(const Fleet::Impl& fleet, const NodeState& node);
// Returns the milli-GPU levels of a node; books.cc.
NodeLevels levels_of(const NodeState& node, MilliGpu unhealthy_free);
// Corrects integrals that contain the levels `was` for the time `span`. Afterwards they contain the
// levels `is` for that time.
void correct(NodeBooks& books, const NodeLevels& was, const NodeLevels& is, DurationMs span);

// The resources that non-GPU pods use on a node. Pods with and without a hold count.
struct NodeNonGpuUse {
  // Units: pods, thousandths of a CPU, bytes.
  std::int64_t pods = 0, cpu_milli = 0, memory_bytes = 0;
};
// `load` belongs to the fleet, or to a snapshot of it. O(holds); views.cc.
NodeNonGpuUse node_non_gpu_use(const Fleet::Impl& fleet, const Load& load);

}  // namespace subak
