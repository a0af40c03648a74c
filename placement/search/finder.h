// One search for a placement. It fills copies of rooms with the gang's own pods as it goes, so that
// earlier pods count for later ones. It undoes a trial that fails. Private to placement.
//
// The search is greedy. It is exact for one pod and for gangs of one shape, as each such pod uses
// the same amount of its node, on whichever GPUs. It is a heuristic for pods of several replicas of
// shared GPUs, and may miss a placement for them. In a gang of several shapes, the pods that do not
// fit beside the others are tried before them. If that fails, all pods are tried one by one, within
// limits::kPlaceTries.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/limits.h"
#include "placement/fleet/scene.h"
#include "placement/search/search_impl.h"

namespace subak {

// `count` ranks from `rank` on, all of the same Pods.
struct Run {
  const Pods* pods = nullptr;
  Index index;
  std::uint32_t rank = 0, count = 0;
};
using Runs = std::vector<Run>;

// Where to search: some nodes, or (nullptr) the whole cluster.
using Area = const std::vector<NodeIndex>*;

// Nodes that serve a run equally well, except for their ids: alike nodes of the live fleet, or one
// node that differs from it. The least key is the best.
struct Equals {
  std::array<std::int64_t, 2> key{};
  std::int64_t pods = 0;                       // fit by GPUs alone, if the caller asks
  const BlockSet<NodeIndex>* alike = nullptr;  // nullptr: a single node
  NodeIndex one = 0;
};

// Iterates over the nodes of all Equals, by key, then by id.
class BestFirst {
 public:
  explicit BestFirst(std::vector<Equals> of);
  // Returns false at the end.
  bool next();
  NodeIndex node() const { return node_; }
  const Equals& of() const { return *of_; }

 private:
  struct Cursor {
    const Equals* of;
    BlockSet<NodeIndex>::const_iterator at;
    NodeIndex node() const { return of->alike == nullptr ? of->one : *at; }
  };
  void open_next_group();

  std::vector<Equals> sources_;
  std::size_t unopened_ = 0;   // the first so many are a heap, the rest is open
  std::vector<Cursor> group_;  // of equal keys
  NodeIndex node_ = 0;
  const Equals* of_ = nullptr;
};

class Finder {
 public:
  Finder(Search::Impl& memory, const Shape& shape, const Sought& sought, const Scene& scene,
         JobId owner, Ignore ignore = {}, std::span<const ProductId> without = {});
  ~Finder();
  Finder(const Finder&) = delete;
  Finder& operator=(const Finder&) = delete;

  // Tries to place the complete gang; true fills slots(). One attempt per Finder.
  bool attempt(Topology topology, std::uint32_t segment);
  std::vector<PodSlot>& slots() { return slots_; }
  // True if some node was skipped because it is reserved for another owner.
  bool saw_reserved() const { return saw_reserved_; }

  // True if a gang of one segment would find GPUs on or around this node.
  bool could_start_at(NodeIndex node, Topology topology);

 private:
  struct Placed {
    const Pods* pods = nullptr;
    std::uint32_t rank = 0;
  };
  struct Exclusive {  // an unused domain that an exclusive gang could have
    FitKey key{};
    NodeIndex node = 0;
    GpuMask mask = 0;  // 0: the node's whole clique
  };

  // finder.cc: rooms, eligibility, keys, placing and undoing.
  const NodeState& node(NodeIndex i) const { return *fleet_.nodes[i]; }
  const std::vector<NodeIndex>& members(DomainIndex d) const { return fleet_.domains[d]->members; }
  const Room& room(NodeIndex i) const;
  Room& filled(NodeIndex i);
  bool eligible(const Index& x, NodeIndex i);
  bool within_bounds(const Index& x, NodeIndex i) const;
  // True if the node is in an NVLink domain that is left to other gangs.
  bool left_to_others(NodeIndex i) const {
    return leaves_some_ && scene_.in_reserved_domain(i) && !needs_several(shape_, node(i));
  }
  // True if the gang uses a ComputeDomain and others have one there.
  bool computed_by_others(NodeIndex i);
  bool allows(ProductId product) const;
  bool fragment(const Index& x, NodeIndex i) const;
  std::int64_t weight(const Index& x, NodeIndex i) const;
  std::int64_t weight_inside(const Index& x, NodeIndex i, GpuMask gpus) const {
    return weight_in(x, room(i), gpus);
  }
  static std::int64_t weight_in(const Index& x, const Room& room, GpuMask gpus);
  FitKey domain_key(const Index& x, DomainIndex d) const;
  FitKey node_key(const Run& run, NodeIndex i) const;
  bool indexed(const Run& run, Area area) const;
  std::int64_t cap(const Run& run, NodeIndex i, GpuMask allowed, std::int64_t limit);
  bool fits_all(const Runs& runs, NodeIndex i, GpuMask allowed);
  bool place(const Run& run, NodeIndex i, GpuMask allowed);
  bool place_all(const Runs& runs, NodeIndex i, GpuMask allowed);
  void undo_to(std::size_t mark);
  bool all_leave_headroom() const;
  bool enough(const Runs& runs) const;
  // Places each of the runs by place_one(run), or none. If a run does not fit beside earlier ones,
  // it moves before them. Exact if the nodes that some runs may use are a subset of those of the
  // others.
  template <class F>
  bool each_of(const Runs& runs, F&& place_one) {
    constexpr int kOrders = 4;  // the orders tried in all
    const std::size_t mark = placed_.size();
    Runs order = runs;
    for (int i = 0; i < kOrders; ++i) {
      const auto stuck = std::find_if_not(order.begin(), order.end(), place_one);
      if (stuck == order.end()) return true;
      undo_to(mark);
      if (stuck == order.begin()) return false;
      std::rotate(order.begin(), stuck, stuck + 1);
    }
    return false;
  }
  // Calls fn(node) over the area, or the whole cluster, until it returns true.
  template <class F>
  void each_node(Area area, F&& fn) {
    if (area != nullptr) {
      for (const NodeIndex i : *area) {
        if (fn(i)) return;
      }
      return;
    }
    for (NodeIndex i = 0; i < fleet_.nodes.size(); ++i) {
      if (fleet_.nodes[i] && fn(i)) return;
    }
  }

