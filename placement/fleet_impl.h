// The fleet's state, shared by the .cc files that implement its verbs. Private to placement.
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
#include "placement/fleet.h"
#include "placement/gpu_state.h"
#include "placement/load.h"
#include "placement/room.h"

namespace subak {

struct NodeState {
  bool present = false;
  bool drained = false;
  ClusterId cluster;
  NodeSpec spec;
  ProductId product;
  DomainIndex domain = kNoArea;      // its clique, or a domain of its own
  DomainIndex former = kNoArea;      // the clique whose label it has lost
  DomainIndex own_domain = kNoArea;  // kept for when it is in no clique
  // What it stands in at each level of the fleet, the nearest first; and groups of its own, kept for
  // when it names none.
  std::array<std::uint32_t, limits::kTopologyLevels> groups{}, own_groups{};
  std::uint32_t totals = 0;

  Load load;
  MilliGpu stranded = 0;  // of the configuration

  Room room;             // left now
  Room works;            // if nothing were held: what works now
  Room empty;            // if nothing were held and everything healthy
  StateIndex state = 0;  // of its GPUs now; 0 while it is not there
  NodeLevels levels;
  NodeBooks books;
  TimeMs as_of = 0;
  bool dated = false;                 // as_of is set
  std::uint64_t static_position = 0;  // in the change log, of the last change of its description

  bool linked = true;  // NVLink may join its GPUs to others
  bool spare = false;  // kept for the replacements of a gang in its clique
  bool split = false;  // it has several domains inside, and no clique joins them

  // Where it belongs by its wires, whatever its label says now.
  DomainIndex home() const { return former == kNoArea ? domain : former; }
  bool open() const { return open_for(false); }
  // Cordoned nodes take pods that tolerate the cordon.
  bool open_for(bool tolerates_cordon) const {
    return present && spec.ready && spec.unfit.empty() && !drained &&
           (!spec.unschedulable || tolerates_cordon);
  }
};

// What pods that nobody holds for take stays.
inline Room left_if_nothing_held(const NodeState& n, const BesideGpu& beside) {
  Load load;
  load.others = n.load.others;
  return left_on(n.spec, n.empty, load, 0, beside, nullptr);
}

// An NVLink domain of several nodes: the first is the first to be left to gangs (DomainRules::keep_whole). Small
// gangs take those with low ids first.
struct WholeKey {
  std::int64_t working = 0;  // GPUs on its open nodes; 0: not on several, so it is none
  NodeIndex low = 0;         // its first node
  DomainIndex domain = 0;
  friend bool operator<(const WholeKey& a, const WholeKey& b) {
    return std::tuple(b.working, b.low) < std::tuple(a.working, a.low);
  }
};

// An NVLink domain of several nodes (a clique), or one node that is in none; also a rack or a block.
struct Group {
  ClusterId cluster;
  std::string name;                // clique, rack or block; empty: it is one node's own
  std::vector<NodeIndex> members;  // ascending
  std::vector<NodeIndex> strays;   // of a clique: nodes that have lost its label; ascending
  std::uint32_t kept = 0;          // exclusive holds on the whole group
  std::uint32_t parent = kNoArea;  // of a rack or block: the group of the next level that it is in
  bool sparing = false;            // some gang there keeps nodes for replacements
  // Of an NVLink domain (whole_domains.cc).
  MilliGpu held = 0;             // on nodes that are wired to it
  ProductId product;             // of its first node with GPUs
  WholeKey whole;                // by which it is known to WholeDomains
  bool left = false;             // DomainRules::keep_whole leaves it to gangs
  std::vector<JobId> computing;  // gangs there that use a ComputeDomain; ascending

  bool keeps() const { return kept > 0 || sparing; }
  // Calls fn(NodeIndex) for each node that is wired to it.
  template <class F>
  void each_wired(F&& fn) const {
    for (const NodeIndex m : members) fn(m);
    for (const NodeIndex s : strays) fn(s);
  }
};

// The groups of one level: all racks, or all blocks. A group is the nodes that name it and stand in the
// same group of the next level, so groups lie one in the other whatever labels say. A node that names
// none at this level is here what it is at the level below; at the lowest its clique, else by itself.
struct TopologyLevel {
  // Cluster, parent, the level that the name is of, name.
  using Key = std::tuple<ClusterId, std::uint32_t, std::size_t, std::string>;
  std::vector<Owned<Group>> groups;  // [0] unused
  std::map<Key, std::uint32_t> by_name;
};

// Those of one cluster and product.
struct WholeDomains {
  std::set<WholeKey> empty;
  std::vector<DomainIndex> left;  // the first of them, in this order
};

// One PodGroup of a shape, as the nodes offer what it asks for.
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
  std::vector<std::unique_ptr<PodShape>> offered;  // where that is not what the request says
  MilliGpu least = 0;          // of the pods whose cost does not depend on the node
  bool cost_by_place = false;  // there are others: replicas and slices
  bool linked = false;         // asks for NVLink, not as a wish
  bool one_product = false;    // it may not mix products, and some would do for all its GPUs
  bool light = false;          // some pods are without GPUs
  // If linked: whole GPUs and parts that the largest segment has together. On a node with no less it needs no
  // NVLink domain of several.
  MilliGpu together = 0;

  const GangRequest& request() const { return *asked; }
};

// It has more together than the node, so it needs an NVLink domain of several.
inline bool needs_several(const Shape& shape, const NodeState& node) {
  return shape.together > node.spec.gpus * kMilliPerGpu;
}

// Nodes that turned such pods away.
struct Bars {
  PodShape pod;
  std::vector<NodeIndex> nodes;  // ascending
};

