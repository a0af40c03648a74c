// The reasons that follow from what is free now: GPUs, GPUs close together, and the other resources
// of pods.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "core/limits.h"
#include "core/must.h"
#include "core/text.h"
#include "model/mig.h"
#include "placement/explain/explainer.h"
#include "placement/fleet/fleet_impl.h"
#include "placement/gpus/eligibility.h"
#include "placement/ways/ways.h"

namespace subak {

MilliGpu Explainer::free_for(const PodShape& pod, NodeIndex node) const {
  const NodeState& n = scene_.node(node);
  const Room& room = scene_.room(node);
  if (pod.kind == GpuKind::kMig) {
    const int i = mig_index(n.spec, pod.profile);
    const MilliGpu each = mig_slice_milligpu(n.spec.product, pod.profile).value_or(0);
    return i < 0 ? 0 : room.mig_free[static_cast<std::size_t>(i)] * each;
  }
  if (pod.kind == GpuKind::kWhole) return std::popcount(room.whole) * kMilliPerGpu;
  return std::accumulate(room.gpu_free.begin(), room.gpu_free.end(), MilliGpu{0});
}

MilliGpu Explainer::free_together(const PodShape& pod, NodeIndex i) const {
  const NodeState& n = scene_.node(i);
  const bool half = wants_nvlink(shape_.request()) && n.split && pod.kind != GpuKind::kMig;
  if (!half) return free_for(pod, i);
  const Room& room = scene_.room(i);
  MilliGpu most = 0;
  for (std::int64_t d = 0; d < inner_domains(n.spec); ++d) {
    const GpuMask mask = inner_domain_mask(n.spec, d);
    MilliGpu free = 0;
    for (std::size_t gpu = 0; gpu < room.gpu_free.size(); ++gpu) {
      const bool counts = pod.kind != GpuKind::kWhole || (room.whole >> gpu & 1) != 0;
      if (counts && (mask >> gpu & 1) != 0) free += room.gpu_free[gpu];
    }
    most = std::max(most, free);
  }
  must(most <= n.spec.gpus * kMilliPerGpu, "no more is free in a domain than the node has");
  return most;
}

void Explainer::measure(Demand& d) const {
  struct Free {
    MilliGpu milli = 0;
    std::int64_t slices = 0;
  };
  std::map<ProductId, Free> by_product;
  const PodShape& pod = *d.pods->shape;
  const bool one_product = shape_.one_product && shape_.request().pods() > 1;
  // The cost of a pod depends on the node.
  const bool by_node = pod.kind == GpuKind::kMig || pod.kind == GpuKind::kShared;
  for (NodeIndex i = 0; i < d.filter->tainted.size(); ++i) {
    if (d.filter->tainted[i] && linked_enough(d, i)) d.tainted += free_for(pod, i);
  }
  each_matching(d, [&](NodeIndex i) {
    if (by_node || !d.least_per_pod) {
      const MilliGpu here = pod_milligpu(scene_.node(i).spec, pod);
      d.least_per_pod = std::min(here, d.least_per_pod.value_or(here));
    }
    if (scene_.node(i).spare) d.spare += scene_.node(i).levels.idle;
    if (nothing_free(d, i)) return;
    if (!open(d, i)) {
      d.closed += free_for(pod, i);
    } else if (kept_for_other(i)) {
      d.kept += free_for(pod, i);
    } else if (pod.kind != GpuKind::kNone && left_to_others(i)) {
      d.left += free_for(pod, i);
      if (free_for(pod, i) > 0) d.left_on.insert(scene_.node(i).home());
    } else if (pod.kind != GpuKind::kNone && computed_by_others(i)) {
      d.computed += free_for(pod, i);
      if (free_for(pod, i) > 0 && !d.computed_on) d.computed_on = i;
    } else {
      Free& free = by_product[one_product ? scene_.node(i).product : ProductId()];
      free.milli += free_for(pod, i);
      free.slices += free_slices(pod, i);
    }
  });
  must(d.left_on.empty() == (d.left == 0), "GPUs left to gangs are in a domain");
  must(d.computed_on.has_value() == (d.computed > 0), "GPUs beside a ComputeDomain are on a node");
  d.need = d.least_per_pod.value_or(0) * d.pods->count;
  must(d.need >= 0, "pods need no less than nothing");
  for (const auto& [product, free] : by_product) {
    d.free = std::max(d.free, free.milli);
    d.slices_free = std::max(d.slices_free, free.slices);
  }
}

std::int64_t Explainer::free_slices(const PodShape& pod, NodeIndex i) const {
  const int profile = pod.kind == GpuKind::kMig ? mig_index(scene_.node(i).spec, pod.profile) : -1;
  return profile < 0 ? 0 : scene_.room(i).mig_free[static_cast<std::size_t>(profile)];
}

std::string Explainer::left_text(const Demand& d) {
  const std::size_t domains = d.left_on.size();
  must(domains > 0, "GPUs left to gangs are in a domain");
  return "on " + std::to_string(domains) + " empty NVLink domain" + (domains == 1 ? "" : "s") +
         " that keepWhole leaves to gangs";
}

// Returns "; free and not for it: ..."; empty if there is none.
std::string Explainer::not_for_it(const Demand& d) const {
  std::string out;
  const auto add = [&](MilliGpu milli, const std::string& where) {
    if (milli == 0) return;
    out += (out.empty() ? "; free, but not for it: " : ", ") + gpus_text(milli) + ' ' + where;
  };
  add(d.tainted, "on nodes with taints that it does not tolerate");
  add(d.closed, "on nodes that are not ready, cordoned or drained, or rejected such a pod");
  add(d.spare, "on nodes that gangs keep for replacements");
  add(d.computed, "beside gangs with a ComputeDomain");
  if (d.left > 0) add(d.left, left_text(d));
  add(d.kept, "reserved for " + (keepers_.empty() ? "another job" : keepers_.front()));
  return out;
}

// Adds a reason if milli-GPU are free in other slices, but not in slices of this profile.
void Explainer::wrong_slices(const Demand& d) {
  const PodShape& pod = *d.pods->shape;
  if (pod.kind != GpuKind::kMig || d.free >= d.need) return;
  MilliGpu other = 0;
  each([&](NodeIndex i, const NodeState& n) {
    const bool usable = n.open_for(d.filter->tolerates_cordon) && !kept_for_other(i) &&
                        !left_to_others(i) && !computed_by_others(i) &&
                        eligibility::tolerates_all(pod.tolerations, n.spec.taints);
    const std::vector<std::int64_t>& free = scene_.room(i).mig_free;
    for (std::size_t m = 0; usable && m < n.spec.mig.size(); ++m) {
      const std::string& profile = n.spec.mig[m].profile;
      if (profile == pod.profile) continue;
      other += free[m] * mig_slice_milligpu(n.spec.product, profile).value_or(0);
    }
  });
  if (other + d.free < d.need) return;
  Reason& r =
      add(ReasonToken::kMigGeometry, kind_text(pod), d.pods->count * pod.gpus, d.slices_free,
          slices_text(pod, d.pods->count * pod.gpus) +
              " are needed; enough memory units are free, but in slices of other profiles");
  r.blockers = holders_;
}

void Explainer::capacity(const Demand& d) {
  const PodShape& pod = *d.pods->shape;
  if (pod.kind == GpuKind::kNone || d.free >= d.need) return;
  const bool slices = pod.kind == GpuKind::kMig;
  const std::int64_t need = slices ? d.pods->count * pod.gpus : d.need;
  const std::int64_t have = slices ? d.slices_free : d.free;
  const bool of_one = shape_.one_product && shape_.request().pods() > 1;
  const std::string what = slices ? slices_text(pod, need) : gpus_text(need) + " GPUs";
  const std::string on_one = slices && pod.gpus > 1
                                 ? "; a pod needs " + std::to_string(pod.gpus) +
                                       " on one node, and the largest node has " +
                                       std::to_string(largest_slices(d))
                                 : "";
  Reason& r = add(ReasonToken::kWaitingForCapacity, kind_text(pod), need, have,
                  what + (of_one ? " of one product" : "") + " are needed, " +
                      (slices ? std::to_string(have) : gpus_text(have)) + " are free for it" +
                      on_one + not_for_it(d));
  r.blockers = holders_;
}

bool Explainer::enough_gpus() const {
  return std::all_of(demands_.begin(), demands_.end(), [](const Demand& d) {
    return d.pods->shape->kind == GpuKind::kNone || d.free >= d.need;
  });
}

bool Explainer::works(Ignore ignore) const {
  return works_in(scene_.without_reservations(), ignore);
}

bool Explainer::works_in(const Scene& scene, Ignore ignore) const {
  const GangRequest& r = shape_.request();
  const auto place = [&](Topology topology, std::uint32_t segment) {
    GangAttempt attempt = memory_.attempt(
        shape_, sought_, scene,
        {.topology = topology, .segment = segment, .owner = owner_, .ignore = ignore});
    return place_gang(attempt);
  };
  return place(r.terms.topology, r.terms.segment) || (r.terms.prefer && place(Topology::kAny, 0));
}

bool Explainer::works_anywhere() const {
  const Scene scene = scene_.without_reservations();
  GangAttempt attempt =
      memory_.attempt(shape_, sought_, scene, {.owner = owner_, .ignore = kOnlyGpus});
  return place_gang(attempt);
}

std::uint32_t Explainer::place_of(NodeIndex i, const NodeState& n) const {
  switch (shape_.request().terms.topology) {
    case Topology::kNvlink:
    case Topology::kNvlinkExclusive:
      return n.domain;
    case Topology::kRack:
      return n.groups[0];
    case Topology::kAny:
    case Topology::kNode:
      break;
  }
  return i;
}

std::int64_t Explainer::largest_slices(const Demand& d) const {
  std::int64_t most = 0;
  each_matching(d, [&](NodeIndex i) {
    most = std::max(most, configured_slices(scene_.node(i).spec, *d.pods->shape));
  });
  return most;
}

void Explainer::slices_together(const Demand& d) {
  const PodShape& pod = *d.pods->shape;
  std::int64_t most = 0;
  each_matching(d, [&](NodeIndex i) {
    if (open(d, i) && !kept_for_other(i)) most = std::max(most, free_slices(pod, i));
  });
  Reason& r = add(ReasonToken::kTopologyPlacementFailed, kind_text(pod), pod.gpus, most,
                  "enough slices are free, but a pod needs " + slices_text(pod, pod.gpus) +
                      " on one node, where at most " + std::to_string(most) +
                      " are free; the largest node has " + std::to_string(largest_slices(d)));
  r.blockers = holders_;
}

bool Explainer::in_one_fabric() {
  Ignore any_fabric = kOnlyGpus;
  any_fabric.fabric = true;
  if (!shape_.one_fabric || !works(any_fabric)) return false;
  const Demand& d =
      *std::max_element(demands_.begin(), demands_.end(),
                        [](const Demand& a, const Demand& b) { return a.need < b.need; });
  std::map<std::string, MilliGpu> free;
  each_matching(d, [&](NodeIndex i) {
    if (!open(d, i) || nothing_free(d, i) || kept_for_other(i)) return;
    free[scene_.node(i).spec.fabric] += free_for(*d.pods->shape, i);
  });
  const auto most = std::max_element(
      free.begin(), free.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  must(most != free.end(), "a gang that fits on several fabrics has free GPUs on one");
  const std::string& name = most->first;
  Reason& r =
      add(ReasonToken::kTopologyPlacementFailed, "fabric", d.need, most->second,
          "the gang asks for RDMA, and enough GPUs are free, but on nodes of " +
              std::to_string(free.size()) + " RDMA fabrics; at most " + gpus_text(most->second) +
              " are free in one" + (name.empty() ? "" : ", " + name));
  r.blockers = holders_;
  return true;
}

void Explainer::together() {
  const Topology t = shape_.request().terms.topology;
  const Demand& d =
      *std::max_element(demands_.begin(), demands_.end(),
                        [](const Demand& a, const Demand& b) { return a.need < b.need; });
  const MilliGpu most = most_together([&](NodeIndex i) {
    const bool counts = matches(d, i) && open(d, i) && !nothing_free(d, i) && !kept_for_other(i) &&
                        !left_to_others(i) && !computed_by_others(i);
    return counts ? free_together(*d.pods->shape, i) : 0;
  });
  must(d.pods->count > 0, "each kind of pod of a gang has pods");
  const MilliGpu need = t == Topology::kAny ? d.need / d.pods->count : d.need;
  const bool apart = t != Topology::kAny && works_anywhere();
  const PodShape& pod = *d.pods->shape;
  if (!apart && pod.kind == GpuKind::kMig && pod.gpus > 1) return slices_together(d);
  const std::uint32_t spare = shape_.request().terms.spare;
  Reason& r = add(ReasonToken::kTopologyPlacementFailed, std::string(enum_name(t)), need, most,
                  apart ? "enough GPUs are free, but not as close together as asked" +
                              std::string(spare > 0 ? ", with " + std::to_string(spare) +
                                                          " whole nodes of the domain to spare"
                                                    : "")
                        : "enough GPUs are free, but not enough on each node for a pod");
  r.blockers = holders_;
}

namespace {

// Stands for all extended resources of a pod. lacking_extended() finds which of them are missing.
constexpr const char* kExtended = "extended";

bool has_anti_affinity(const GangRequest& request) {
  return std::any_of(request.groups.begin(), request.groups.end(), [](const PodGroup& group) {
    const auto& ports = group.shape.host_ports;
    return std::any_of(ports.begin(), ports.end(), [](const HostPort& port) {
      return port.protocol.starts_with(HostPort::kApart);
    });
  });
}

}  // namespace

// Adds a reason for each resource that alone prevents the start although enough GPUs are free. If
// there is none, adds a reason for the first resource without which the gang would fit.
void Explainer::node_resources() {
  if (!works(kOnlyGpus) || works({})) return;
  Ignore no_rules;
  no_rules.pod_rules = true;
  if (shape_.pod_rules && works(no_rules)) {
    const Demand& d = *std::find_if(demands_.begin(), demands_.end(), [](const Demand& some) {
      return has_pod_rules(*some.pods->shape);
    });
    Reason& r = add(ReasonToken::kTopologyPlacementFailed, "pods", d.need, d.free,
                    "enough GPUs are free, but " + rules_text(*d.pods->shape));
    r.blockers = holders_;
    return;
  }
  struct Resource {
    const char* name;
    bool Ignore::*flag;
  };
  const char* const ports = has_anti_affinity(shape_.request())
                                ? "nodes without pods of its anti-affinity"
                                : "host-ports";
  const Resource resources[] = {{kCpuResource, &Ignore::cpu},
                                {kMemoryResource, &Ignore::memory},
                                {"pods", &Ignore::pods},
                                {kExtended, &Ignore::extended},
                                {ports, &Ignore::ports}};
  const std::size_t before = reasons_.size();
  for (const Resource& resource : resources) {
    Ignore only = kOnlyGpus;
    only.headroom = false;
    only.*resource.flag = false;
    if (!works(only)) lacking(resource.name);
  }
  for (const Resource& resource : resources) {
    if (reasons_.size() != before) break;
    Ignore without;
    without.*resource.flag = true;
    if (works(without)) lacking(resource.name);
  }
  if (reasons_.size() == before) lacking("cpu, memory, pods, extended resources or host-ports");
}

namespace {

// The fields of one resource (CPU or memory) in the records that count it.
struct Column {
  std::int64_t PodShape::*pod;
  std::int64_t Room::*left;
  std::int64_t NodeSpec::*all;
  std::int64_t NodeNonGpuUse::*non_gpu;
  std::int64_t GpuHeadroom::*headroom;
  const char* word;
  const char* setting;
};
constexpr Column kCpu{&PodShape::cpu_milli,
                      &Room::cpu_milli,
                      &NodeSpec::cpu_milli,
                      &NodeNonGpuUse::cpu_milli,
                      &GpuHeadroom::cpu_milli,
                      "CPU",
                      "cpuPerGpu"};
constexpr Column kMemory{&PodShape::memory_bytes,
                         &Room::memory_bytes,
                         &NodeSpec::memory_bytes,
                         &NodeNonGpuUse::memory_bytes,
                         &GpuHeadroom::memory_bytes,
                         "memory",
                         "memoryPerGpu"};

const Column* column_of(const std::string& resource) {
  return resource == kCpuResource ? &kCpu : resource == kMemoryResource ? &kMemory : nullptr;
}

std::string part_text(const Column& c, std::int64_t amount) {
  return &c == &kCpu ? gpus_text(amount) : std::to_string((amount + (1 << 29)) >> 30);
}

// Nodes on which a pod would have enough of the missing resource if there were no non-GPU pods.
struct Taken {
  std::set<NodeIndex> nodes;
  std::int64_t gpus = 0, non_gpu = 0, all = 0;

  std::string text(const Column& c) const {
    if (nodes.empty()) return "";
    const bool one = nodes.size() == 1;
    return "; " + std::to_string(gpus) + (gpus == 1 ? " GPU is" : " GPUs are") + " free on " +
           std::to_string(nodes.size()) + (one ? " node" : " nodes") + " whose " + c.word +
           " pods without GPUs take (" + part_text(c, non_gpu) + " of " + part_text(c, all) +
           (&c == &kCpu ? " CPUs)" : " GiB)");
  }
};

}  // namespace

void Explainer::lacking_extended() {
  struct Short {
    std::int64_t need = 0, have = 0;
    std::vector<std::string> names;
  };
  std::map<std::string, Short> all;
  for (const Demand& d : demands_) {
    const PodShape& s = *d.pods->shape;
    each_matching(d, [&](NodeIndex i) {
      if (!open(d, i) || nothing_free(d, i)) return;
      const NodeState& n = scene_.node(i);
      const Room& room = scene_.room(i);
      if (!fits(n.spec, room, s, kAllGpus, kOnlyGpus)) return;
      for (const ResourceCount& r : s.extended) {
        const int e = extended_index(n.spec, r.name);
        const std::int64_t left = e < 0 ? 0 : room.extended[static_cast<std::size_t>(e)];
        Short& here = all[r.name];
        here.need = std::max(here.need, r.count);
        here.have = std::max(here.have, left);
        if (left < r.count && here.names.size() < limits::kMaxBlockers) {
          here.names.push_back(n.spec.name);
        }
      }
    });
  }
  const bool any_short =
      std::any_of(all.begin(), all.end(), [](auto& r) { return r.second.have < r.second.need; });
  for (auto& [resource, here] : all) {
    if (here.names.empty() || (any_short && here.have >= here.need)) continue;
    must(here.names.size() <= limits::kMaxBlockers, "a reason names a bounded list of nodes");
    Reason& r = add(ReasonToken::kNodeResources, resource, here.need, here.have,
                    "GPUs are free, but the nodes that have them lack " + resource +
                        ": a pod asks for " + std::to_string(here.need) + ", at most " +
                        std::to_string(here.have) + " are left on one");
    r.blockers = std::move(here.names);
  }
}

void Explainer::lacking(const std::string& resource) {
  if (resource == kExtended) return lacking_extended();
  const Column* const column = column_of(resource);
  Ignore nothing_kept;
  nothing_kept.headroom = true;
  const bool by_policy = scene_.fleet.headroom.any() && works(nothing_kept);
  std::int64_t need = 0, have = 0;
  std::vector<std::string> names;
  Taken taken;
  for (const Demand& d : demands_) {
    const PodShape& s = *d.pods->shape;
    const bool non_gpu = s.kind == GpuKind::kNone;
    if (by_policy && !non_gpu) continue;
    const std::int64_t each = column != nullptr ? s.*column->pod : 1;
    need = std::max(need, each);
    each_matching(d, [&](NodeIndex i) {
      if (!open(d, i) || nothing_free(d, i)) return;
      const NodeState& n = scene_.node(i);
      const Room& room = scene_.room(i);
      if (!fits(n.spec, room, s, kAllGpus, kOnlyGpus)) return;
      if (!fits(n.spec, room, s, kAllGpus) && names.size() < limits::kMaxBlockers) {
        names.push_back(n.spec.name);
      }
      if (column == nullptr || room.*column->left == kUnlimited) return;
      const std::int64_t headroom = non_gpu ? headroom_of(n.spec, room).*column->headroom : 0;
      const std::int64_t left = room.*column->left - headroom;
      have = std::max(have, left);
      const std::int64_t by_non_gpu =
          node_non_gpu_use(scene_.fleet, scene_.load(i)).*column->non_gpu;
      const bool because = left < each && left + by_non_gpu >= each;
      if (non_gpu || !because || !taken.nodes.insert(i).second) return;
      taken.gpus += free_gpus(n.spec, room);
      taken.non_gpu += by_non_gpu;
      taken.all += n.spec.*column->all;
    });
  }
  std::string detail = "GPUs are free, but the nodes that have them lack " + resource;
  if (by_policy) {
    detail = "its pods without GPUs would fit, but what is left of " + resource +
             " is reserved for free GPUs (" +
             (column != nullptr ? column->setting : "cpuPerGpu, memoryPerGpu") + ")";
  } else if (column != nullptr) {
    detail += ": a pod asks for " + amount_text(resource, need) + ", at most " +
              amount_text(resource, std::max<std::int64_t>(0, have)) + " are left on one" +
              taken.text(*column);
  }
  must(names.size() <= limits::kMaxBlockers, "a reason names a bounded list of nodes");
  Reason& r = add(ReasonToken::kNodeResources, resource, need, have, std::move(detail));
  r.blockers = std::move(names);
}

}  // namespace subak
