#include "naive_fleet.h"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "model/mig.h"
#include "placement/gpus/eligibility.h"

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
  if (r.terms.topology == Topology::kNvlink || r.terms.topology == Topology::kNvlinkExclusive)
    return true;
  return r.terms.segment > 0 && r.terms.topology == Topology::kAny;
}

bool joined(const NodeSpec& s) {
  if (s.product == "NVIDIA-L40S" || s.product == "NVIDIA-A10") return false;
  return s.gpus_per_domain != 1 || !s.clique.empty();
}

MilliGpu cost(const NodeSpec& s, const PodShape& p) {
  if (p.kind == GpuKind::kWhole) return 1000 * p.gpus;
  if (p.kind == GpuKind::kFraction) return p.milligpu;
  if (p.kind == GpuKind::kShared) return p.gpus * per_replica(s);
  if (p.kind == GpuKind::kMig) {
    const auto cost = mig_slice_milligpu(s.product, p.profile);
    return p.gpus * (cost ? *cost : least_mig_slice_milligpu(p.profile));
  }
  return 0;
}

std::vector<std::uint64_t> Fleet::inner(const NodeSpec& s) {
  std::vector<std::uint64_t> out;
  if (s.gpus_per_domain <= 1 || s.gpus_per_domain >= uncut(s)) return out;
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

std::string Fleet::group(std::uint32_t id, std::size_t level) const {
  const Node& n = nodes.at(id);
  std::string name = n.spec.clique.empty() ? "#" + std::to_string(id) : "0:" + n.spec.clique;
  std::string path = std::to_string(n.cluster.value);
  for (std::size_t k = 0; k < n.spec.levels.size(); ++k) {
    const std::string& said = n.spec.levels[k];
    if (!said.empty()) name = std::to_string(k) + ":" + said;
    if (k >= level) path += "/" + name;
  }
  for (std::size_t k = n.spec.levels.size(); k < 4; ++k) path += "/" + name;
  return path;
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

std::int64_t free_gpus(const NodeSpec& s, const Left& l) {
  std::int64_t slices = 0;
  for (const auto& [profile, count] : l.slices) slices += std::max<std::int64_t>(0, count);
  return l.hidden + std::min(slices, s.mig_gpus) +
         std::count_if(l.gpu.begin(), l.gpu.end(), [](MilliGpu free) { return free > 0; });
}

bool Fleet::leaves_headroom(const NodeSpec& s, const Left& l, const PodShape& p) const {
  if (p.kind != GpuKind::kNone || l.empty) return true;
  const std::int64_t free = free_gpus(s, l);
  const bool cpu = p.cpu_milli == 0 || s.cpu_milli == 0 || l.cpu >= free * headroom.cpu_milli;
  return cpu &&
         (p.memory_bytes == 0 || s.memory_bytes == 0 || l.memory >= free * headroom.memory_bytes);
}

Left Fleet::left(std::uint32_t id, bool empty, bool with_reserved) const {
  const Node& n = nodes.at(id);
  const NodeSpec& s = n.spec;
  Left l;
  l.gpu.assign(static_cast<std::size_t>(std::max<std::int64_t>(0, uncut(s))), per_gpu(s));
  l.cpu = s.cpu_milli > 0 ? s.cpu_milli : kLots;
  l.memory = s.memory_bytes > 0 ? s.memory_bytes : kLots;
  l.pods = s.pod_slots > 0 ? s.pod_slots : kLots;
  for (const MigSlices& m : s.mig) l.slices[m.profile] = m.count;
  for (const ResourceCount& r : s.extended) l.extended[r.name] = r.count;
  l.empty = empty;
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
  std::uint64_t out = with_reserved ? kept(id) : 0;
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
  if (with_reserved) l.hidden = free_gpus(s, left(id, false, false)) - free_gpus(s, l);
  return l;
}

NodeLevels Fleet::levels(std::uint32_t id) const {
  const Node& n = nodes.at(id);
  NodeLevels l;
  for (const Held& h : n.held) l.allocated += h.slot.milligpu;
  if (!n.present) {
    l.overcommitted = l.allocated;
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
  const bool closed = !n.spec.ready || !n.spec.unfit.empty() || n.spec.unschedulable || n.drained;
  if (rest < 0) {
    l.overcommitted = -rest;
    return l;
  }
  l.unusable = closed ? rest : std::min(rest, sick);
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
    n.books.overcommitted += GpuTime::of(l.overcommitted, now - n.as_of);
    n.as_of = now;
  }
}

bool Fleet::is_backed_off(std::uint32_t id, const PodShape& pod) const {
  const std::vector<PodShape>& pods = nodes.at(id).backed_off;
  return std::find(pods.begin(), pods.end(), pod) != pods.end();
}

bool Fleet::open(std::uint32_t id, const PodShape& pod, ClusterId cluster, JobId owner,
                 bool backoffs) const {
  const Node& n = nodes.at(id);
  if (!n.present || n.cluster != cluster || n.drained || !n.spec.ready || !n.spec.unfit.empty()) {
    return false;
  }
  if (n.spec.unschedulable && !eligibility::tolerates_cordon(pod.tolerations)) return false;
  if (n.reserved_for && n.reserved_for != owner) return false;
  const bool small = pod.kind != GpuKind::kNone && together_ <= n.spec.gpus * 1000;
  if (backoffs && small && !n.reserved_for && in_reserved_domain(id)) return false;
  if (backoffs && pod.kind != GpuKind::kNone && computes_ && computed(id, owner)) return false;
  return eligibility::matches(pod, n.spec) && (!backoffs || !is_backed_off(id, pod));
}

bool Fleet::computed(std::uint32_t id, JobId owner) const {
  std::set<JobId> gangs;
  bool here = false;
  for (const std::uint32_t m : wired(home(id))) {
    const Node& n = nodes.at(m);
    if (n.kept_computes && n.reserved_for != owner) gangs.insert(n.reserved_for);
    for (const Held& h : n.held) {
      if (!h.computes || h.slot.milligpu == 0 || h.owner == owner) continue;
      gangs.insert(h.owner);
      here = here || m == id;
    }
  }
  return here || (clique_gangs > 0 && gangs.size() >= clique_gangs);
}

std::int64_t Fleet::working(const std::string& name) const {
  std::int64_t gpus = 0, on = 0;
  for (const std::uint32_t id : members(name)) {
    Node free = nodes.at(id);
    free.held.clear();
    const NodeSpec& s = free.spec;
    const bool takes = s.ready && s.unfit.empty() && !s.unschedulable && !free.drained;
    if (!takes || s.replicas > 1 || !s.former_clique.empty()) continue;
    Fleet alone;
    alone.nodes[id] = free;
    const Left l = alone.left(id);
    const auto here = std::count(l.gpu.begin(), l.gpu.end(), 1000);
    gpus += here;
    on += here > 0 ? 1 : 0;
  }
  return on > 1 ? gpus : 0;
}

void Fleet::ask(const GangRequest& r) {
  together_ = 0;
  computes_ = r.terms.compute_domain;
  const std::uint32_t size = r.terms.segment > 0 ? r.terms.segment : r.pods();
  for (std::uint32_t first = 0; asks_nvlink(r) && !r.terms.prefer && first < r.pods();
       first += size) {
    MilliGpu sum = 0;
    for (std::uint32_t k = first; k < std::min(first + size, r.pods()); ++k) {
      const PodShape& pod = pod_of(r, k);
      if (pod.kind == GpuKind::kWhole) sum += 1000 * pod.gpus;
      if (pod.kind == GpuKind::kFraction) sum += pod.milligpu;
    }
    together_ = std::max(together_, sum);
  }
  left_.clear();
  // By cluster and product: most GPUs first, then the highest first node.
  std::map<std::string, std::set<std::tuple<std::int64_t, std::int64_t, std::string>>> empty;
  for (const auto& [id, n] : nodes) {
    const std::string name = n.present ? clique(id) : "";
    if (keep_whole == 0 || !n.present || members(name).front() != id) continue;
    MilliGpu held = 0;
    for (const std::uint32_t m : wired(name)) {
      for (const Held& h : nodes.at(m).held) held += h.slot.milligpu;
    }
    std::string product;
    for (const std::uint32_t m : members(name)) {
      if (product.empty() && nodes.at(m).spec.gpus > 0) product = nodes.at(m).spec.product;
    }
    const std::int64_t gpus = working(name);
    const std::string kind = std::to_string(n.cluster.value) + product;
    if (held == 0 && gpus > 0) empty[kind].emplace(-gpus, -std::int64_t{id}, name);
  }
  for (const auto& [kind, cliques] : empty) {
    std::uint32_t left = keep_whole;
    for (const auto& [gpus, low, name] : cliques) {
      if (left-- == 0) break;
      left_.insert(name);
    }
  }
}

bool Fleet::put(const NodeSpec& s, Left& l, const PodShape& p, std::uint64_t mask) const {
  if (p.cpu_milli > 0 && l.cpu < p.cpu_milli) return false;
  if (p.memory_bytes > 0 && l.memory < p.memory_bytes) return false;
  if (l.pods < 1) return false;
  const std::int64_t most = p.container_gpus > 0 ? p.container_gpus : p.gpus;
  if (p.kind == GpuKind::kWhole && s.numa_gpus > 0 && most > s.numa_gpus) return false;
  if (p.kind == GpuKind::kShared && s.one_replica && most > 1) return false;
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
  const NodeSpec& spec = nodes.at(id).spec;
  while (n < 1000 && put(spec, l, pod, mask) && leaves_headroom(spec, l, pod)) ++n;
  return n;
}

}  // namespace subak::naive
