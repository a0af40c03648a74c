// The fleet's state, shared by the .cc files that implement its methods. Private to placement.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "placement/fleet/fleet.h"
#include "placement/fleet/gpu_state.h"
#include "placement/gpus/load.h"
#include "placement/gpus/room.h"

namespace subak {

struct NodeState {
  bool present = false;
  bool drained = false;
  ClusterId cluster;
  NodeSpec spec;
  ProductId product;
  DomainIndex domain = kNoArea;      // its clique, or a domain of its own
  DomainIndex former = kNoArea;      // the clique whose label the node has lost
  DomainIndex own_domain = kNoArea;  // for when the node is in no clique
  // The groups that the node stands in, for each level of the fleet, nearest first. `own_groups`
  // are its own groups, for levels where it names none.
  std::array<std::uint32_t, limits::kTopologyLevels> groups{}, own_groups{};
  std::uint32_t totals = 0;

  Load load;
  MilliGpu stranded = 0;  // of the configuration

  Room room;             // left now
  Room works;            // if nothing were held: the room that works now
  Room empty;            // if nothing were held and everything healthy
  StateIndex state = 0;  // of its GPUs now; 0 while it is not present
  NodeLevels levels;
  NodeBooks books;
  TimeMs as_of = 0;
  bool dated = false;                 // as_of is set
  std::uint64_t static_position = 0;  // in the change log, of the last change of its description

  bool linked = true;  // NVLink may join its GPUs to others
  bool spare = false;  // reserved for the replacements of a gang in its clique
  bool split = false;  // several domains inside, and no clique joins them

  // The domain that its NVLink wires join, whatever its label says now.
  DomainIndex home() const { return former == kNoArea ? domain : former; }
  bool open() const { return open_for(false); }
  // Cordoned nodes take pods that tolerate the cordon.
  bool open_for(bool tolerates_cordon) const {
    return present && spec.ready && spec.unfit.empty() && !drained &&
           (!spec.unschedulable || tolerates_cordon);
  }
};

// Returns the room without holds. The usage of pods without a hold stays.
inline Room left_if_nothing_held(const NodeState& n, const GpuHeadroom& headroom) {
  Load load;
  load.others = n.load.others;
  return left_on(n.spec, n.empty, load, 0, headroom, nullptr);
}

// The sort key of an NVLink domain of several nodes. The first domain is left to gangs first
// (DomainRules::keep_whole). Small gangs take domains with low ids first.
struct WholeKey {
  std::int64_t working = 0;  // GPUs on its open nodes; 0 if fewer than two are open
  NodeIndex low = 0;         // its first node
  DomainIndex domain = 0;
  friend bool operator<(const WholeKey& a, const WholeKey& b) {
    return std::tuple(b.working, b.low) < std::tuple(a.working, a.low);
  }
};

// An NVLink domain of several nodes (a clique), or one node without one; also a rack or a block.
struct Group {
  ClusterId cluster;
  std::string name;                // clique, rack or block; empty: it is one node's own
  std::vector<NodeIndex> members;  // ascending
  std::vector<NodeIndex> strays;   // of a clique: nodes that have lost its label; ascending
  std::uint32_t kept = 0;          // exclusive holds on the whole group
  std::uint32_t parent = kNoArea;  // of a rack or block: the group of the next level that it is in
  bool reserves_replacements = false;  // some gang there reserves nodes for replacements
  // Only for an NVLink domain (whole_domains.cc).
  MilliGpu held = 0;             // on nodes that are wired to it
  ProductId product;             // of its first node with GPUs
  WholeKey whole;                // its key in WholeDomains
  bool left = false;             // DomainRules::keep_whole leaves it to gangs
  std::vector<JobId> computing;  // gangs there that use a ComputeDomain; ascending

