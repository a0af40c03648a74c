#include "naive_fleet.h"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "placement/eligibility.h"
#include "placement/mig.h"

namespace subak::naive {
namespace {

constexpr std::int64_t kLots = std::int64_t{1} << 60;

std::int64_t uncut(const NodeSpec& s) { return s.gpus - s.mig_gpus; }
MilliGpu per_replica(const NodeSpec& s) { return s.replicas > 1 ? 1000 / s.replicas : 1000; }
MilliGpu per_gpu(const NodeSpec& s) { return s.replicas > 1 ? s.replicas * per_replica(s) : 1000; }
bool bit(std::uint64_t mask, std::size_t i) { return (mask >> i & 1) != 0; }

}  // namespace

const PodShape& pod_of(const GangRequest& r, std::uint32_t rank) {
  std::size_t g = 0;
  while (rank >= r.groups[g].count) rank -= r.groups[g++].count;
  return r.groups[g].shape;
}

GangRequest offered(GangRequest r) {
  for (PodGroup& g : r.groups) {
    PodShape& p = g.shape;
    if (p.kind != GpuKind::kWhole || p.products.size() != 1) continue;
    const std::string& name = p.products[0];
    const std::size_t mig = name.find("-MIG-");
    if (mig != std::string::npos) {
      p.kind = GpuKind::kMig;
      p.profile = name.substr(mig + 5);
    } else if (name.ends_with("-SHARED")) {
      p.kind = GpuKind::kShared;
    }
  }
  return r;
}

bool asks_nvlink(const GangRequest& r) {
  if (r.topology == Topology::kNvlink || r.topology == Topology::kNvlinkExclusive) return true;
  return r.segment > 0 && r.topology == Topology::kAny;
}

bool joined(const NodeSpec& s) { return s.product != "NVIDIA-L40S" && s.product != "NVIDIA-A10"; }

MilliGpu cost(const NodeSpec& s, const PodShape& p) {
  if (p.kind == GpuKind::kWhole) return 1000 * p.gpus;
  if (p.kind == GpuKind::kFraction) return p.milligpu;
  if (p.kind == GpuKind::kShared) return p.gpus * per_replica(s);
  if (p.kind == GpuKind::kMig) return p.gpus * mig_slice_milligpu(s.product, p.profile).value_or(0);
  return 0;
}

std::vector<std::uint64_t> Fleet::inner(const NodeSpec& s) {
  std::vector<std::uint64_t> out;
  if (s.gpus_per_domain <= 0 || s.gpus_per_domain >= uncut(s)) return out;
  for (std::int64_t from = 0; from < uncut(s); from += s.gpus_per_domain) {
    std::uint64_t mask = 0;
    for (std::int64_t i = from; i < std::min(uncut(s), from + s.gpus_per_domain); ++i) {
      mask |= std::uint64_t{1} << i;
    }
    out.push_back(mask);
  }
  return out;
}

std::string Fleet::clique(std::uint32_t id) const {
  const Node& n = nodes.at(id);
  if (n.spec.clique.empty()) return "#" + std::to_string(id);
  return std::to_string(n.cluster.value) + "/" + n.spec.clique;
}

std::string Fleet::home(std::uint32_t id) const {
  const Node& n = nodes.at(id);
  if (n.spec.former_clique.empty()) return clique(id);
  return std::to_string(n.cluster.value) + "/" + n.spec.former_clique;
}

std::vector<std::uint64_t> Fleet::halves(std::uint32_t id, const PodShape& pod) const {
  const NodeSpec& s = nodes.at(id).spec;
  if (pod.kind == GpuKind::kMig || !s.clique.empty()) return {};
  return inner(s);
}

std::string Fleet::rack(std::uint32_t id) const {
  const Node& n = nodes.at(id);
  const std::string& name = n.spec.rack.empty() ? n.spec.clique : n.spec.rack;
  return name.empty() ? "#" + std::to_string(id) : std::to_string(n.cluster.value) + "/" + name;
}

std::vector<std::uint32_t> Fleet::members(const std::string& name) const {
  std::vector<std::uint32_t> out;
  for (const auto& [id, n] : nodes) {
    if (n.present && clique(id) == name) out.push_back(id);
  }
  return out;
}

std::vector<std::uint32_t> Fleet::wired(const std::string& name) const {
  std::vector<std::uint32_t> out;
  for (const auto& [id, n] : nodes) {
    if (n.present && home(id) == name) out.push_back(id);
  }
  return out;
}

std::uint64_t Fleet::kept(std::uint32_t id) const {
  std::uint64_t mask = 0;
  for (const auto& [other, n] : nodes) {
    for (const Held& h : n.held) {
      if (other == id) {
        for (const std::uint64_t m : h.kept) mask |= m;
      }
      if (!h.kept_clique.empty() && h.kept_clique == home(id)) mask = kAll;
    }
  }
  return mask;
}

// GPUs' worth of what is held on GPUs that the node no longer has.
std::int64_t gpus_beyond(const Node& n) {
  MilliGpu beyond = 0;
  for (const Held& h : n.held) {
    for (std::int64_t i = uncut(n.spec); i < 64; ++i) {
      if (bit(h.slot.gpu_mask, static_cast<std::size_t>(i)))
        beyond += h.slot.milligpu / std::popcount(h.slot.gpu_mask);
    }
  }
  return (beyond + 999) / 1000;
}

// The `count` GPUs with most free, of equals the last.
std::uint64_t worst_gpus(const std::vector<MilliGpu>& free, std::int64_t count) {
  std::uint64_t sick = 0;
  for (std::int64_t k = 0; k < std::min<std::int64_t>(count, std::ssize(free)); ++k) {
    std::size_t worst = free.size();
    for (std::size_t i = 0; i < free.size(); ++i) {
      const bool better = worst == free.size() ||
                          std::max<MilliGpu>(0, free[i]) >= std::max<MilliGpu>(0, free[worst]);
      if (!bit(sick, i) && better) worst = i;
    }
    sick |= std::uint64_t{1} << worst;
  }
  return sick;
}

// By how much the free GPUs that are not `sick` exceed what the node's allocatable has left.
MilliGpu over_allocatable(const Node& n, const std::vector<MilliGpu>& free, std::uint64_t sick) {
  if (n.spec.unhealthy_gpus == 0) return 0;
  MilliGpu over = 0;
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (!bit(sick, i)) over += std::max<MilliGpu>(0, free[i]);
  }
  MilliGpu left = (uncut(n.spec) - n.spec.unhealthy_gpus) * per_gpu(n.spec);
  for (const Held& h : n.held) left -= h.pod.kind == GpuKind::kMig ? 0 : h.slot.milligpu;
  return std::max<MilliGpu>(0, over - std::max<MilliGpu>(0, left));
}

