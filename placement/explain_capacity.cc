// The reasons that lie in what is free now: GPUs, GPUs together, and what must stand beside them.
#include <algorithm>
#include <string>

#include "core/text.h"
#include "placement/explainer.h"
#include "placement/mig.h"

namespace subak {

MilliGpu Explainer::free_for(const PodShape& pod, NodeIndex node) const {
  const NodeState& n = scene_.node(node);
  const Room& room = scene_.room(node);
  if (pod.kind == GpuKind::kMig) {
    const int i = mig_index(n.spec, pod.profile);
    const MilliGpu each = mig_slice_milligpu(n.spec.product, pod.profile).value_or(0);
    return i < 0 ? 0 : room.mig_free[static_cast<std::size_t>(i)] * each;
  }
  MilliGpu free = 0;
  const bool whole = pod.kind == GpuKind::kWhole;
  for (std::size_t i = 0; i < room.gpu_free.size(); ++i) {
    if (!whole || (room.whole >> i & 1) != 0) free += room.gpu_free[i];
  }
  return free;
}

void Explainer::measure(Demand& d) const {
  MilliGpu each_pod = 0;
  each([&](NodeIndex i, const NodeState& n) {
    if (!matches(d, i)) return;
    const MilliGpu here = pod_milligpu(n.spec, *d.pods->shape);
    each_pod = each_pod == 0 ? here : std::min(each_pod, here);
    if (open(d, i) && !kept_for_other(i)) d.free += free_for(*d.pods->shape, i);
  });
  d.need = each_pod * d.pods->count;
}

// Milli-GPU are free in other slices, but not in slices of this profile.
void Explainer::wrong_slices(const Demand& d) {
  const PodShape& pod = *d.pods->shape;
  if (pod.kind != GpuKind::kMig || d.free >= d.need) return;
  std::int64_t slices = 0;
  MilliGpu other = 0;
  each([&](NodeIndex i, const NodeState& n) {
    const bool usable = n.open_for(d.filter->tolerates_cordon);
    const std::vector<std::int64_t>& free = scene_.room(i).mig_free;
    for (std::size_t m = 0; usable && m < n.spec.mig.size(); ++m) {
      const std::string& profile = n.spec.mig[m].profile;
      if (profile == pod.profile && open(d, i)) slices += free[m];
      if (profile == pod.profile) continue;
      other += free[m] * mig_slice_milligpu(n.spec.product, profile).value_or(0);
    }
  });
  if (other + d.free < d.need) return;
  Reason& r = add(ReasonToken::kMigGeometry, kind_text(pod), d.pods->count * pod.gpus, slices,
                  "enough memory units are free, but not as slices of this profile");
  r.blockers = holders_;
}

void Explainer::capacity(const Demand& d) {
  if (d.pods->shape->kind == GpuKind::kNone || d.free >= d.need) return;
  Reason& r = add(ReasonToken::kWaitingForCapacity, kind_text(*d.pods->shape), d.need, d.free,
                  gpus_text(d.need) + " GPUs are needed, " + gpus_text(d.free) + " are free");
  r.blockers = holders_;
}

bool Explainer::enough_gpus() const {
  return std::all_of(demands_.begin(), demands_.end(), [](const Demand& d) {
    return d.pods->shape->kind == GpuKind::kNone || d.free >= d.need;
  });
}

bool Explainer::works(Ignore ignore) const {
  const GangRequest& r = shape_.request;
  const auto attempt = [&](Topology topology, std::uint32_t segment) {
    const Scene scene = scene_.unkept();
    Finder finder(memory_, shape_, sought_, scene, owner_, ignore);
    return finder.attempt(topology, segment);
  };
  return attempt(r.topology, r.segment) || (r.prefer && attempt(Topology::kAny, 0));
}

bool Explainer::works_anywhere() const {
  const Scene scene = scene_.unkept();
  Finder finder(memory_, shape_, sought_, scene, owner_, kOnlyGpus);
  return finder.attempt(Topology::kAny, 0);
}

std::uint32_t Explainer::place_of(NodeIndex i, const NodeState& n) const {
  switch (shape_.request.topology) {
    case Topology::kNvlink:
    case Topology::kNvlinkExclusive:
      return n.domain;
    case Topology::kRack:
      return n.rack;
    case Topology::kAny:
    case Topology::kNode:
      break;
  }
  return i;
}

void Explainer::together() {
  const Topology t = shape_.request.topology;
  const Demand& d =
      *std::max_element(demands_.begin(), demands_.end(),
                        [](const Demand& a, const Demand& b) { return a.need < b.need; });
  const MilliGpu most = most_together(
      [&](NodeIndex i, const NodeState&) { return open(d, i) ? free_for(*d.pods->shape, i) : 0; });
  const MilliGpu need = t == Topology::kAny ? d.need / d.pods->count : d.need;
  const bool apart = t != Topology::kAny && works_anywhere();
  Reason& r = add(ReasonToken::kTopologyPlacementFailed, std::string(enum_name(t)), need, most,
                  apart ? "enough GPUs are free, but not as close together as asked"
                        : "enough GPUs are free, but not enough on each node for a pod");
  r.blockers = holders_;
}

// Which resource binds once the GPUs are there: those that fail alone, else those whose absence
// would let the gang in.
void Explainer::node_resources() {
  if (!works(kOnlyGpus) || works({})) return;
  struct Resource {
    const char* name;
    bool Ignore::*flag;
  };
  static constexpr Resource kResources[] = {{"cpu", &Ignore::cpu},
                                            {"memory", &Ignore::memory},
                                            {"pods", &Ignore::pods},
                                            {"extended", &Ignore::extended},
                                            {"host-ports", &Ignore::ports}};
  const std::size_t before = reasons_.size();
  for (const Resource& resource : kResources) {
    Ignore only = kOnlyGpus;
    only.*resource.flag = false;
    if (!works(only)) lacking(resource.name);
  }
  for (const Resource& resource : kResources) {
    if (reasons_.size() != before) break;
    Ignore without;
    without.*resource.flag = true;
    if (works(without)) lacking(resource.name);
  }
  if (reasons_.size() == before) lacking("cpu, memory, pods, extended or host-ports");
}

void Explainer::lacking(const std::string& resource) {
  std::int64_t need = 0, have = 0;
  std::vector<std::string> names;
  for (const Demand& d : demands_) {
    const PodShape& s = *d.pods->shape;
    need = std::max(need, resource == "cpu"      ? s.cpu_milli
                          : resource == "memory" ? s.memory_bytes
                                                 : 1);
    each([&](NodeIndex i, const NodeState& n) {
      const Room& room = scene_.room(i);
      if (!open(d, i) || !fits(n.spec, room, s, kAllGpus, kOnlyGpus)) return;
      const std::int64_t here = resource == "cpu"      ? room.cpu_milli
                                : resource == "memory" ? room.memory_bytes
                                                       : 0;
      if (here != kUnlimited) have = std::max(have, here);
      if (!fits(n.spec, room, s, kAllGpus) && names.size() < kMaxBlockers) {
        names.push_back(n.spec.name);
      }
    });
  }
  Reason& r = add(ReasonToken::kNodeResources, resource, need, have,
                  "GPUs are free, but the nodes that have them lack " + resource);
  r.blockers = std::move(names);
}

}  // namespace subak