  bool keeps() const { return kept > 0 || reserves_replacements; }
  // Calls fn(NodeIndex) for each node that is wired to it.
  template <class F>
  void each_wired(F&& fn) const {
    for (const NodeIndex m : members) fn(m);
    for (const NodeIndex s : strays) fn(s);
  }
};

// The groups of one level: all racks, or all blocks. A group is the nodes that name it and stand in
// the same group of the next level. So each group lies within one group of the next level, whatever
// labels say. A node that names no group at this level takes its group of the level below. At the
// lowest level that is its clique, or else the node alone.
struct TopologyLevel {
  // Cluster, parent, the level that the name is of, name.
  using Key = std::tuple<ClusterId, std::uint32_t, std::size_t, std::string>;
  std::vector<Owned<Group>> groups;  // [0] unused
  std::map<Key, std::uint32_t> by_name;
};

// The domains of one cluster and product.
struct WholeDomains {
  std::set<WholeKey> empty;
  std::vector<DomainIndex> left;  // the first ones, in this order
};

// One PodGroup of a shape, as the nodes offer its resources.
struct Pods {
  const PodShape* shape = nullptr;
  std::uint32_t first = 0, count = 0;  // ranks
  std::uint64_t hash = 0;              // of the shape
};

struct Shape {
  ClusterId cluster;
  std::shared_ptr<const GangRequest> asked;
  std::uint64_t hash = 0;  // of both
  std::uint64_t serial = 0;
  std::uint64_t uses = 0;
  std::vector<Pods> pods;
  std::vector<std::unique_ptr<PodShape>> offered;  // where that differs from the request
  MilliGpu least = 0;          // of the pods whose cost does not depend on the node
  bool cost_by_place = false;  // some pods cost by node: replicas and slices
  bool linked = false;         // asks for NVLink, not as a wish
  // It may not mix products, and some product has enough for all its GPUs.
  bool one_product = false;
  bool non_gpu = false;  // some pods are non-GPU pods
  // If linked: the whole GPUs and parts that the largest segment needs together. On a node with at
  // least as many, the gang needs no NVLink domain of several nodes.
  MilliGpu together = 0;

  const GangRequest& request() const { return *asked; }
};

// True if the gang needs more GPUs together than the node has, and so an NVLink domain of several
// nodes.
inline bool needs_several(const Shape& shape, const NodeState& node) {
  return shape.together > node.spec.gpus * kMilliPerGpu;
}

// Node back-off: the nodes that rejected these pods.
struct BackedOff {
  PodShape pod;
  std::vector<NodeIndex> nodes;  // ascending
};

struct Fleet::Impl {
  std::vector<Owned<NodeState>> nodes;  // by NodeId::value
  std::vector<Owned<Group>> domains;    // [0] unused
  std::map<std::pair<ClusterId, std::string>, std::uint32_t> cliques_by_name;
  std::array<TopologyLevel, limits::kTopologyLevels>
      levels;                          // the first `depth`, the nearest first
  std::size_t depth = 1;               // the most levels that any node names
  std::size_t named = 0;               // nodes that name some group
  std::vector<std::uint32_t> rack_of;  // by node: its group at the nearest level
  DomainRules rules;
  std::map<std::pair<ClusterId, ProductId>, WholeDomains> whole;  // empty without rules.keep_whole
  std::int64_t split_nodes = 0;  // nodes with several inner NVLink domains
  std::size_t keeping = 0;       // groups that exclusive holds reserve, or that have spare nodes
  GpuStates states;              // of present nodes

  std::vector<std::string> products;  // by ProductId::value; [0] = any
  std::map<std::string, ProductId, std::less<>> products_by_name;
  std::vector<ProductTotals> totals;  // [0] unused
  std::map<std::pair<ClusterId, std::string>, std::uint32_t> totals_by_key;

  // Figures for the least cost of a gang, which set_node() and intern_product() update.
  // `shared_ways`: how many present nodes of a base product share their GPUs how many ways.
  // `least_slices`: the cheapest slice of each profile over all products ever interned.
  using Ways = std::map<std::int64_t, std::int64_t>;
  std::map<std::pair<ClusterId, std::string>, Ways> shared_ways;
  std::map<std::string, MilliGpu, std::less<>> least_slices;

  std::vector<Owned<Shape>> shapes;                                // by ShapeId::value; [0] unused
  std::unordered_multimap<std::uint64_t, ShapeId> shapes_by_hash;  // looked up, never walked
  std::vector<ShapeId> unused_numbers;
  std::uint64_t last_serial = 0;
  // Numbers of dropped shapes, oldest first; entry i is position gone_base + i. Every search drops
  // its entries for them too.
  std::vector<ShapeId> gone;
  std::uint64_t gone_base = 1;

  std::unordered_map<std::uint64_t, std::vector<BackedOff>> backoffs;  // by hash; never walked