Left Fleet::left(std::uint32_t id, bool empty) const {
  const Node& n = nodes.at(id);
  const NodeSpec& s = n.spec;
  Left l;
  l.gpu.assign(static_cast<std::size_t>(std::max<std::int64_t>(0, uncut(s))), per_gpu(s));
  l.cpu = s.cpu_milli > 0 ? s.cpu_milli : kLots;
  l.memory = s.memory_bytes > 0 ? s.memory_bytes : kLots;
  l.pods = s.pod_slots > 0 ? s.pod_slots : kLots;
  for (const MigSlices& m : s.mig) l.slices[m.profile] = m.count;
  for (const ResourceCount& r : s.extended) l.extended[r.name] = r.count;
  if (empty) return l;
  for (const Held& h : n.held) {
    const int gpus = std::popcount(h.slot.gpu_mask);
    for (std::size_t i = 0; i < l.gpu.size(); ++i) {
      if (bit(h.slot.gpu_mask, i)) l.gpu[i] -= h.slot.milligpu / gpus;
    }
    if (h.pod.kind == GpuKind::kMig) l.slices[h.pod.profile] -= h.pod.gpus;
    for (const ResourceCount& r : h.pod.extended) l.extended[r.name] -= r.count;
    l.cpu -= h.pod.cpu_milli;
    l.memory -= h.pod.memory_bytes;
    l.pods -= 1;
    l.ports.insert(l.ports.end(), h.pod.host_ports.begin(), h.pod.host_ports.end());
  }
  std::uint64_t out = kept(id);
  if (out == kAll) {
    for (auto& [profile, count] : l.slices) count = 0;
  }
  const std::uint64_t sick = worst_gpus(l.gpu, s.unhealthy_gpus + gpus_beyond(n));
  out |= sick;
  MilliGpu over = over_allocatable(n, l.gpu, sick);
  for (std::size_t i = 0; i < l.gpu.size(); ++i) {
    if (bit(out, i) || l.gpu[i] < 0) l.gpu[i] = 0;
  }
  while (over > 0 && *std::max_element(l.gpu.begin(), l.gpu.end()) > 0) {
    // Of equals the last.
    auto& most = *std::max_element(l.gpu.rbegin(), l.gpu.rend());
    for (; most > 0 && over > 0; --over) --most;
  }
  return l;
}

