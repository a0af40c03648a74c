// What one attempt looks for, and in which snapshot: constant while it runs. So it depends on the
// query alone which nodes match, and how good a node is. Private to placement.
// Threads: as the Search that asks.
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

// How the caller wants the gang to be placed, beside what its shape says.
struct Terms {
  // The topology to keep, which may differ from the request's if that is only a wish.
  Topology topology = Topology::kAny;
  // Pods of a segment. 0: the gang is one segment.
  std::uint32_t segment = 0;
  // The job that may use the nodes which are reserved for it.
  JobId owner = {};
  // Constraints that do not count.
  Ignore ignore = {};
  // GPU products that it must not use.
  std::span<const ProductId> without = {};
};

// Best fit as a number sequence: the least is the best. Ends in a node or domain index.
using FitKey = std::array<std::int64_t, 5>;

// Everything that the steps of an attempt read and none of them changes. What they do change is
// Trial; what they narrow from step to step is Bounds.
class Query {
 public:
  // `filters`: one for each of the shape's Pods, up to date. With nothing held, it brings their
  // drained filters up to date too. All arguments outlive the query. `by_state`: nodes that are
  // alike may be judged once.
  Query(const Shape& shape, const std::vector<Filter*>& filters, const Scene& scene,
        const Terms& terms, bool by_state);
  Query(const Query&) = delete;  // runs refer to its patches
  Query& operator=(const Query&) = delete;

  // The gang, the fleet, and the snapshot of it that the search reads.
  const Fleet::Impl& fleet;
  const Shape& shape;
  const Scene scene;
  // As in Terms. The topology is that of each segment: kNvlink if the caller leaves it open.
  const JobId owner;
  const Ignore ignore;
  const Topology topology;
  const std::uint32_t segment;
  const std::span<const ProductId> without;
  // True if the gang's wish for a topology failed. It stays close together all the same.
  const bool compact;
  // True if nodes that are alike may be judged once: the states of the live fleet describe them.
  const bool by_state;
  // True if some NVLink domain may be left to other gangs.
  const bool leaves_some;
  // True if the gang has a ComputeDomain, and others may have one elsewhere.
  const bool uses_compute_domain;

  // How many pods the gang has. Their ranks are 0 to pods() - 1.
  std::uint32_t pods() const { return shape.request().pods(); }
  // How many segments it has, each of one pod if it names no size. The last one is smaller if the
  // size does not divide the gang: pods may say so, and no input may stop the search.
  std::uint32_t segments() const {
    const std::uint32_t size = std::max(segment, 1u);
    return pods() / size + (pods() % size == 0 ? 0 : 1);
  }
  // A node that the fleet has seen.
  const NodeState& node(NodeIndex i) const { return *fleet.nodes[i]; }
  // The nodes of an NVLink domain, ascending.
  const std::vector<NodeIndex>& members(DomainIndex d) const { return fleet.domains[d]->members; }

  // Returns the ranks of [first, last), by their pods, in the order of placing. If resources are
  // reserved beside free GPUs, non-GPU pods come last: what the gang's own GPUs leave counts.
  Runs runs(std::uint32_t first, std::uint32_t last) const;
  // Returns the nodes for the shape's k-th Pods, as the snapshot has them. Valid as long as the
  // query.
  Index index(std::size_t k) const;
  // True if the index has the nodes of the area in best-fit order.
  bool indexed(const Run& run, Area area) const {
    return area == nullptr && !scene.is_empty() && run.index.counts();
  }

  // True if the bounds let these pods use the node, or a node in this state. Topology and products
  // are about GPUs: pods without GPU go anywhere.
  bool within(const Bounds& bounds, const Index& x, NodeIndex i) const {
    const NodeState& n = node(i);
    if (!x.of_gpus()) return true;
    if (bounds.linked && !n.linked) return false;
    if (bounds.unsplit && n.split) return false;
    return bounds.allows(n.product) && (!bounds.fragments || fragment(x, i));
  }
  bool within(const Bounds& bounds, const Index& x, const GpuState& s) const {
    if (!x.of_gpus() || !bounds.any()) return true;
    if ((bounds.linked && !s.linked) || (bounds.unsplit && s.split)) return false;
    return bounds.allows(s.product) && (!bounds.fragments || x.fragment(s));
  }
  // True if something on the node is held, of what these pods take.
  bool fragment(const Index& x, NodeIndex i) const {
    return x.counts() ? x.fragment(i) : scene.load(i).allocated > 0;
  }
  // True if the node is in an NVLink domain that is left to other gangs: those that need several of
  // its nodes (DomainRules::keep_whole).
  bool left_to_others(NodeIndex i) const {
    return leaves_some && scene.in_reserved_domain(i) && !needs_several(shape, node(i));
  }

  // Returns the amount that best fit minimises: free amounts before the gang came, or the amounts
  // held now that a job would wait for. In GPUs or slices if the index counts, else in milli-GPU.
  std::int64_t weight(const Index& x, NodeIndex i) const;
  // Returns the best-fit key of a domain: the weight of its nodes, its lowest node, itself. O(1) if
  // the index knows it, else O(nodes of the domain).
  FitKey domain_key(const Index& x, DomainIndex d) const;

  // Sort key that makes nodes of a block neighbours, within it those of a rack, within it those of
  // a domain.
  using Where = std::array<NodeIndex, limits::kTopologyLevels + 2>;
  Where where(NodeIndex i) const;

  // Calls fn(node) over the area, or the whole cluster, until it returns true.
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
  // The filter of the shape's k-th Pods; in a snapshot without holds, their drained one.
  const Filter& filter(std::size_t k) const;

  const std::vector<Filter*>& filters_;
  // One for each counting filter if the scene differs from it; built once, never moved.
  std::vector<std::pair<const Filter*, Patch>> patches_;
};

}  // namespace subak