  // finder_areas.cc: one function per topology.
  bool greedily(Topology topology, std::uint32_t segment, const Runs& all);
  bool gang(Topology topology, std::uint32_t segment, const Runs& all);
  bool gang_of_one_product(Topology topology, std::uint32_t segment, const Runs& all);
  bool of_one_product() const;
  std::vector<ProductId> products(const Runs& runs);
  bool segment(Topology topology, const Runs& runs);
  bool together(Topology topology, const Runs& runs);
  bool anywhere(const Runs& runs);
  bool on_fragments(const Runs& runs);
  bool on_one_node(const Runs& runs, Area area);
  bool on_one_joined_node(const Runs& runs);
  CpuAsk cpu_ask(const Runs& runs) const;
  bool on_one_node_indexed(const Runs& runs, std::int64_t units);
  bool in_inner_domain(const Runs& runs);
  bool in_clique(const Runs& runs);
  bool exclusively(const Runs& runs);
  bool unused(NodeIndex i, GpuMask gpus) const;
  bool promised_to_other(NodeIndex i) const;
  void exclusive_candidates(const Run& run, NodeIndex i, std::vector<Exclusive>& out) const;
  bool inside(Area area, const Runs& runs);

  // finder_alike.cc: alike nodes are judged once, by the state of their GPUs. Only in the live
  // fleet, and not for the nodes of an overlay or those that the gang has touched.
  bool by_state() const { return by_state_; }
  bool differs(NodeIndex i, std::size_t touched) const {
    return trial_.among_first(i, touched) ||
           (scene_.overlay != nullptr && scene_.overlay->find(i) != nullptr);
  }
  bool within_bounds(const Index& x, const GpuState& s) const;
  // Calls rank(spec, room, weight, offer) for each state within the bounds, and for each node that
  // differs. rank calls offer(key, pods) if the node would do.
  template <class Rank>
  std::vector<Equals> equals(const Index& x, Rank&& rank);
  // Calls fn(node, key) over the result of equals(), the best first, until it returns true.
  template <class Rank, class F>
  bool visit_alike(const Index& x, Rank&& rank, F&& fn);
  bool on_one_node_alike(const Runs& runs);
  bool in_inner_domain_alike(const Runs& runs);
  std::map<ProductId, std::int64_t> product_weights(const Run& run);
  bool taken_alike(const Index& x, NodeIndex i) const;

  // finder_spread_alike.cc: the result of spread(), by states. nullopt: states alone cannot decide
  // it.
  struct NodeClass {  // nodes with holds, or nodes without
    bool broken = false;
    std::int64_t pods = 0;     // at most
    std::vector<Equals> lone;  // domains of one node; key: most pods, least weight
    // Several nodes; begin: their domain, end: most pods on one node.
    std::vector<CapDomain> joined;
  };
  std::optional<bool> spread_alike(const Run& run);
  std::array<NodeClass, 2> classes(const Run& run);
  void add_joined_nodes(const Run& run, const std::vector<std::int64_t>& caps,
                        std::array<NodeClass, 2>& classes);
  std::optional<bool> spread_mixed(const Run& run, std::array<NodeClass, 2>& classes);
  bool fill_class(Run left, NodeClass& node_class, const Run& run);
  bool finish_class(Run& left, const NodeClass& node_class, const Run& run, std::size_t touched);
  bool take_single_node(Run& left, const Run& run, NodeIndex i, std::int64_t pods);
  bool take_joined(Run& left, const Run& run, const CapDomain& domain, bool broken);