NodeLevels Fleet::levels(std::uint32_t id) const {
  const Node& n = nodes.at(id);
  NodeLevels l;
  for (const Held& h : n.held) l.allocated += h.slot.milligpu;
  if (!n.present) {
    l.unusable = -l.allocated;
    return l;
  }
  l.installed = 1000 * n.spec.gpus;
  l.stranded = 1000 * n.spec.mig_gpus + uncut(n.spec) * (1000 - per_gpu(n.spec));
  for (const MigSlices& m : n.spec.mig) {
    l.stranded -= m.count * mig_slice_milligpu(n.spec.product, m.profile).value_or(0);
  }
  const MilliGpu rest = l.installed - l.allocated - l.stranded;
  std::vector<MilliGpu> free(static_cast<std::size_t>(uncut(n.spec)), per_gpu(n.spec));
  for (const Held& h : n.held) {
    for (std::size_t i = 0; i < free.size(); ++i) {
      if (bit(h.slot.gpu_mask, i)) free[i] -= h.slot.milligpu / std::popcount(h.slot.gpu_mask);
    }
  }
  MilliGpu sick =
      over_allocatable(n, free, worst_gpus(free, n.spec.unhealthy_gpus + gpus_beyond(n)));
  const std::uint64_t worst = worst_gpus(free, n.spec.unhealthy_gpus);
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (bit(worst, i)) sick += std::max<MilliGpu>(0, free[i]);
  }
  const bool closed = !n.spec.ready || n.spec.unschedulable || n.drained;
  l.unusable = rest < 0 || closed ? rest : std::min(rest, sick);
  l.idle = rest - l.unusable;
  return l;
}

void Fleet::advance(TimeMs now) {
  for (auto& [id, n] : nodes) {
    const NodeLevels l = levels(id);
    n.books.installed += GpuTime::of(l.installed, now - n.as_of);
    n.books.allocated += GpuTime::of(l.allocated, now - n.as_of);
    n.books.idle += GpuTime::of(l.idle, now - n.as_of);
    n.books.stranded += GpuTime::of(l.stranded, now - n.as_of);
    n.books.unusable += GpuTime::of(l.unusable, now - n.as_of);
    n.as_of = now;
  }
}

bool Fleet::open(std::uint32_t id, const PodShape& pod, ClusterId cluster, JobId owner) const {
  const Node& n = nodes.at(id);
  if (!n.present || n.cluster != cluster || n.drained || !n.spec.ready) return false;
  if (n.spec.unschedulable && !eligibility::tolerates_cordon(pod.tolerations)) return false;
  if (n.kept_for && n.kept_for != owner) return false;
  if (std::find(n.barred.begin(), n.barred.end(), pod) != n.barred.end()) return false;
  return eligibility::matches(pod, n.spec);
}