struct Fleet::Impl {
  std::vector<Owned<NodeState>> nodes;  // by NodeId::value
  std::vector<Owned<Group>> domains;    // [0] unused
  std::map<std::pair<ClusterId, std::string>, std::uint32_t> cliques_by_name;
  std::array<TopologyLevel, limits::kTopologyLevels>
      levels;                          // the first `depth`, the nearest first
  std::size_t depth = 1;               // as many as any node names
  std::size_t named = 0;               // nodes that name what they stand in
  std::vector<std::uint32_t> rack_of;  // by node: its group at the nearest level
  DomainRules rules;
  std::map<std::pair<ClusterId, ProductId>, WholeDomains> whole;  // empty without rules.keep_whole
  std::int64_t split_nodes = 0;  // nodes with several inner NVLink domains
  std::size_t keeping = 0;       // groups that are kept by exclusive holds, or sparing
  GpuStates states;              // of the nodes that are there

  std::vector<std::string> products;  // by ProductId::value; [0] = any
  std::map<std::string, ProductId, std::less<>> products_by_name;
  std::vector<ProductTotals> totals;  // [0] unused
  std::map<std::pair<ClusterId, std::string>, std::uint32_t> totals_by_key;

  // What a gang costs at the least, kept up by set_node() and intern_product(). How many present
  // nodes of a base product share their GPUs how many ways; and the cheapest slice of each profile
  // over the products ever named.
  using Ways = std::map<std::int64_t, std::int64_t>;
  std::map<std::pair<ClusterId, std::string>, Ways> shared_ways;
  std::map<std::string, MilliGpu, std::less<>> least_slices;

  std::vector<Owned<Shape>> shapes;                                // by ShapeId::value; [0] unused
  std::unordered_multimap<std::uint64_t, ShapeId> shapes_by_hash;  // looked up, never walked
  std::vector<ShapeId> unused_numbers;
  std::uint64_t last_serial = 0;
  // Numbers of shapes that were forgotten, oldest first; entry i is position gone_base + i. Every
  // search forgets them too.
  std::vector<ShapeId> gone;
  std::uint64_t gone_base = 1;

  std::unordered_map<std::uint64_t, std::vector<Bars>> bars;  // by hash; looked up, never walked

  // Nodes whose room or description changed, oldest first; entry i is position log_base + i. Every
  // search catches up from where it was.
  std::vector<NodeIndex> log;
  std::uint64_t log_base = 1;
  std::uint64_t static_version = 1;
  std::uint64_t freed = 0;
  std::uint64_t freed_beside = 0;  // room for pods without GPUs alone, as GPUs were taken
  BesideGpu beside;                // kept from pods without GPUs, for each GPU that is free
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
  // nodes.cc: after a change of a node that is or was wired to the domain, all that follows from its nodes.
  void nodes_changed(DomainIndex domain);
  void move_to_groups(NodeId id, bool present);
  void move_to_levels(NodeIndex node, bool present);
  void deepen(std::size_t levels);
  // spares.cc: chooses anew which nodes of the clique are kept for replacements.
  void respare(DomainIndex domain);
  // whole_domains.cc: of the domain's nodes anew; after a change of what is held on one; and of what is left to gangs.
  void survey(DomainIndex domain);
  void note_held(const NodeState& node, MilliGpu change);
  void leave_to_gangs(WholeDomains& domains);
  // compute_domains.cc: after a change of what gangs with a ComputeDomain hold on the node.
  void note_computing(const NodeState& node);
  void note_shared(const NodeState& node, std::int64_t sign);

  // shapes.cc
  const Shape& shape(ShapeId id) const { return *shapes[id.value]; }
  const Pods& pods_of(const Shape& shape, std::uint32_t rank) const;
  ShapeId new_number();
  ShapeId find_shape(std::uint64_t hash, ClusterId cluster, const GangRequest& request) const;
  void note_slices(std::string_view product);
  std::uint64_t gone_end() const { return gone_base + gone.size(); }

  // bars.cc: the nodes that turned such pods away; nullptr: none.
  const std::vector<NodeIndex>* barred(const PodShape& pod, std::uint64_t hash) const;

  // finder_areas.cc: where an nvlink-exclusive gang's domain ends, seen from one of its nodes.
  enum class Level : std::uint8_t { kInner, kNode, kClique };
  Level exclusive_level(const Shape& shape, std::uint32_t rank, const NodeState& node) const;
  // What a hold of an nvlink-exclusive gang keeps for it: GPUs of its node, or a whole clique. It follows from the node
  // and its domain as they are now.
  struct Keep {
    GpuMask gpus = 0;
    DomainIndex domain = kNoArea;
  };
  Keep keep_of(const Hold& hold, const NodeState& node) const;
  // holds.cc: of what is held on the domain's nodes.
  void keep_anew(DomainIndex home);
  // One exclusive hold on the whole group more or less; it has gangs that keep nodes for replacements, or not.
  void hold_whole(DomainIndex domain, bool more);
  void set_sparing(DomainIndex domain, bool sparing);
};

// Over every field; shapes.cc.
std::uint64_t hash_of(const PodShape& pod);
// The milli-GPU levels of a node; books.cc.
NodeLevels levels_of(const NodeState& node, MilliGpu unhealthy_free);
// Replaces `span` of one level by another, in integrals that already hold it.
void correct(NodeBooks& books, const NodeLevels& was, const NodeLevels& is, DurationMs span);

// What pods without GPUs take of a node: those that somebody holds for, and those of nobody.
struct LightUse {
  std::int64_t pods = 0, cpu_milli = 0, memory_bytes = 0;
};
// `load` is one of the fleet, or of a picture of it. O(holds); light_work.cc.
LightUse light_use(const Fleet::Impl& fleet, const Load& load);

}  // namespace subak
