// Non-GPU pods on nodes with GPUs: what they take, and which free GPUs lack resources because of
// them.
#include <algorithm>
#include <map>

#include "placement/fleet/fleet_impl.h"

namespace subak {
namespace {

// Without a configured reserve per GPU: this part of the node's resources per GPU. It is not all of
// it: DaemonSets take some of every node, and few GPU pods request everything beside their GPUs.
constexpr std::int64_t kPartOfShare = 2;

struct Amount {
  std::int64_t all = 0;    // of the node; 0: unknown
  std::int64_t left = 0;   // now
  std::int64_t taken = 0;  // by non-GPU pods
  std::int64_t each = 0;   // for a GPU; 0: not configured
};

// Of `free` GPUs, returns how many have too little and would have enough without non-GPU pods.
std::int64_t short_of(const Amount& a, std::int64_t node_gpus, std::int64_t free) {
  const std::int64_t each = a.each > 0 ? a.each : a.all / node_gpus / kPartOfShare;
  if (a.all <= 0 || each <= 0) return 0;
  const auto served = [&](std::int64_t left) {
    return std::min(free, std::max<std::int64_t>(0, left) / each);
  };
  return served(a.left + a.taken) - served(a.left);
}

}  // namespace

NodeNonGpuUse node_non_gpu_use(const Fleet::Impl& fleet, const Load& load) {
  NodeNonGpuUse out{load.others.pods, load.others.cpu_milli, load.others.memory_bytes};
  for (const Hold& h : load.holds) {
    const Shape& s = fleet.shape(h.shape);
    if (!s.non_gpu) continue;
    const PodShape& pod = *fleet.pods_of(s, h.rank).shape;
    if (pod.kind != GpuKind::kNone) continue;
    ++out.pods;
    out.cpu_milli += pod.cpu_milli;
    out.memory_bytes += pod.memory_bytes;
  }
  return out;
}

NonGpuUse Fleet::non_gpu_use(ClusterId cluster) const {
  NonGpuUse out;
  std::map<DomainIndex, std::int64_t> domains;  // and how many of their GPUs are short
  for (const NodeId id : nodes(cluster)) {
    const NodeState& n = impl_->at(id);
    if (n.spec.gpus <= 0) continue;
    const NodeNonGpuUse use = node_non_gpu_use(*impl_, n.load);
    out.pods += use.pods;
    out.cpu_milli += use.cpu_milli;
    out.memory_bytes += use.memory_bytes;
    const std::int64_t free = n.open() ? free_gpus(n.spec, n.room) : 0;
    const Amount cpu{n.spec.cpu_milli, n.room.cpu_milli, use.cpu_milli, impl_->headroom.cpu_milli};
    const Amount memory{n.spec.memory_bytes, n.room.memory_bytes, use.memory_bytes,
                        impl_->headroom.memory_bytes};
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
  out.broken_domains = std::ssize(domains);
  for (const auto& [domain, gpus] : domains) {
    if (gpus <= out.largest_short_gpus) continue;
    const Group& group = *impl_->domains[domain];
    out.largest_short_gpus = gpus;
    out.largest = group.name.empty() ? impl_->nodes[group.members.front()]->spec.name : group.name;
  }
  return out;
}

}  // namespace subak