  // finder_spread.cc: one run over as few domains and nodes as possible.
  bool spread(const Run& run, Area area);
  bool spread_drained(const Run& run);
  bool spread_apart(const Run& run);
  static std::uint32_t pods_on_wholes(std::uint32_t pods, const std::vector<Cap>& fragments,
                                      const std::vector<Cap>& wholes);
  bool spread_caps(const Run& run, std::vector<Cap>& caps);
  bool hold_true(const Run& run, const std::vector<Cap>& caps, const CapDomain& domain);
  bool fill_domain(Run& left, std::vector<Cap>& caps, const CapDomain& domain);
  bool sort_ranks(const Run& run);  // always true

  // finder_levels.cc: racks, blocks and the levels above.
  struct Tally {  // of a group, for one run
    std::uint32_t parent = kNoArea, group = kNoArea;
    std::int64_t pods = 0;  // that fit there
    std::int64_t weight = 0;
    NodeIndex low = 0;
    std::array<std::int64_t, 4> key() const { return {parent, -pods, weight, low}; }
  };
  using Tallies = std::vector<Tally>;
  Tallies racks(const Run& run, bool exactly);
  Tallies groups_above(const Tallies& below, std::size_t level) const;
  bool in_group(std::size_t level, const Runs& runs);
  bool compactly(const Runs& runs);
  bool over_few_groups(const Run& run, bool exactly);
  bool fill_groups(const std::vector<Tallies>& levels, std::size_t level, std::uint32_t parent,
                   Run run);
  bool fills_nodes(const Runs& runs) const;
  std::array<NodeIndex, limits::kTopologyLevels + 2> where(NodeIndex i) const;
  void sort_segments(std::uint32_t size);

  // finder_balanced.cc: even parts.
  bool balanced(Topology topology, std::uint32_t segment, const Runs& all);
  std::uint32_t most_in_one(Topology topology, std::uint32_t unit, std::uint32_t units);
  std::uint32_t part_end(std::uint32_t first, std::uint32_t segment) const;
  void take_domain(std::uint32_t first, std::uint32_t last);
  bool taken(NodeIndex i, GpuMask gpus) const;

  // finder_spare.cc: whole nodes that stay free for replacements.
  struct Reserve {
    std::vector<NodeIndex> whole;  // could serve one of its pods; ascending
    std::vector<NodeIndex> spent;  // could if they worked
  };
  const Reserve& reserve_of(DomainIndex d);
  bool leaves_spare(NodeIndex i);

  // finder_thorough.cc: gangs of several shapes for which the greedy search fails.
  struct Place;
  struct Option;
  struct Thorough;
  bool thoroughly(Topology topology, std::uint32_t segment_size, const Runs& all);
  bool put_rest(Thorough& t, std::size_t next, ProductId product);
  void add_options(const Run& run, NodeIndex i, Topology topology, std::vector<Option>& out) const;

  Runs runs(std::uint32_t first, std::uint32_t last) const;
  const Filter& filter(std::size_t pods) const;
  Index index(std::size_t pods) const;

  const Fleet::Impl& fleet_;
  const Shape& shape_;
  const Sought& sought_;
  const Scene scene_;
  Trial& trial_;
  Spread& spread_;
  // Which of the matching nodes the current step may use for GPUs.
  struct Bounds {
    bool linked = false;                 // products that NVLink joins
    bool unsplit = false;                // nodes that are one domain
    bool fragments = false;              // nodes with holds
    ProductId product;                   // this one; none: any
    std::span<const ProductId> without;  // none of these
    bool any() const { return linked || unsplit || fragments || product || !without.empty(); }
  };
  Bounds bounds_;
  // One for each counting filter if the scene differs from it; built once, never moved.
  std::vector<std::pair<const Filter*, Patch>> patches_;
  JobId owner_;
  Ignore ignore_;
  bool by_state_;                       // nodes that are alike may be judged once
  bool leaves_some_;                    // some NVLink domain may be left to other gangs
  bool uses_compute_domain_;            // it uses a ComputeDomain
  std::map<NodeIndex, bool> computed_;  // used by others; of nodes queried so far
  bool caps_are_bounds_ = false;        // spread_drained() is at work
  bool saw_reserved_ = false;
  bool compact_ = false;      // a wish failed: close together all the same
  bool one_product_ = false;  // all GPUs of the gang must be of one product
  // Of a balanced gang: the number of parts of this try, and what earlier parts use alone. That is
  // their domain, or the GPUs of one domain of a split node.
  std::uint32_t parts_ = 0;
  std::map<DomainIndex, GpuMask> taken_;
  // The number of whole nodes of a clique that must stay free. With `spent_counts_`, broken nodes
  // count too: other nodes replaced them, or will.
  std::uint32_t spare_ = 0;
  bool spent_counts_ = false;
  std::map<DomainIndex, Reserve> reserves_;  // cached
  std::vector<PodSlot> slots_;
  std::vector<Placed> placed_;
};

}  // namespace subak
