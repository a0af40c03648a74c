#include "placement/fleet/views.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/must.h"
#include "model/mig.h"
#include "model/product.h"
#include "placement/fleet/fleet_impl.h"

namespace subak {
namespace {

MilliGpu free_on(const NodeState& n, GpuMask mask) {
  MilliGpu free = 0;
  for (std::size_t i = 0; n.open() && i < n.room.gpu_free.size(); ++i) {
    if ((mask >> i & 1) != 0) free += n.room.gpu_free[i];
  }
  return free;
}

void add_inner(std::vector<DomainRow>& rows, NodeId id, const NodeState& n) {
  const std::int64_t domains = inner_domains(n.spec);
  for (std::int64_t d = 0; d < domains; ++d) {
    const GpuMask mask = inner_domain_mask(n.spec, d);
    DomainRow row{n.cluster, domains > 1 ? "half-node" : "node", n.spec.name, {id}, 0, 0};
    if (domains > 1) row.name += '/' + std::to_string(d);
    for (GpuMask m = mask; m != 0; m &= m - 1) row.installed += kMilliPerGpu;
    row.free = free_on(n, mask);
    must(row.free <= row.installed, "no more is free in a domain than is installed");
    rows.push_back(std::move(row));
  }
}

// If the policy keeps nothing free for GPUs, a free GPU should have 1/kPartOfShare of the node's
// CPU and memory per GPU. It is only a part, because DaemonSets take some of every node, and few
// GPU pods request all CPU and memory of their GPUs.
constexpr std::int64_t kPartOfShare = 2;

struct Amount {
  std::int64_t all = 0;    // of the node; 0: unknown
  std::int64_t left = 0;   // now
  std::int64_t taken = 0;  // by non-GPU pods
  std::int64_t each = 0;   // for a GPU; 0: not configured
};

// Returns how many of `free` GPUs have too little of the resource but would have enough without
// non-GPU pods.
std::int64_t short_of(const Amount& a, std::int64_t node_gpus, std::int64_t free) {
  const std::int64_t each = a.each > 0 ? a.each : a.all / node_gpus / kPartOfShare;
  if (a.all <= 0 || each <= 0) return 0;
  const auto served = [&](std::int64_t left) {
    return std::min(free, std::max<std::int64_t>(0, left) / each);
  };
  const std::int64_t short_gpus = served(a.left + a.taken) - served(a.left);
  must(short_gpus >= 0 && short_gpus <= free, "only free GPUs are short");
  return short_gpus;
}

std::string quoted(const std::string& name) {
  return name.empty() ? "none" : std::string("\"").append(name).append("\"");
}

std::string in_a_row(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + quoted(name);
  return out;
}

}  // namespace

std::vector<DomainRow> domain_rows(const Fleet& fleet, ClusterId cluster) {
  const Fleet::Impl& impl = fleet.impl();
  std::vector<DomainRow> rows;
  for (const auto& group : impl.domains) {
    if (!group || group->cluster != cluster || group->name.empty() || group->members.empty())
      continue;
    DomainRow row{cluster, "clique", group->name, {}, 0, 0};
    for (const NodeIndex m : group->members) {
      const NodeState& n = *impl.nodes[m];
      row.nodes.emplace_back(m);
      row.installed += uncut_gpus(n.spec) * kMilliPerGpu;
      row.free += free_on(n, kAllGpus);
    }
    must(row.free <= row.installed, "no more is free in a domain than is installed");
    rows.push_back(std::move(row));
  }
  for (const NodeId id : fleet.nodes(cluster)) {
    const NodeState& n = impl.at(id);
    const bool alone = n.spec.clique.empty();
    if (uncut_gpus(n.spec) > 0 && (alone || inner_domains(n.spec) > 1)) add_inner(rows, id, n);
  }
  return rows;
}

std::vector<MigRow> mig_rows(const Fleet& fleet, ClusterId cluster) {
  const Fleet::Impl& impl = fleet.impl();
  std::vector<MigRow> rows;
  for (const NodeId id : fleet.nodes(cluster)) {
    const NodeState& n = impl.at(id);
    const auto first = std::ssize(rows);
    for (std::size_t i = 0; i < n.spec.mig.size(); ++i) {
      const MigSlices& m = n.spec.mig[i];
      rows.push_back({id, m.profile, m.count, 0, n.open() ? n.room.mig_free[i] : 0});
    }
    for (const MigUse& u : n.load.mig_used) {
      if (u.slices == 0) continue;
      auto it = std::find_if(rows.begin() + first, rows.end(),
                             [&](const MigRow& r) { return r.profile == u.profile; });
      if (it == rows.end()) it = rows.insert(it, {id, u.profile, 0, 0, 0});
      it->used = u.slices;
    }
  }
  return rows;
}

std::int64_t largest_node_gpus(const Fleet& fleet, ClusterId cluster, std::string_view product) {
  const bool any = product.empty() || product == kAnyProduct;
  std::int64_t most = 0;
  for (const auto& n : fleet.impl().nodes) {
    if (!n || !n->present || n->cluster != cluster) continue;
    if (any || base_product(n->spec.product) == base_product(product)) {
      most = std::max(most, n->spec.gpus);
    }
  }
  return most;
}

NodeNonGpuUse node_non_gpu_use(const Fleet::Impl& fleet, const Load& load) {
  NodeNonGpuUse out{load.others.pods, load.others.cpu_milli, load.others.memory_bytes};
  for (const Hold& h : load.holds) {
    const Shape& s = fleet.shape(h.shape);
    if (!s.non_gpu) continue;
    const PodShape& pod = *s.pods_of(h.rank).shape;
    if (pod.kind != GpuKind::kNone) continue;
    ++out.pods;
    out.cpu_milli += pod.cpu_milli;
    out.memory_bytes += pod.memory_bytes;
  }
  return out;
}

NonGpuUse non_gpu_use(const Fleet& fleet, ClusterId cluster) {
  const Fleet::Impl& impl = fleet.impl();
  NonGpuUse out;
  std::map<DomainIndex, std::int64_t> domains;  // and how many of their GPUs are short
  for (const NodeId id : fleet.nodes(cluster)) {
    const NodeState& n = impl.at(id);
    if (n.spec.gpus <= 0) continue;
    const NodeNonGpuUse use = node_non_gpu_use(impl, n.load);
    out.pods += use.pods;
    out.cpu_milli += use.cpu_milli;
    out.memory_bytes += use.memory_bytes;
    const std::int64_t free = n.open() ? free_gpus(n.spec, n.room) : 0;
    const Amount cpu{n.spec.cpu_milli, n.room.cpu_milli, use.cpu_milli, impl.headroom.cpu_milli};
    const Amount memory{n.spec.memory_bytes, n.room.memory_bytes, use.memory_bytes,
                        impl.headroom.memory_bytes};
    const std::int64_t of_cpu = short_of(cpu, n.spec.gpus, free);
    const std::int64_t of_memory = short_of(memory, n.spec.gpus, free);
    const std::int64_t here = std::max(of_cpu, of_memory);
    if (here == 0) continue;
    ++out.broken_nodes;
    out.broken_free_gpus += free;
    out.short_gpus += here;
    out.broken_pods += use.pods;
    out.short_of_cpu |= of_cpu > 0;
    out.short_of_memory |= of_memory > 0;
    domains[n.domain] += here;
  }
  must(out.short_gpus <= out.broken_free_gpus, "only free GPUs are short");
  out.broken_domains = std::ssize(domains);
  for (const auto& [domain, gpus] : domains) {
    must(gpus > 0 && gpus <= out.short_gpus, "a domain's short GPUs are among all");
    if (gpus <= out.largest_short_gpus) continue;
    const Group& group = *impl.domains[domain];
    out.largest_short_gpus = gpus;
    out.largest = group.name.empty() ? impl.nodes[group.members.front()]->spec.name : group.name;
  }
  return out;
}

std::vector<std::string> topology_contradictions(const Fleet& fleet, ClusterId cluster,
                                                 std::size_t most) {
  const Fleet::Impl& impl = fleet.impl();
  std::vector<std::string> out;
  if (impl.topology.named() == 0) return out;
  const auto say = [&](std::string text) {
    if (out.size() < most) out.push_back(std::move(text));
  };
  for (std::size_t k = 0; k + 1 < impl.topology.depth(); ++k) {
    std::map<std::string, std::set<std::string>> stands_in;
    for (const auto& [key, index] : impl.topology.by_name(k)) {
      const Group& group = *impl.topology.groups(k)[index];
      if (std::get<2>(key) != k || group.cluster != cluster || group.members.empty()) continue;
      const NodeSpec& node = impl.nodes[group.members.front()]->spec;
      if (node.level(k).empty()) continue;  // a clique's name
      stands_in[group.name].insert(node.level(k + 1));
    }
    for (const auto& [name, above] : stands_in) {
      if (above.size() < 2) continue;
      say(quoted(name) + " of topology level " + std::to_string(k) +
          " has nodes in several groups of level " + std::to_string(k + 1) + ": " +
          in_a_row(above) + "; it is taken as one in each");
    }
  }
  for (const auto& domain : impl.domains) {
    if (!domain || domain->cluster != cluster || domain->name.empty()) continue;
    std::set<std::string> racks;
    for (const NodeIndex m : domain->members) racks.insert(impl.nodes[m]->spec.level(0));
    if (racks.size() < 2) continue;
    say("clique " + quoted(domain->name) + " has nodes in several groups of topology level 0: " +
        in_a_row(racks) + "; it stays one NVLink domain");
  }
  return out;
}

}  // namespace subak
