// Where a gang may go and which place is best, by trying all.
#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "model/mig.h"
#include "naive_fleet.h"
#include "placement/gpus/eligibility.h"

namespace subak::naive {
namespace {

constexpr std::int64_t kLots = std::int64_t{1} << 60;

MilliGpu per_replica(const NodeSpec& s) { return s.replicas > 1 ? 1000 / s.replicas : 1000; }
bool bit(std::uint64_t mask, std::size_t i) { return (mask >> i & 1) != 0; }

// What best fit minimises: free slices, free whole GPUs, or free milli-GPU.
std::int64_t units_of(const Left& l, const PodShape& pod, std::uint64_t mask) {
  if (pod.kind == GpuKind::kMig) return std::max<std::int64_t>(0, l.slices.at(pod.profile));
  std::int64_t n = 0;
  for (std::size_t i = 0; i < l.gpu.size(); ++i) {
    if (bit(mask, i)) n += pod.kind == GpuKind::kWhole ? l.gpu[i] == 1000 : l.gpu[i];
  }
  return n;
}

// For all that is free at the pod's rate.
bool too_little(const PodShape& pod, std::int64_t cpu, std::int64_t free) {
  return cpu * pod.gpus < free * pod.cpu_milli;
}

}  // namespace

int Fleet::exclusive_level(const GangRequest& r, std::uint32_t id) const {
  const PodShape& pod = r.groups[0].shape;
  const std::int64_t pods = r.terms.segment > 0 ? std::min(r.terms.segment, r.pods()) : r.pods();
  const auto halves = inner(nodes.at(id).spec);
  if (!halves.empty() && cap(id, pod, halves[0], true) >= pods) return 0;
  if (cap(id, pod, kAll, true) >= pods || wired(home(id)).size() <= 1) return 1;
  return 2;
}

bool Fleet::unused(std::uint32_t id, std::uint64_t mask) const {
  if ((kept(id) & mask) != 0) return false;
  return std::none_of(nodes.at(id).held.begin(), nodes.at(id).held.end(), [&](const Held& h) {
    return (h.slot.gpu_mask & mask) != 0 || (mask == kAll && h.slot.milligpu > 0);
  });
}

bool Fleet::exists_exclusive(const GangRequest& r, ClusterId cluster, JobId owner) const {
  const PodShape& pod = r.groups[0].shape;
  const std::int64_t need = r.pods();
  for (const auto& [id, n] : nodes) {
    if (!open(id, pod, cluster, owner) || !joined(n.spec)) continue;
    if (!n.spec.former_clique.empty()) continue;  // wired to others
    const int level = exclusive_level(r, id);
    if (level == 0) {
      for (const std::uint64_t half : inner(n.spec)) {
        if (unused(id, half) && cap(id, pod, half) >= need) return true;
      }
    } else if (level == 1) {
      if (!halves(id, pod).empty()) continue;
      if (unused(id, kAll) && cap(id, pod, kAll) >= need) return true;
    } else {
      std::int64_t sum = 0;
      bool clean = true;
      for (const std::uint32_t m : wired(clique(id))) {
        const JobId keeper = nodes.at(m).reserved_for;
        clean = clean && unused(m, kAll) && (!keeper || keeper == owner);
      }
      for (const std::uint32_t m : members(clique(id))) {
        if (open(m, pod, cluster, owner)) sum += cap(m, pod, kAll);
      }
      if (clean && sum >= need) return true;
    }
  }
  return false;
}

Fleet Fleet::of_fabric(const std::string& fabric) const {
  Fleet of = *this;
  for (auto& [id, n] : of.nodes) n.drained = n.drained || n.spec.fabric != fabric;
  return of;
}

bool Fleet::exists_as(const GangRequest& r, Topology topology, std::uint32_t segment,
                      ClusterId cluster, JobId owner) const {
  if (!wants_one_fabric(r)) return exists_in(r, topology, segment, cluster, owner);
  std::set<std::string> fabrics;
  for (const auto& [id, n] : nodes) fabrics.insert(n.spec.fabric);
  return std::any_of(fabrics.begin(), fabrics.end(), [&](const std::string& fabric) {
    return of_fabric(fabric).exists_in(r, topology, segment, cluster, owner);
  });
}

bool Fleet::exists_in(const GangRequest& r, Topology topology, std::uint32_t segment,
                      ClusterId cluster, JobId owner) const {
  const PodShape& pod = r.groups[0].shape;
  const bool gpus = pod.kind != GpuKind::kNone;
  if (!gpus && (topology != Topology::kNode)) topology = Topology::kAny, segment = 0;
  if (topology == Topology::kNvlinkExclusive) return exists_exclusive(r, cluster, owner);
  const std::int64_t size = segment > 0 ? segment : r.pods();
  if (segment > 0 && topology == Topology::kAny) topology = Topology::kNvlink;
  const bool nvlink = topology == Topology::kNvlink;
  std::set<std::string> products;
  const bool one_product = gpus && !r.terms.mixed_products;
  for (const auto& [id, n] : nodes) products.insert(one_product ? n.spec.product : "");
  for (const std::string& product : products) {
    // Each segment uses up `size` places of one outermost domain; inner ones lie inside those.
    std::map<std::string, std::int64_t> areas;
    std::int64_t segments = 0;
    for (const auto& [id, n] : nodes) {
      if (!open(id, pod, cluster, owner) || (one_product && n.spec.product != product)) {
        continue;
      }
      if (nvlink && !joined(n.spec)) continue;
      if (const auto parts = halves(id, pod); nvlink && !parts.empty()) {
        segments += segments_in(n.spec, left(id), pod, parts, size);
        continue;
      }
      std::string area = "everywhere";
      if (topology == Topology::kNode) area = std::to_string(id);
      if (nvlink) area = clique(id);
      if (topology == Topology::kRack) area = group(id, 0);
      areas[area] += cap(id, pod, kAll);
    }
    for (const auto& [area, places] : areas) segments += places / size;
    if (segments * size >= r.pods()) return true;
  }
  return false;
}

// How many times `size` pods find room in one of the parts, one part after the other.
std::int64_t Fleet::segments_in(const NodeSpec& spec, Left room, const PodShape& pod,
                                const std::vector<std::uint64_t>& parts, std::int64_t size) const {
  std::int64_t segments = 0;
  for (const std::uint64_t part : parts) {
    for (Left next = room;; room = next, ++segments) {
      std::int64_t pods = 0;
      while (pods < size && put(spec, next, pod, part)) ++pods;
      if (pods < size || segments > 1000) break;
    }
  }
  return segments;
}

bool Fleet::fragment(std::uint32_t id, const PodShape& pod) const {
  const Left now = left(id), whole = left(id, true);
  if (pod.kind == GpuKind::kMig) return now.slices.at(pod.profile) < whole.slices.at(pod.profile);
  if (pod.kind != GpuKind::kWhole) {
    return std::any_of(nodes.at(id).held.begin(), nodes.at(id).held.end(),
                       [](const Held& h) { return h.slot.milligpu > 0; });
  }
  return std::any_of(now.gpu.begin(), now.gpu.end(), [](MilliGpu free) { return free < 1000; });
}

bool Fleet::fragments_hold(const GangRequest& r, ClusterId cluster, JobId owner) const {
  const PodShape& pod = r.groups[0].shape;
  std::map<std::string, std::int64_t> places;
  for (const auto& [id, n] : nodes) {
    if (!open(id, pod, cluster, owner) || !fragment(id, pod)) continue;
    if ((places[n.spec.product] += cap(id, pod, kAll)) >= r.pods()) return true;
  }
  return false;
}

bool Fleet::exists(const GangRequest& r, ClusterId cluster, JobId owner) const {
  if (exists_as(r, r.terms.topology, r.terms.segment, cluster, owner)) return true;
  return r.terms.prefer && exists_as(r, Topology::kAny, 0, cluster, owner);
}

std::uint32_t Fleet::best(const GangRequest& r, ClusterId cluster, JobId owner) const {
  const PodShape& pod = r.groups[0].shape;
  const bool counts = pod.kind == GpuKind::kWhole || pod.kind == GpuKind::kMig;
  const auto units = [&](std::uint32_t id, std::uint64_t mask) {
    return units_of(left(id), pod, mask);
  };
  const auto cpu = [&](std::uint32_t id) {
    return std::clamp<std::int64_t>(left(id).cpu, 0, 1'000'000'000);
  };
  std::optional<std::vector<std::int64_t>> least;
  std::uint32_t chosen = 0;
  const auto offer = [&](const std::vector<std::int64_t>& key, std::uint32_t id) {
    if (!least || key < *least) least = key, chosen = id;
  };
  const bool granted =
      !r.terms.prefer || exists_as(r, r.terms.topology, r.terms.segment, cluster, owner);
  const bool nvlink = pod.kind != GpuKind::kNone && asks_nvlink(r) && granted;
  const auto usable = [&](std::uint32_t id) {
    return open(id, pod, cluster, owner) && (!nvlink || joined(nodes.at(id).spec));
  };
  for (const auto& [id, n] : nodes) {
    if (!nvlink || !usable(id) || pod.kind == GpuKind::kMig) continue;
    for (const std::uint64_t half : inner(n.spec)) {
      if (cap(id, pod, half) > 0) offer({units(id, half), units(id, kAll), id, 0, 0}, id);
    }
  }
  if (chosen != 0) return chosen;
  for (const auto& [id, n] : nodes) {
    if (!usable(id) || cap(id, pod, kAll) == 0) continue;
    if (nvlink && !halves(id, pod).empty()) continue;
    if (pod.kind == GpuKind::kNone) {
      offer({n.spec.gpus > 0, units(id, kAll), id, 0, 0}, id);
    } else if (!counts) {
      const MilliGpu need = pod.kind == GpuKind::kShared ? per_replica(n.spec) : pod.milligpu;
      MilliGpu tightest = kLots;
      for (const MilliGpu free : left(id).gpu) {
        if (free >= need) tightest = std::min(tightest, free);
      }
      offer({tightest, units(id, kAll), id, 0, 0}, id);
    } else {
      std::int64_t domain = 0, domain_cpu = 0;
      const auto all = members(clique(id));
      for (const std::uint32_t m : all) {
        // Keeping and bars hide nodes for a while; they do not change how full a domain is.
        const JobId insider = nodes.at(m).reserved_for ? nodes.at(m).reserved_for : owner;
        if (open(m, pod, cluster, insider, /*bars=*/false)) {
          domain += units(m, kAll);
          domain_cpu += cpu(m);
        }
      }
      if (r.terms.topology == Topology::kRack) {
        std::int64_t in_rack = 0;
        std::uint32_t low = id;
        for (const auto& [m, other] : nodes) {
          if (!other.present || group(m, 0) != group(id, 0)) continue;
          low = std::min(low, m);
          if (usable(m)) in_rack += units(m, kAll);
        }
        const bool whole = !fragment(id, pod);
        offer({in_rack, low, whole, domain, all.front(), units(id, kAll) * 1000 + id}, id);
      } else {
        const std::int64_t here = units(id, kAll);
        offer({domain, too_little(pod, domain_cpu, domain), domain_cpu, all.front(), here,
               too_little(pod, cpu(id), here), cpu(id), id},
              id);
      }
    }
  }
  return chosen;
}

std::string Fleet::broken_slot(const PodShape& pod, ClusterId cluster, JobId owner,
                               const PodSlot& slot, std::map<std::uint32_t, Left>& rooms) const {
  const std::uint32_t id = slot.node.value;
  if (!nodes.contains(id) || !open(id, pod, cluster, owner)) return "node is not eligible";
  const NodeSpec& spec = nodes.at(id).spec;
  if (!rooms.contains(id)) rooms[id] = left(id);
  if (slot.milligpu != cost(spec, pod)) return "wrong cost";
  const int gpus = std::popcount(slot.gpu_mask);
  const int want = pod.kind == GpuKind::kWhole ? static_cast<int>(pod.gpus)
                   : pod.kind == GpuKind::kNone || pod.kind == GpuKind::kMig ? 0
                                                                             : 1;
  if (gpus != want) return "wrong number of GPUs";
  if (gpus > 0 && (slot.gpu_mask >> rooms[id].gpu.size()) != 0) return "GPU that is not there";
  return put(spec, rooms[id], pod, gpus == 0 ? kAll : slot.gpu_mask) ? "" : "does not fit";
}

std::string Fleet::broken_topology(const GangRequest& r, Topology topology, std::uint32_t segment,
                                   const Placement& p) const {
  const std::uint32_t size = segment > 0 ? segment : r.pods();
  if (segment > 0 && topology == Topology::kAny) topology = Topology::kNvlink;
  for (std::uint32_t first = 0; first < r.pods(); first += size) {
    std::set<std::string> areas;
    std::set<std::uint32_t> seen;
    std::uint32_t before = 0;
    for (std::uint32_t k = first; k < std::min(first + size, r.pods()); ++k) {
      const std::uint32_t id = p.slots[k].node.value;
      if (r.groups.size() == 1 && id != before && !seen.insert(id).second)
        return "ranks of one node are not neighbours";
      before = id;
      const PodShape& pod = pod_of(r, k);
      if (pod.kind == GpuKind::kNone && topology != Topology::kNode) continue;
      if (topology == Topology::kNode) areas.insert(std::to_string(id));
      if (topology == Topology::kNvlink || topology == Topology::kNvlinkExclusive) {
        if (!joined(nodes.at(id).spec)) return "no NVLink";
        const auto parts = halves(id, pod);
        if (parts.empty()) areas.insert(clique(id));
        for (const std::uint64_t part : parts) {
          if ((p.slots[k].gpu_mask & part) != 0) areas.insert(clique(id) + std::to_string(part));
        }
      }
      if (topology == Topology::kRack) areas.insert(group(id, 0));
    }
    if (areas.size() > 1) return "a segment is in several domains";
  }
  return "";
}

// The domain that NVLink makes of what the slot has: its clique, its node or a half of it.
std::string Fleet::domain(const PodSlot& slot) const {
  const NodeSpec& spec = nodes.at(slot.node.value).spec;
  std::string out = clique(slot.node.value);
  for (const std::uint64_t half : inner(spec)) {
    if (spec.clique.empty() && (slot.gpu_mask & half) != 0) out += "/" + std::to_string(half);
  }
  return out;
}

// Its pods are to be in few groups: a topology that it only wishes is not had, or they fill nodes.
bool Fleet::close_together(const GangRequest& r, ClusterId cluster, JobId owner) const {
  if (r.groups.size() > 1 || r.pods() <= 1) return false;
  const PodShape& pod = r.groups[0].shape;
  if (pod.kind == GpuKind::kNone) return false;
  if (r.terms.prefer) return r.terms.topology != Topology::kAny || r.terms.segment > 0;
  if (r.terms.topology != Topology::kAny || r.terms.segment > 0 || pod.kind != GpuKind::kWhole)
    return false;
  if (fragments_hold(r, cluster, owner)) return false;
  return std::none_of(nodes.begin(), nodes.end(), [&](const auto& entry) {
    const NodeSpec& s = entry.second.spec;
    const JobId insider = entry.second.reserved_for ? entry.second.reserved_for : owner;
    return s.replicas <= 1 && s.gpus - s.mig_gpus >= 2 * pod.gpus &&
           open(entry.first, pod, cluster, insider, /*bars=*/false);
  });
}

// The fewest groups of the highest level; while that is one, the fewest in it of the next.
std::string Fleet::scattered(const GangRequest& r, ClusterId cluster, JobId owner,
                             const Placement& p) const {
  if (!wants_one_fabric(r)) return scattered_in(r, cluster, owner, p);
  const std::string& fabric = nodes.at(p.slots[0].node.value).spec.fabric;
  return of_fabric(fabric).scattered_in(r, cluster, owner, p);
}

std::string Fleet::scattered_in(const GangRequest& r, ClusterId cluster, JobId owner,
                                const Placement& p) const {
  if (!close_together(r, cluster, owner) || several_products(r, p)) return "";
  const PodShape& pod = r.groups[0].shape;
  const std::string& product = nodes.at(p.slots[0].node.value).spec.product;
  const auto fewest = [&](std::vector<std::int64_t> caps) -> std::size_t {
    std::sort(caps.rbegin(), caps.rend());
    std::int64_t missing = r.pods();
    std::size_t count = 0;
    while (missing > 0 && count < caps.size()) missing -= caps[count++];
    return missing > 0 ? caps.size() + 1 : count;
  };
  std::string inside;  // of the one group of the level above
  std::size_t depth = 0;
  for (const auto& [id, n] : nodes) depth = std::max(depth, n.spec.levels.size());
  for (std::size_t level = depth; level-- > 0;) {
    std::map<std::string, std::map<std::string, std::int64_t>> caps;  // by the group above
    for (const auto& [id, n] : nodes) {
      if (n.spec.product != product || !open(id, pod, cluster, owner)) continue;
      const std::string above = level + 1 < depth ? group(id, level + 1) : "";
      const bool in = level + 2 >= depth || group(id, level + 2) == inside;
      if (in) caps[above][group(id, level)] += cap(id, pod, kAll);
    }
    std::size_t least = r.pods();
    for (const auto& [above, groups] : caps) {
      std::vector<std::int64_t> all;
      for (const auto& [name, pods] : groups) all.push_back(pods);
      least = std::min(least, fewest(all));
    }
    std::set<std::string> used, used_above;
    for (const PodSlot& slot : p.slots) {
      used.insert(group(slot.node.value, level));
      used_above.insert(level + 1 < depth ? group(slot.node.value, level + 1) : "");
    }
    std::set<std::string> seen;
    for (std::size_t k = 0; k < p.slots.size(); ++k) {
      const std::string here = group(p.slots[k].node.value, level);
      if (k > 0 && here == group(p.slots[k - 1].node.value, level)) continue;
      if (!seen.insert(here).second) return "ranks of a group are not neighbours";
    }
    if (used_above.size() > 1) continue;
    if (used.size() > least) {
      return std::to_string(used.size()) + " groups of level " + std::to_string(level) +
             ", where " + std::to_string(least) + " would do";
    }
    inside = *used_above.begin();
  }
  return "";
}

// A balanced gang: each domain has ranks that follow each other, and numbers of segments that differ by one.
std::string Fleet::broken_balance(const GangRequest& r, const Placement& p) const {
  const std::int64_t unit = std::max(r.terms.segment, 1u);
  std::vector<std::pair<std::string, std::int64_t>> parts;
  for (std::uint32_t k = 0; k < r.pods(); ++k) {
    if (pod_of(r, k).kind == GpuKind::kNone) continue;
    if (!joined(nodes.at(p.slots[k].node.value).spec)) return "no NVLink";
    const std::string here = domain(p.slots[k]);
    if (parts.empty() || parts.back().first != here) parts.emplace_back(here, 0);
    ++parts.back().second;
  }
  std::set<std::string> domains;
  for (const auto& [here, pods] : parts) {
    if (!domains.insert(here).second) return "two parts are in one domain";
    if (r.groups.size() > 1) continue;
    if (pods % unit != 0) return "a segment is in several domains";
    if (parts.front().second - pods > unit || pods > parts.front().second) return "uneven parts";
  }
  return "";
}

bool Fleet::several_products(const GangRequest& r, const Placement& p) const {
  std::set<std::string> products;
  for (std::uint32_t k = 0; k < r.pods(); ++k) {
    if (pod_of(r, k).kind == GpuKind::kNone) continue;
    products.insert(nodes.at(p.slots[k].node.value).spec.product);
  }
  return products.size() > 1;
}

std::string Fleet::broken(const GangRequest& r, ClusterId cluster, JobId owner,
                          const Placement& p) const {
  if (p.slots.size() != r.pods()) return "not one slot per rank";
  std::map<std::uint32_t, Left> rooms;
  for (std::uint32_t k = 0; k < r.pods(); ++k) {
    const std::string what = broken_slot(pod_of(r, k), cluster, owner, p.slots[k], rooms);
    if (!what.empty()) return "rank " + std::to_string(k) + ": " + what;
  }
  for (std::uint32_t k = 0; k < r.pods(); ++k) {
    const std::uint32_t id = p.slots[k].node.value;
    if (!leaves_headroom(nodes.at(id).spec, rooms.at(id), pod_of(r, k)))
      return "rank " + std::to_string(k) + ": takes what is kept beside free GPUs";
  }
  std::set<std::string> fabrics;
  for (std::uint32_t k = 0; k < r.pods(); ++k) {
    if (pod_of(r, k).kind == GpuKind::kNone) continue;
    fabrics.insert(nodes.at(p.slots[k].node.value).spec.fabric);
  }
  if (wants_one_fabric(r) && fabrics.size() > 1) return "several fabrics";
  // Of one shape: what its pods may take, all of them may.
  if (r.groups.size() == 1 && several_products(r, p)) {
    if (!r.terms.mixed_products) return "several products";
    GangRequest of_one = r;
    of_one.terms.mixed_products = false;
    of_one.terms.prefer = false;
    const bool knows = !r.terms.balanced && r.terms.spare == 0;
    if (knows && exists(of_one, cluster, owner)) return "several products where one would do";
  }
  if (r.terms.prefer && (r.groups.size() > 1 || r.terms.balanced)) return "";
  if (r.terms.prefer && !exists_as(r, r.terms.topology, r.terms.segment, cluster, owner)) {
    return scattered(r, cluster, owner, p);
  }
  if (r.terms.balanced) return broken_balance(r, p);
  const std::string what = broken_topology(r, r.terms.topology, r.terms.segment, p);
  return what.empty() && !r.terms.prefer ? scattered(r, cluster, owner, p) : what;
}

}  // namespace subak::naive
