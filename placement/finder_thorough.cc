// Gangs of several shapes, pod by pod: where one goes may leave no room for the next, though another
// place of it would. Within kPlaceTries, so exact for small gangs and few nodes, and an end to
// it where the fleet is large.
#include <algorithm>
#include <vector>

#include "core/limits.h"
#include "placement/finder.h"

namespace subak {

// What the pods of one segment have in common: the node, the rack, the domain, or the half of a node.
struct Finder::Place {
  std::uint32_t group = kNoArea;
  std::int64_t half = -1;
  bool operator==(const Place&) const = default;
};

// Where a pod may be put next.
struct Finder::Option {
  GpuMask gpus = kAllGpus;
  Place place;
};

struct Finder::Thorough {
  const Runs& all;
  Topology topology;
  std::uint32_t segment_size;
  std::vector<std::vector<NodeIndex>> nodes;  // of each run: that hold one of its pods now
  std::size_t tries;                          // nodes that may still be looked at
};

// Of the GPUs that are equally good for it one is enough.
void Finder::add_options(const Run& run, NodeIndex i, Topology topology,
                         std::vector<Option>& out) const {
  const NodeState& n = node(i);
  const PodShape& pod = *run.pods->shape;
  const bool part =
      pod.kind == GpuKind::kFraction || (pod.kind == GpuKind::kShared && pod.gpus == 1);
  const bool gpu = pod.kind != GpuKind::kNone;
  const bool halves = topology == Topology::kNvlink && gpu && n.split && pod.kind != GpuKind::kMig;
  Place place;
  if (topology == Topology::kNode) place.group = i;
  if (topology == Topology::kNvlink && gpu) place.group = n.domain;
  if (topology == Topology::kRack && gpu) place.group = n.groups[0];
  for (std::int64_t d = 0; d < (halves ? inner_domains(n.spec) : 1); ++d) {
    const GpuMask allowed = halves ? inner_domain_mask(n.spec, d) : kAllGpus;
    place.half = halves ? d : -1;
    if (!part) {
      out.push_back({allowed, place});
      continue;
    }
    const std::vector<std::int32_t>& free = room(i).gpu_free;
    for (std::size_t k = 0; k < free.size(); ++k) {
      const auto end = free.begin() + static_cast<std::ptrdiff_t>(k);
      const bool known = std::find(free.begin(), end, free[k]) != end;
      const GpuMask one = GpuMask{1} << k;
      if (free[k] > 0 && (allowed & one) != 0 && (halves || !known)) out.push_back({one, place});
    }
  }
}

// The pod of `rank` and all after it. `place`, `product`: of those before it in its segment, and in the
// gang; none: any.
bool Finder::put_rest(Thorough& t, std::uint32_t rank, Place place, ProductId product) {
  if (rank == slots_.size()) return true;
  std::size_t k = 0;
  while (rank >= t.all[k].rank + t.all[k].count) ++k;
  const Run one{t.all[k].pods, t.all[k].index, rank, 1};
  const bool gpu = one.pods->shape->kind != GpuKind::kNone;
  if (t.segment_size > 0 && rank % t.segment_size == 0) place = Place();
  const std::size_t mark = placed_.size();
  std::vector<Option> options;
  for (const NodeIndex i : t.nodes[k]) {
    if (t.tries == 0) return false;
    --t.tries;
    if (gpu && one_product_ && product && node(i).product != product) continue;
    options.clear();
    add_options(one, i, t.topology, options);
    for (const Option& option : options) {
      const bool apart = place.group != kNoArea && option.place.group != kNoArea;
      if (apart && option.place != place) continue;
      const Place next = option.place.group == kNoArea ? place : option.place;
      const bool ok = this->place(one, i, option.gpus) &&
                      put_rest(t, rank + 1, next, gpu ? node(i).product : product);
      if (ok) return true;
      undo_to(mark);
    }
  }
  return false;
}

bool Finder::thoroughly(Topology topology, std::uint32_t segment_size, const Runs& all) {
  if (all.size() < 2 || topology == Topology::kNvlinkExclusive) return false;
  Thorough t{all, topology, segment_size, std::vector<std::vector<NodeIndex>>(all.size()),
             limits::kPlaceTries};
  for (std::size_t k = 0; k < all.size(); ++k) {
    each_node(nullptr, [&](NodeIndex i) {
      if (cap(all[k], i, kAllGpus, 1) > 0) t.nodes[k].push_back(i);
      return t.nodes[k].size() >= t.tries;
    });
    if (t.nodes[k].empty()) return false;
  }
  return put_rest(t, 0, Place(), ProductId());
}

}  // namespace subak