bool Fleet::put(const NodeSpec& s, Left& l, const PodShape& p, std::uint64_t mask) const {
  if (p.cpu_milli > 0 && l.cpu < p.cpu_milli) return false;
  if (p.memory_bytes > 0 && l.memory < p.memory_bytes) return false;
  if (l.pods < 1) return false;
  for (const ResourceCount& r : p.extended) {
    if (r.count > 0 && l.extended[r.name] < r.count) return false;
  }
  for (const HostPort& want : p.host_ports) {
    for (const HostPort& taken : l.ports) {
      if (eligibility::clash(want, taken)) return false;
    }
  }
  if (p.kind == GpuKind::kMig) {
    if (mask != kAll || l.slices[p.profile] < p.gpus) return false;
    l.slices[p.profile] -= p.gpus;
  } else if (p.kind != GpuKind::kNone) {
    const MilliGpu each = p.kind == GpuKind::kFraction ? p.milligpu : per_replica(s);
    std::int64_t need = p.kind == GpuKind::kFraction ? 1 : p.gpus;
    // Distinct GPUs; these tests ask for one replica at a time.
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < l.gpu.size() && need > 0; ++i) {
      if (bit(mask, i) && l.gpu[i] >= each) chosen.push_back(i), --need;
    }
    if (need > 0) return false;
    for (const std::size_t i : chosen) l.gpu[i] -= each;
  }
  l.cpu -= p.cpu_milli;
  l.memory -= p.memory_bytes;
  l.pods -= 1;
  for (const ResourceCount& r : p.extended) l.extended[r.name] -= r.count;
  l.ports.insert(l.ports.end(), p.host_ports.begin(), p.host_ports.end());
  return true;
}

std::int64_t Fleet::cap(std::uint32_t id, const PodShape& pod, std::uint64_t mask,
                        bool empty) const {
  Left l = left(id, empty);
  std::int64_t n = 0;
  while (n < 1000 && put(nodes.at(id).spec, l, pod, mask)) ++n;
  return n;
}

int Fleet::exclusive_level(const GangRequest& r, std::uint32_t id) const {
  const PodShape& pod = r.groups[0].shape;
  const std::int64_t pods = r.segment > 0 ? std::min(r.segment, r.pods()) : r.pods();
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
      for (const std::uint32_t m : wired(clique(id))) clean = clean && unused(m, kAll);
      for (const std::uint32_t m : members(clique(id))) {
        if (open(m, pod, cluster, owner)) sum += cap(m, pod, kAll);
      }
      if (clean && sum >= need) return true;
    }
  }
  return false;
}

