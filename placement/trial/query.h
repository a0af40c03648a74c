// The input of one search attempt (placement/trial/attempt.h): the gang, the caller's terms, and
// the snapshot of the fleet. The query does not change while the attempt runs. It decides which
// nodes the bounds of a step allow, and how good a node is.
// Threads: as the Search. Private to placement.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/limits.h"
#include "placement/fleet/scene.h"
#include "placement/trial/bounds.h"
#include "placement/trial/run.h"

namespace subak {

// The conditions of the caller, in addition to the gang's shape.
struct Terms {
  // The required topology. It may differ from the topology of the request if the request only
  // prefers its topology.
  Topology topology = Topology::kAny;
  // The number of pods of a segment. 0: the gang is one segment.
  std::uint32_t segment = 0;
  // The job of the gang. It may use the nodes that are reserved for it.
  JobId owner = {};
  // Constraints that do not count.
  Ignore ignore = {};
  // GPU products that the gang must not use.
  std::span<const ProductId> without = {};
};

// A best-fit key: the least is the best. The last number is the index of a node or domain.
using FitKey = std::array<std::int64_t, 5>;

// Everything that the steps of an attempt read and do not change. The steps change the Trial, and
// each step narrows the Bounds for the next.
class Query {
 public:
  // `filters` has one filter for each of the shape's Pods; these filters must be up to date. In a
  // snapshot without holds, the query itself brings their drained filters up to date. All arguments
  // must outlive the query. `by_state`: the attempt may judge nodes that are alike once.
  Query(const Shape& shape, const std::vector<Filter*>& filters, const Scene& scene,
        const Terms& terms, bool by_state);
  Query(const Query&) = delete;  // runs refer to the query's patches
  Query& operator=(const Query&) = delete;

  // The gang, the fleet, and the snapshot of the fleet that the search reads.
  const Fleet::Impl& fleet;
  const Shape& shape;
  const Scene scene;
  // The members of Terms with these names. If the gang has segments, `topology` applies to each
  // segment, and it is kNvlink if Terms::topology is kAny.
  const JobId owner;
  const Ignore ignore;
  const Topology topology;
  const std::uint32_t segment;
  const std::span<const ProductId> without;
  // True if no placement has the topology that the gang prefers. Then the attempt only places the
  // gang close together.
  const bool compact;
  // True if the attempt may judge only one of several nodes that are alike.
  const bool by_state;
  // True if the rule keep_whole may leave some NVLink domain to other gangs.
  const bool leaves_some;
  // True if the gang uses a ComputeDomain and must respect those of other gangs.
  const bool uses_compute_domain;

  // How many pods the gang has. Their ranks are 0 to pods() - 1.
  std::uint32_t pods() const { return shape.request().pods(); }
  // How many segments the gang has. If the segment size does not divide the number of pods, the
  // last segment is smaller.
  std::uint32_t segments() const {
    const std::uint32_t size = std::max(segment, 1u);
    return pods() / size + (pods() % size == 0 ? 0 : 1);
  }
  // The state of a node that the fleet has seen.
  const NodeState& node(NodeIndex i) const { return *fleet.nodes[i]; }
  // The nodes of an NVLink domain, ascending.
  const std::vector<NodeIndex>& members(DomainIndex d) const { return fleet.domains[d]->members; }

  // Returns the ranks of [first, last) as runs, in the order in which to place them. Non-GPU pods
  // come last if they must leave CPU and memory for free GPUs (Fleet::gpu_headroom()). By then the
  // gang's own GPU pods have taken their GPUs.
  Runs runs(std::uint32_t first, std::uint32_t last) const;
  // Returns the index of the nodes for the shape's k-th Pods in this snapshot. It is valid as long
  // as the query.
  Index index(std::size_t k) const;
  // True if the index knows the best-fit order of the area's nodes.
  bool indexed(const Run& run, Area area) const {
    return area == nullptr && !scene.is_empty() && run.index.counts();
  }

  // True if the bounds let these pods use the node, or a node in this state. Bounds on topology and
  // products are about GPUs, so pods without GPUs may go to any node.
  bool within(const Bounds& bounds, const Index& x, NodeIndex i) const {
    const NodeState& n = node(i);
    if (!x.of_gpus()) return true;
    if (bounds.linked && !n.linked) return false;
    if ((bounds.unsplit && n.split) || !bounds.allows_fabric(n.spec.fabric)) return false;
    return bounds.allows(n.product) && (!bounds.fragments || fragment(x, i));
  }
  bool within(const Bounds& bounds, const Index& x, const GpuState& s) const {
    if (!x.of_gpus() || !bounds.any()) return true;
    if ((bounds.linked && !s.linked) || (bounds.unsplit && s.split)) return false;
    if (!bounds.allows_fabric(s.spec.fabric)) return false;
    return bounds.allows(s.product) && (!bounds.fragments || x.fragment(s));
  }
  // True if the node is partly taken: held or used, counted in the GPUs or slices that these pods
  // could use if the index counts them.
  bool fragment(const Index& x, NodeIndex i) const {
    return x.counts() ? x.fragment(i) : scene.load(i).allocated > 0;
  }
  // True if DomainRules::keep_whole leaves the node's NVLink domain to gangs that need several
  // nodes of one domain, and this gang does not need several.
  bool left_to_others(NodeIndex i) const {
    return leaves_some && scene.in_reserved_domain(i) && !needs_several(shape, node(i));
  }

  // Returns the amount that best fit minimises: the amount that is free on the node before the gang
  // takes its part. In a snapshot without holds it is the amount that was held before, because the
  // gang must wait for it. The unit is GPUs or slices if the index counts free amounts, else
  // milli-GPU.
  std::int64_t weight(const Index& x, NodeIndex i) const;
  // Returns the best-fit key of a domain: the weight of its nodes, its lowest node, its index. O(1)
  // if the index knows the key, else O(nodes of the domain).
  FitKey domain_key(const Index& x, DomainIndex d) const;

  // A sort key by block, rack, NVLink domain and node. So nodes that are close together are next to
  // each other.
  using Where = std::array<NodeIndex, limits::kTopologyLevels + 2>;
  Where where(NodeIndex i) const;

  // Calls fn(node) for the nodes of the area, or of the whole cluster, until fn returns true.
  template <class F>
  void each_node(Area area, F&& fn) const {
    if (area != nullptr) {
      for (const NodeIndex i : *area) {
        if (fn(i)) return;
      }
      return;
    }
    for (NodeIndex i = 0; i < fleet.nodes.size(); ++i) {
      if (fleet.nodes[i] && fn(i)) return;
    }
  }

 private:
  // The filter of the shape's k-th Pods; in a snapshot without holds, their drained filter.
  const Filter& filter(std::size_t k) const;

  const std::vector<Filter*>& filters_;
  // One patch for each filter that counts free amounts and from which the scene differs. The list
  // is built once, and its patches never move.
  std::vector<std::pair<const Filter*, Patch>> patches_;
};

}  // namespace subak