  // Nodes whose room or description changed, oldest first; entry i is position log_base + i. Every
  // search catches up from its last position.
  std::vector<NodeIndex> log;
  std::uint64_t log_base = 1;
  std::uint64_t static_version = 1;
  std::uint64_t freed = 0;
  std::uint64_t freed_for_non_gpu = 0;  // room for non-GPU pods alone, as GPUs were taken
  GpuHeadroom headroom;                 // reserved from non-GPU pods, for each free GPU
  std::uint64_t totals_version = 1;
  // nodes.cc
  NodeState& at(NodeId id) { return *nodes[id.value]; }
  const NodeState& at(NodeId id) const { return *nodes[id.value]; }
  NodeState* find(NodeId id);  // nullptr if never seen
  const NodeState* find(NodeId id) const;
  NodeState& ensure(NodeId id);
  void accrue(NodeState& node, TimeMs now);
  // Recomputes what is left on the node after any change of it, and writes it to the log.
  void refresh(NodeId id);
  void changed(NodeIndex node);
  void changed_statically(NodeIndex node);
  std::uint64_t log_end() const { return log_base + log.size(); }
  // nodes.cc: after a change of a node that is or was wired to the domain, updates all that depends
  // on its nodes.
  void nodes_changed(DomainIndex domain);
  void move_to_groups(NodeId id, bool present);
  void move_to_levels(NodeIndex node, bool present);
  void deepen(std::size_t levels);
  // replacement_nodes.cc: chooses again which nodes of the clique are reserved for replacements.
  void choose_replacements(DomainIndex domain);
  // whole_domains.cc. survey() computes the domain's figures again from its nodes. note_held()
  // follows a change of the holds on a node. leave_to_gangs() chooses the domains that are left to
  // gangs.
  void survey(DomainIndex domain);
  void note_held(const NodeState& node, MilliGpu change);
  void leave_to_gangs(WholeDomains& domains);
  // compute_domains.cc: after a change of the holds of gangs with a ComputeDomain on the node.
  void note_computing(const NodeState& node);
  void note_shared(const NodeState& node, std::int64_t sign);

  // shapes.cc
  const Shape& shape(ShapeId id) const { return *shapes[id.value]; }
  const Pods& pods_of(const Shape& shape, std::uint32_t rank) const;
  ShapeId new_number();
  ShapeId find_shape(std::uint64_t hash, ClusterId cluster, const GangRequest& request) const;
  void note_slices(std::string_view product);
  std::uint64_t gone_end() const { return gone_base + gone.size(); }

  // node_backoff.cc: returns the nodes that rejected these pods; nullptr: none.
  const std::vector<NodeIndex>* backed_off_nodes(const PodShape& pod, std::uint64_t hash) const;

  // ways/exclusive.cc: returns how far an nvlink-exclusive gang's domain reaches, seen from one of
  // its nodes.
  enum class Level : std::uint8_t { kInner, kNode, kClique };
  Level exclusive_level(const Shape& shape, std::uint32_t rank, const NodeState& node) const;
  // What a hold of an nvlink-exclusive gang reserves for the gang: GPUs of its node, or a whole
  // clique. It depends only on the node and its domain as they are now.
  struct Keep {
    GpuMask gpus = 0;
    DomainIndex domain = kNoArea;
  };
  Keep keep_of(const Hold& hold, const NodeState& node) const;
  // holds.cc: computes the exclusive reservations of the domain's holds again.
  void keep_anew(DomainIndex home);
  // hold_whole() counts one exclusive hold on the whole group more or less.
  // set_reserves_replacements() says whether gangs there reserve nodes for replacements.
  void hold_whole(DomainIndex domain, bool more);
  void set_reserves_replacements(DomainIndex domain, bool reserves_replacements);
};

// Hashes every field; shapes.cc.
std::uint64_t hash_of(const PodShape& pod);
// Returns the milli-GPU levels of a node; books.cc.
NodeLevels levels_of(const NodeState& node, MilliGpu unhealthy_free);
// Replaces `span` of one level by another, in integrals that already contain the first.
void correct(NodeBooks& books, const NodeLevels& was, const NodeLevels& is, DurationMs span);

// What non-GPU pods take of a node: pods with a hold and pods without.
struct NodeNonGpuUse {
  std::int64_t pods = 0, cpu_milli = 0, memory_bytes = 0;
};
// `load` belongs to the fleet, or to a snapshot of it. O(holds); non_gpu_use.cc.
NodeNonGpuUse node_non_gpu_use(const Fleet::Impl& fleet, const Load& load);

}  // namespace subak