bool Fleet::exists_as(const GangRequest& r, Topology topology, std::uint32_t segment,
                      ClusterId cluster, JobId owner) const {
  const PodShape& pod = r.groups[0].shape;
  const bool gpus = pod.kind != GpuKind::kNone;
  if (!gpus && (topology != Topology::kNode)) topology = Topology::kAny, segment = 0;
  if (topology == Topology::kNvlinkExclusive) return exists_exclusive(r, cluster, owner);
  const std::int64_t size = segment > 0 ? segment : r.pods();
  if (segment > 0 && topology == Topology::kAny) topology = Topology::kNvlink;
  const bool nvlink = topology == Topology::kNvlink;
  std::set<std::string> products;
  for (const auto& [id, n] : nodes) products.insert(gpus ? n.spec.product : "");
  for (const std::string& product : products) {
    // Each segment uses up `size` places of one outermost domain; inner ones lie inside those.
    std::map<std::string, std::int64_t> areas;
    std::int64_t segments = 0;
    for (const auto& [id, n] : nodes) {
      if (!open(id, pod, cluster, owner) || (gpus && n.spec.product != product)) continue;
      if (nvlink && !joined(n.spec)) continue;
      if (const auto parts = halves(id, pod); nvlink && !parts.empty()) {
        segments += segments_in(n.spec, left(id), pod, parts, size);
        continue;
      }
      std::string area = "everywhere";
      if (topology == Topology::kNode) area = std::to_string(id);
      if (nvlink) area = clique(id);
      if (topology == Topology::kRack) area = rack(id);
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
  if (exists_as(r, r.topology, r.segment, cluster, owner)) return true;
  return r.prefer && exists_as(r, Topology::kAny, 0, cluster, owner);
}

std::uint32_t Fleet::best(const GangRequest& r, ClusterId cluster, JobId owner) const {
  const PodShape& pod = r.groups[0].shape;
  const bool counts = pod.kind == GpuKind::kWhole || pod.kind == GpuKind::kMig;
  const auto units = [&](std::uint32_t id, std::uint64_t mask) {
    const Left l = left(id);
    if (pod.kind == GpuKind::kMig) return std::max<std::int64_t>(0, l.slices.at(pod.profile));
    std::int64_t n = 0;
    for (std::size_t i = 0; i < l.gpu.size(); ++i) {
      if (bit(mask, i)) n += counts ? l.gpu[i] == 1000 : l.gpu[i];
    }
    return n;
  };
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  std::optional<Key> least;
  std::uint32_t chosen = 0;
  const auto offer = [&](const Key& key, std::uint32_t id) {
    if (!least || key < *least) least = key, chosen = id;
  };
  const bool granted = !r.prefer || exists_as(r, r.topology, r.segment, cluster, owner);
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
      std::int64_t domain = 0;
      const auto all = members(clique(id));
      for (const std::uint32_t m : all) {
        // Keeping hides nodes for a while; it does not change how full a domain is.
        if (open(m, pod, cluster, nodes.at(m).kept_for ? nodes.at(m).kept_for : owner)) {
          domain += units(m, kAll);
        }
      }
      if (r.topology == Topology::kRack) {
        std::int64_t in_rack = 0;
        std::uint32_t low = id;
        for (const auto& [m, other] : nodes) {
          if (!other.present || rack(m) != rack(id)) continue;
          low = std::min(low, m);
          if (usable(m)) in_rack += units(m, kAll);
        }
        offer({in_rack, low, domain, all.front(), units(id, kAll) * 1000 + id}, id);
      } else {
        offer({domain, all.front(), units(id, kAll), id, 0}, id);
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
      if (topology == Topology::kRack) areas.insert(rack(id));
    }
    if (areas.size() > 1) return "a segment is in several domains";
  }
  return "";
}

// Of one shape: what its pods may take, all of them may.
bool Fleet::several_products(const GangRequest& r, const Placement& p) const {
  std::set<std::string> products;
  for (std::uint32_t k = 0; k < r.pods(); ++k) {
    if (pod_of(r, k).kind == GpuKind::kNone) continue;
    products.insert(nodes.at(p.slots[k].node.value).spec.product);
  }
  return r.groups.size() == 1 && products.size() > 1;
}

std::string Fleet::broken(const GangRequest& r, ClusterId cluster, JobId owner,
                          const Placement& p) const {
  if (p.slots.size() != r.pods()) return "not one slot per rank";
  std::map<std::uint32_t, Left> rooms;
  for (std::uint32_t k = 0; k < r.pods(); ++k) {
    const std::string what = broken_slot(pod_of(r, k), cluster, owner, p.slots[k], rooms);
    if (!what.empty()) return "rank " + std::to_string(k) + ": " + what;
  }
  if (several_products(r, p)) return "several products";
  if (r.prefer && r.groups.size() > 1) return "";
  if (r.prefer && !exists_as(r, r.topology, r.segment, cluster, owner)) return "";
  return broken_topology(r, r.topology, r.segment, p);
}

}  // namespace subak::naive
