// The oracle's checks of placements: the nodes that a gang may use, and nodes that rejected such
// pods.
#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include "tests/oracle/oracle.h"
#include "tests/oracle/oracle_text.h"

namespace subak::sim {
namespace {

// True if the node could hold some pod of the gang if it were empty.
bool could_serve(const NodeSpec& n, const GangRequest& gang) {
  const std::int64_t whole = n.replicas > 1 ? 0 : n.gpus - n.mig_gpus - n.unhealthy_gpus;
  return std::any_of(gang.groups.begin(), gang.groups.end(), [&](const PodGroup& g) {
    const bool gpus = g.shape.kind == GpuKind::kWhole      ? g.shape.gpus <= whole
                      : g.shape.kind == GpuKind::kFraction ? whole >= 1
                                                           : n.replicas > 1;
    const auto& of = g.shape.products;
    const bool allowed = of.empty() || std::find(of.begin(), of.end(), n.product) != of.end();
    return allowed && gpus && (n.cpu_milli == 0 || g.shape.cpu_milli <= n.cpu_milli);
  });
}

using Names = std::set<std::string>;

// The NVLink domains of a pod's GPUs. Whole GPUs of a node with several domains are in those of
// their indexes; all else is in one domain of its node, or of its clique.
Names domains_of(const NodeSpec& n, const PodSlot& s) {
  if (s.milligpu == 0) return {};
  if (!n.clique.empty()) return {n.clique};
  const std::string at = "#" + std::to_string(s.node.value);
  if (n.gpus_per_domain < 2 || s.gpu_mask == 0) return {at};
  Names out;
  for (std::int64_t gpu = 0; gpu < 64; ++gpu) {
    if ((s.gpu_mask >> gpu & 1) != 0)
      out.insert(at + "/" + std::to_string(gpu / n.gpus_per_domain));
  }
  return out;
}

// Each N pods in rank order have the topology (docs/workloads.md). The last may be fewer.
bool has_segments_together(const GangRequest& r, const std::vector<PodSlot>& slots,
                           const std::vector<Names>& domains) {
  for (std::size_t first = 0; r.terms.segment > 0 && first < slots.size();
       first += r.terms.segment) {
    Names all;
    std::set<NodeId> nodes;
    for (std::size_t rank = first; rank < std::min(first + r.terms.segment, slots.size()); ++rank) {
      if (slots[rank].milligpu == 0) continue;
      nodes.insert(slots[rank].node);
      all.insert(domains[rank].begin(), domains[rank].end());
    }
    if (r.terms.topology == Topology::kNode && nodes.size() > 1) return false;
    if (wants_nvlink(r) && all.size() > 1) return false;
  }
  return true;
}

// The parts of a balanced gang, one in each domain, differ by one pod or one segment at most
// (GangRequest::balanced). A smaller last segment counts like the others.
bool is_even(const GangRequest& r, const std::vector<Names>& domains) {
  std::map<std::string, std::size_t> units;
  for (std::size_t first = 0; first < domains.size(); first += std::max(r.terms.segment, 1u)) {
    for (const std::string& domain : domains[first]) ++units[domain];
  }
  std::set<std::size_t> sizes;
  for (const auto& [domain, size] : units) sizes.insert(size);
  return sizes.empty() || *sizes.rbegin() - *sizes.begin() <= 1;
}

}  // namespace

void Oracle::judge_place(const Job& j, const fact::AttemptStarted& f) {
  judge_gpus(j, f);
  judge_together(j, f);
  judge_spare(j, f);
  judge_whole(j, f);
  judge_computing(j, f);
  judge_cpu(j, f);
  // The GPUs of a gang that asks for RDMA are on nodes of one fabric.
  bool rdma = false;
  Names fabrics;
  for (std::uint32_t rank = 0; rank < f.slots.size(); ++rank) {
    const PodShape& pod = shape_of(j, rank);
    if (pod.kind == GpuKind::kNone) continue;
    rdma = rdma || asks_rdma(pod);
    if (const Node* const n = node(f.slots[rank].node)) fabrics.insert(n->spec.fabric);
  }
  if (rdma && fabrics.size() > 1) wrong(name(f.id, 0) + " is on several RDMA fabrics");
}

void Oracle::judge_gpus(const Job& j, const fact::AttemptStarted& f) {
  if (f.slots.size() != j.gang_size) wrong(name(f.id, 0) + " was not started as a whole");
  std::vector<Slot> with = slots_;
  for (const PodSlot& s : f.slots) with.push_back({f.id, 0, 0, j.leaf, s, now_, now_, false, true});
  for (const PodSlot& s : f.slots) {
    const Node* const n = node(s.node);
    if (!n || !n->there || !n->spec.ready || !n->spec.unfit.empty() || n->spec.unschedulable ||
        n->drained || n->cluster != f.id.cluster()) {
      wrong(name(f.id, 0) + " was put on a node that takes no work");
      continue;
    }
    if (is_drained_before(*n, now_, length_of(j))) {
      wrong(name(f.id, 0) + " was put on a node that is drained before it is done");
    }
    MilliGpu total = 0;
    bool all_ours = true;
    // Cut GPUs and the others have separate capacities: a node that lost a GPU reports which kind
    // it was.
    const bool cut = s.gpu_mask == 0;
    for (const Slot& other : with) {
      if (other.at.node != s.node || (other.at.gpu_mask == 0) != cut) continue;
      total += other.at.milligpu;
      all_ours = all_ours && other.ours;
    }
    // Unhealthy GPUs are whole ones; slices are counted by profile.
    const std::int64_t ill = n->spec.mig_gpus > 0 ? 0 : n->spec.unhealthy_gpus;
    const std::int64_t gpus = cut ? n->spec.mig_gpus : n->spec.gpus - n->spec.mig_gpus - ill;
    const MilliGpu there = gpus * kMilliPerGpu;
    // A node may be above its GPUs already, because it has lost some. A non-GPU pod adds nothing.
    if (s.milligpu > 0 && all_ours && total > there)
      wrong(name(f.id, 0) + " lifts a node above its GPUs");
    // A whole GPU has no other holder.
    if (s.milligpu != std::popcount(s.gpu_mask) * kMilliPerGpu) continue;
    for (const Slot& other : slots_) {
      if (other.at.node == s.node && (other.at.gpu_mask & s.gpu_mask) != 0) {
        wrong(name(f.id, 0) + " got a GPU of " + name(other.job, other.rank));
      }
    }
  }
}

// Checks CPU beside the non-GPU pods, on nodes with pods placed only by Subak.
void Oracle::judge_cpu(const Job& j, const fact::AttemptStarted& f) {
  std::map<NodeId, std::int64_t> wanted;
  for (std::uint32_t rank = 0; rank < f.slots.size(); ++rank) {
    wanted[f.slots[rank].node] += shape_of(j, rank).cpu_milli;
  }
  for (const auto& [id, cpu] : wanted) {
    const Node& n = *node(id);
    if (cpu == 0 || n.spec.cpu_milli == 0) continue;
    std::int64_t used = cpu + n.others_cpu;
    bool all_ours = true;
    for (const Slot& s : slots_) {
      if (s.at.node != id) continue;
      used += shape_of(*job(s.job), s.rank).cpu_milli;
      all_ours = all_ours && s.ours;
    }
    if (all_ours && used > n.spec.cpu_milli) wrong(name(f.id, 0) + " lifts a node above its CPU");
  }
  judge_beside(j, f);
}

// Checks nodes whose GPUs all work and with pods placed only by Subak. MIG slices may each be on a
// card of their own.
void Oracle::judge_beside(const Job& j, const fact::AttemptStarted& f) {
  for (std::uint32_t mine = 0; mine < f.slots.size(); ++mine) {
    const PodShape& pod = shape_of(j, mine);
    const Node& n = *node(f.slots[mine].node);
    if (pod.kind != GpuKind::kNone || pod.cpu_milli == 0 || n.spec.cpu_milli == 0) continue;
    const std::int64_t uncut = n.spec.gpus - n.spec.mig_gpus;
    std::vector<MilliGpu> used(static_cast<std::size_t>(uncut));
    std::int64_t cpu = n.spec.cpu_milli - n.others_cpu, slices = 0;
    for (const MigSlices& m : n.spec.mig) slices += m.count;
    bool sure = n.spec.unhealthy_gpus == 0;
    const auto take = [&](const PodShape& shape, const PodSlot& at) {
      cpu -= shape.cpu_milli;
      if (shape.kind == GpuKind::kMig) slices -= shape.gpus;
      for (std::size_t gpu = 0; gpu < 64; ++gpu) {
        if ((at.gpu_mask >> gpu & 1) == 0) continue;
        sure = sure && gpu < used.size();
        if (gpu < used.size()) used[gpu] += at.milligpu / std::popcount(at.gpu_mask);
      }
    };
    for (const Slot& s : slots_) {
      if (s.at.node != n.id) continue;
      sure = sure && s.ours;
      take(shape_of(*job(s.job), s.rank), s.at);
    }
    for (std::uint32_t rank = 0; rank < f.slots.size(); ++rank) {
      if (f.slots[rank].node == n.id) take(shape_of(j, rank), f.slots[rank]);
    }
    const ClaimedHere claimed = claimed_on(n.id);  // it has its own CPU
    cpu -= claimed.cpu;
    slices -= claimed.slices;
    for (std::size_t gpu = 0; gpu < used.size(); ++gpu) {
      if ((claimed.gpus >> gpu & 1) != 0) used[gpu] = kMilliPerGpu;
    }
    const MilliGpu whole = n.spec.replicas > 1 ? kMilliPerGpu / n.spec.replicas * n.spec.replicas
                                               : MilliGpu{kMilliPerGpu};
    const std::int64_t free =
        std::count_if(used.begin(), used.end(), [&](MilliGpu u) { return u < whole; }) +
        std::min(n.spec.mig_gpus, slices);
    if (sure && cpu < free * policy_.gpu_headroom.cpu_milli) {
      wrong(name(f.id, mine) + " leaves " + std::to_string(cpu) + " milli-CPU to " +
            std::to_string(free) + " free GPUs");
    }
  }
}

// Checks segments and balance of all jobs, the rest of jobs of one shape; others may name a product
// for each.
void Oracle::judge_together(const Job& j, const fact::AttemptStarted& f) {
  std::vector<Names> domains;
  for (const PodSlot& s : f.slots) domains.push_back(domains_of(node(s.node)->spec, s));
  const GangRequest& r = j.request;
  if (!r.terms.prefer && !has_segments_together(r, f.slots, domains))
    wrong(name(f.id, 0) + " has a segment that is not together");
  if (r.terms.balanced && !r.terms.prefer && !is_even(r, domains))
    wrong(name(f.id, 0) + " is balanced, and its parts are not even");
  if (r.groups.size() != 1 || r.groups[0].shape.kind == GpuKind::kNone) return;
  const bool nvlink = !r.terms.prefer && (r.terms.topology == Topology::kNvlink ||
                                          r.terms.topology == Topology::kNvlinkExclusive);
  std::set<std::string> products;
  Names all;
  for (std::size_t rank = 0; rank < f.slots.size(); ++rank) {
    const NodeSpec& n = node(f.slots[rank].node)->spec;
    products.insert(n.product);
    all.merge(domains[rank]);
    const bool none = n.product == "NVIDIA-L40S" || (n.gpus_per_domain == 1 && n.clique.empty());
    if (nvlink && none) wrong(name(f.id, 0) + " has no NVLink");
  }
  if (products.size() > 1 && !r.terms.mixed_products)
    wrong(name(f.id, 0) + " got several products");
  if (r.terms.segment > 0) return;
  const bool one_node = !r.terms.prefer && r.terms.topology == Topology::kNode;
  if (one_node && std::any_of(f.slots.begin(), f.slots.end(),
                              [&](const PodSlot& s) { return s.node != f.slots.front().node; })) {
    wrong(name(f.id, 0) + " is on several nodes");
  }
  if (nvlink && !r.terms.balanced && all.size() > 1)
    wrong(name(f.id, 0) + " is in several NVLink domains");
}

// In each clique of a gang with `spare`, that many nodes stay free that hold no GPU pod and could
// serve it. A start does not take another gang's spare nodes.
void Oracle::judge_spare(const Job& j, const fact::AttemptStarted& f) {
  const auto clique_of = [&](NodeId id) {
    const Node& n = *node(id);
    return n.there && !n.spec.clique.empty() ? n.spec.clique : std::string();
  };
  const auto keeps = [](const Job& gang) {
    return gang.request.terms.spare > 0 && !gang.request.terms.prefer;
  };
  std::set<std::string> cliques;
  for (const PodSlot& s : f.slots) {
    if (s.milligpu > 0) cliques.insert(clique_of(s.node));
  }
  cliques.erase("");
  for (const std::string& clique : cliques) {
    std::set<NodeId> held, taken;
    std::map<JobId, std::set<std::string>> gangs;  // and the products that they hold there
    for (const Slot& s : slots_) {
      if (s.at.milligpu == 0 || clique_of(s.at.node) != clique) continue;
      if (node(s.at.node)->cluster != f.id.cluster()) continue;
      held.insert(s.at.node);
      if (keeps(*job(s.job))) gangs[s.job].insert(node(s.at.node)->spec.product);
    }
    for (const PodSlot& s : f.slots) {
      if (s.milligpu == 0 || clique_of(s.node) != clique) continue;
      taken.insert(s.node);
      if (keeps(j)) gangs[f.id].insert(node(s.node)->spec.product);
    }
    for (const auto& [id, products] : gangs) {
      const Job& gang = id == f.id ? j : *job(id);
      std::size_t before = 0, after = 0, nodes = 0;
      for (const Node& n : nodes_) {
        if (n.cluster != f.id.cluster() || !n.there || n.spec.clique != clique) continue;
        ++nodes;
        const bool free = !held.contains(n.id) && products.contains(n.spec.product) &&
                          could_serve(n.spec, gang.request);
        before += free ? 1 : 0;
        after += free && !taken.contains(n.id) ? 1 : 0;
      }
      const std::size_t wanted = gang.request.terms.spare;
      if (nodes > 1 && after < (id == f.id ? wanted : std::min(before, wanted))) {
        wrong(name(f.id, 0) + " leaves " + std::to_string(after) + " nodes of " + clique + " to " +
              name(id, 0) + ", which keeps " + std::to_string(wanted));
      }
    }
  }
}

std::string Oracle::home_of(NodeId id) {
  const Node* const n = node(id);
  if (n == nullptr || !n->there) return "";
  return n->spec.former_clique.empty() ? n->spec.clique : n->spec.former_clique;
}

// Returns the cliques of several working nodes without GPU pods: of each product those with most
// working GPUs, then those whose first node is the newest.
std::set<std::string> Oracle::reserved_domains(ClusterId cluster) {
  struct Clique {
    std::string product;
    std::int64_t working = 0, nodes = 0;
    NodeId low;
  };
  std::map<std::string, Clique> cliques;
  for (const Node& n : nodes_) {
    if (!n.there || n.cluster != cluster || n.spec.clique.empty()) continue;
    Clique& c = cliques[n.spec.clique];
    if (!c.low) c.low = n.id;
    if (c.product.empty() && n.spec.gpus > 0) c.product = n.spec.product;
    const std::int64_t whole = n.spec.gpus - n.spec.mig_gpus - n.spec.unhealthy_gpus;
    if (!is_open(n.id) || n.spec.replicas > 1 || !n.spec.former_clique.empty() || whole <= 0) {
      continue;
    }
    c.working += whole;
    ++c.nodes;
  }
  for (const Slot& s : slots_) {
    const Node* const n = node(s.at.node);
    if (s.at.milligpu > 0 && n->cluster == cluster) cliques.erase(home_of(s.at.node));
  }
  std::map<std::string, std::vector<std::tuple<std::int64_t, std::int64_t, std::string>>> order;
  for (const auto& [name, c] : cliques) {
    if (c.nodes > 1) order[c.product].push_back({-c.working, -std::int64_t{c.low.value}, name});
  }
  std::set<std::string> left;
  for (auto& [product, best] : order) {
    std::sort(best.begin(), best.end());
    for (std::size_t i = 0; i < std::min<std::size_t>(best.size(), policy_.gangs.keep_whole); ++i) {
      left.insert(std::get<2>(best[i]));
    }
  }
  return left;
}

// A gang that does not need several nodes of a clique must not use a clique left to gangs, except
// for nodes promised to it.
void Oracle::judge_whole(const Job& j, const fact::AttemptStarted& f) {
  if (policy_.gangs.keep_whole == 0) return;
  const GangRequest& r = j.request;
  const bool nvlink = r.terms.topology == Topology::kNvlink ||
                      r.terms.topology == Topology::kNvlinkExclusive ||
                      (r.terms.topology == Topology::kAny && r.terms.segment > 0);
  const std::uint32_t size = r.terms.segment > 0 ? r.terms.segment : r.pods();
  MilliGpu together = 0, here = 0;
  for (std::uint32_t rank = 0; nvlink && !r.terms.prefer && rank < r.pods(); ++rank) {
    const PodShape& pod = shape_of(j, rank);
    if (rank % size == 0) here = 0;
    here += pod.kind == GpuKind::kWhole      ? pod.gpus * kMilliPerGpu
            : pod.kind == GpuKind::kFraction ? pod.milligpu
                                             : 0;
    together = std::max(together, here);
  }
  const std::set<std::string> left = reserved_domains(f.id.cluster());
  if (!left.empty()) ++beside_whole_;
  const fact::Reserved* const promise = reservation(f.id);
  for (const PodSlot& s : f.slots) {
    const bool promised =
        claimed_now_ ||
        (promise != nullptr && std::any_of(promise->nodes.begin(), promise->nodes.end(),
                                           [&](const auto& kept) { return kept.node == s.node; }));
    const bool small = together <= node(s.node)->spec.gpus * kMilliPerGpu;
    if (s.milligpu > 0 && small && !promised && left.contains(home_of(s.node))) {
      wrong(name(f.id, 0) + " breaks into " + home_of(s.node) + ", which is left to gangs");
    }
  }
}

// Returns the other jobs with a ComputeDomain, and the nodes of this node's clique where they have
// GPUs.
std::map<JobId, std::set<NodeId>> Oracle::computing_beside(JobId id, NodeId at) {
  std::map<JobId, std::set<NodeId>> beside;
  const std::string clique = home_of(at);
  for (const Slot& s : slots_) {
    if (s.job == id || s.at.milligpu == 0 || !job(s.job)->request.terms.compute_domain) continue;
    const bool near = s.at.node == at || (!clique.empty() && home_of(s.at.node) == clique &&
                                          node(s.at.node)->cluster == node(at)->cluster);
    if (near) beside[s.job].insert(s.at.node);
  }
  return beside;
}

// Checks that a clique has at most the allowed number of gangs with a ComputeDomain, and a node at
// most one.
void Oracle::judge_computing(const Job& j, const fact::AttemptStarted& f) {
  if (!j.request.terms.compute_domain) return;
  for (const PodSlot& s : f.slots) {
    const auto beside = computing_beside(f.id, s.node);
    if (s.milligpu == 0 || beside.empty()) continue;
    const bool on_node = std::any_of(beside.begin(), beside.end(), [&](const auto& gang) {
      return gang.second.contains(s.node);
    });
    if (on_node) wrong(name(f.id, 0) + " shares a node with another ComputeDomain");
    if (policy_.gangs.clique_gangs > 0 && beside.size() >= policy_.gangs.clique_gangs) {
      wrong(name(f.id, 0) + " shares a clique with another ComputeDomain");
    }
  }
}

bool Oracle::barred(NodeId node, const PodShape& shape) const {
  return std::any_of(bars_.begin(), bars_.end(), [&](const Bar& b) {
    return b.node == node && b.until > now_ && b.shape == shape;
  });
}

bool Oracle::refused(JobId job, NodeId node) const {
  return std::any_of(refused_.begin(), refused_.end(),
                     [&](const fact::NodeBackedOff& b) { return b.job == job && b.node == node; });
}

void Oracle::on(const fact::NodeBackedOff& f) {
  if (!f.job) return;  // of a kubelet: turned_away() knows them
  std::erase_if(refused_, [&](const fact::NodeBackedOff& b) {
    return b.job == f.job && b.node == f.node && b.shape == f.shape;
  });
  if (f.barred && f.until_ms > now_) refused_.push_back(f);
}

// 10 s, doubled with each rejection in a row, at most 2 h; dropped 2 h past its end.
void Oracle::turned_away(const Slot& s, const PodShape& shape) {
  std::erase_if(bars_, [&](const Bar& b) { return b.until + 2 * kHourMs <= now_; });
  auto bar = std::find_if(bars_.begin(), bars_.end(),
                          [&](const Bar& b) { return b.node == s.at.node && b.shape == shape; });
  if (bar == bars_.end()) bar = bars_.insert(bar, Bar{s.at.node, shape, 0, 0});
  DurationMs length = 10'000;
  for (int i = 0; i < bar->times; ++i) length = std::min<DurationMs>(2 * length, 2 * kHourMs);
  ++bar->times;
  bar->until = now_ + length;
}

}  // namespace subak::sim
