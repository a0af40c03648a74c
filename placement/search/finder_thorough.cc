// Places gangs of several shapes pod by pod: one pod may leave no room for the next, although
// another node would. It tries at most kPlaceTries nodes, so it is exact for small gangs and few
// nodes, and ends in a large fleet.
#include <algorithm>
#include <vector>

#include "core/limits.h"
#include "placement/search/finder.h"

namespace subak {

// The common area of the pods of one segment: the node, the rack, the domain, or the half of a
// node.
struct Finder::Place {
  std::uint32_t group = kNoArea;
  std::int64_t half = -1;
  bool operator==(const Place&) const = default;
};

// A candidate for the next pod.
struct Finder::Option {
  GpuMask gpus = kAllGpus;
  Place place;
};

struct Finder::Thorough {
  const Runs& all;
  Topology topology;
  std::uint32_t segment_size;
  std::vector<std::vector<NodeIndex>> nodes;  // of each run: nodes with one of its pods now
  std::size_t tries;                          // nodes that it may still look at
  std::vector<Run> pods = {};                 // one run per pod, in the order of the runs
  std::vector<std::size_t> run_of = {};       // of these
  std::vector<Place> places = {};             // of each segment's pods placed so far; none: any
};

// One of the GPUs that are equally good for the pod is enough.
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

// Places the pod `next` and all after it. `product`: of the pods before it; none: any.
bool Finder::put_rest(Thorough& t, std::size_t next, ProductId product) {
  if (next == t.pods.size()) return true;
  const Run& one = t.pods[next];
  const bool gpu = one.pods->shape->kind != GpuKind::kNone;
  Place& place = t.places[t.segment_size > 0 ? one.rank / t.segment_size : 0];
  const Place before = place;
  const std::size_t mark = placed_.size();
  std::vector<Option> options;
  for (const NodeIndex i : t.nodes[t.run_of[next]]) {
    if (t.tries == 0) return false;
    --t.tries;
    if (gpu && one_product_ && product && node(i).product != product) continue;
    options.clear();
    add_options(one, i, t.topology, options);
    for (const Option& option : options) {
      const bool apart = before.group != kNoArea && option.place.group != kNoArea;
      if (apart && option.place != before) continue;
      place = option.place.group == kNoArea ? before : option.place;
      const bool ok = this->place(one, i, option.gpus) &&
                      put_rest(t, next + 1, gpu ? node(i).product : product);
      if (ok) return true;
      place = before;
      undo_to(mark);
    }
  }
  return false;
}

bool Finder::thoroughly(Topology topology, std::uint32_t segment_size, const Runs& all) {
  if (all.size() < 2 || topology == Topology::kNvlinkExclusive) return false;
  Thorough t{all, topology, segment_size, std::vector<std::vector<NodeIndex>>(all.size()),
             limits::kPlaceTries};
  const Ignore ignore = ignore_;
  ignore_.headroom = true;  // less is reserved once the gang's own GPUs are taken
  for (std::size_t k = 0; k < all.size(); ++k) {
    each_node(nullptr, [&](NodeIndex i) {
      if (cap(all[k], i, kAllGpus, 1) > 0) t.nodes[k].push_back(i);
      return t.nodes[k].size() >= t.tries;
    });
    if (t.nodes[k].empty()) break;
  }
  ignore_ = ignore;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (t.nodes[k].empty()) return false;
    for (std::uint32_t n = 0; n < all[k].count; ++n) {
      t.pods.push_back({all[k].pods, all[k].index, all[k].rank + n, 1});
      t.run_of.push_back(k);
    }
  }
  t.places.resize(segment_size > 0 ? (t.pods.size() + segment_size - 1) / segment_size : 1);
  return put_rest(t, 0, ProductId());
}

}  // namespace subak
