#include "placement/gpus/room.h"

#include <algorithm>
#include <bit>

#include "core/limits.h"
#include "core/must.h"
#include "model/mig.h"
#include "placement/gpus/eligibility.h"

namespace subak {
namespace {

constexpr int kMaxGpus = static_cast<int>(limits::kMaxGpusPerNode);

MilliGpu free_of(const Room& room, int gpu) {
  const auto i = static_cast<std::size_t>(gpu);
  return i < room.gpu_free.size() ? room.gpu_free[i] : 0;
}

template <class F>
void for_bits(GpuMask mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
}

GpuMask lowest_of(GpuMask mask, std::int64_t n) {
  GpuMask out = 0;
  for (; n > 0 && mask != 0; --n, mask &= mask - 1) out |= mask & (~mask + 1);
  return out;
}

// Picks `need` GPUs in the inner domain with the fewest free GPUs that has enough. If no domain has
// enough, takes the domains with the most free GPUs first, so that the pod is in few domains.
GpuMask pick_whole(const NodeSpec& node, GpuMask free, std::int64_t need) {
  const std::int64_t domains = inner_domains(node);
  if (domains <= 1) return lowest_of(free, need);
  GpuMask taken = 0;
  while (need > 0) {
    GpuMask tightest = 0, roomiest = 0;
    int least = kMaxGpus + 1, most = 0;
    for (std::int64_t d = 0; d < domains; ++d) {
      const GpuMask here = free & ~taken & inner_domain_mask(node, d);
      const int count = std::popcount(here);
      if (count >= need && count < least) least = count, tightest = here;
      if (count > most) most = count, roomiest = here;
    }
    const GpuMask from = tightest != 0 ? tightest : roomiest;
    must(from != 0, "a pod that fits finds its GPUs");
    const GpuMask got = lowest_of(from, need);
    taken |= got;
    need -= std::popcount(got);
  }
  return taken;
}

// Picks the GPU with the least free milli-GPU that has at least `need` free, and among equal ones
// the lowest index. Returns 0 if there is none.
GpuMask pick_tightest(const Room& room, GpuMask allowed, MilliGpu need) {
  GpuMask best = 0;
  MilliGpu least = kUnlimited;
  for_bits(room.usable & allowed, [&](int gpu) {
    const MilliGpu free = free_of(room, gpu);
    if (free >= need && free < least) least = free, best = GpuMask{1} << gpu;
  });
  return best;
}

// Divides the replicas of one pod evenly over as few GPUs as possible.
GpuMask pick_replicas(const NodeSpec& node, const Room& room, GpuMask allowed,
                      std::int64_t replicas) {
  const MilliGpu each = replica_milligpu(node);
  const int most = std::popcount(room.usable & allowed);
  for (int gpus = 1; gpus <= most && gpus <= replicas; ++gpus) {
    const MilliGpu need = (replicas + gpus - 1) / gpus * each;
    GpuMask taken = 0;
    for (int i = 0; i < gpus; ++i) {
      const GpuMask next = pick_tightest(room, allowed & ~taken, need);
      if (next == 0) break;
      taken |= next;
    }
    if (std::popcount(taken) == gpus) return taken;
  }
  return 0;
}

std::int64_t replica_pods(const NodeSpec& node, const Room& room, const PodShape& pod,
                          GpuMask allowed, std::int64_t limit) {
  Room scratch = room;
  std::int64_t n = 0;
  for (; n < limit; ++n) {
    const GpuMask mask = pick_replicas(node, scratch, allowed, pod.gpus);
    if (mask == 0) break;
    const PodSlot slot{NodeId(), mask, pod_milligpu(node, pod)};
    int i = 0;
    for_bits(mask, [&](int gpu) {
      scratch.gpu_free[static_cast<std::size_t>(gpu)] -=
          static_cast<std::int32_t>(share_of_gpu(pod, slot, i++, std::popcount(mask)));
    });
  }
  return n;
}

// True if a container of the pod asks for more than the kubelet or the device plugin gives to one.
bool too_much_for_a_container(const NodeSpec& node, const PodShape& pod) {
  const std::int64_t most = most_in_container(pod);
  if (pod.kind == GpuKind::kWhole) return node.numa_gpus > 0 && most > node.numa_gpus;
  return pod.kind == GpuKind::kShared && node.one_replica && most > 1;
}

std::int64_t gpu_pods(const NodeSpec& node, const Room& room, const PodShape& pod, GpuMask allowed,
                      std::int64_t limit) {
  if (too_much_for_a_container(node, pod)) return 0;
  const auto split = [&](MilliGpu each) {
    std::int64_t n = 0;
    for_bits(room.usable & allowed, [&](int gpu) { n += free_of(room, gpu) / each; });
    return n;
  };
  switch (pod.kind) {
    case GpuKind::kNone:
      return limit;
    case GpuKind::kWhole:
      return pod.gpus > 0 ? std::popcount(room.whole & allowed) / pod.gpus : limit;
    case GpuKind::kMig: {
      const int i = mig_index(node, pod.profile);
      if (i < 0 || allowed != kAllGpus) return 0;
      return pod.gpus > 0
                 ? std::max<std::int64_t>(0, room.mig_free[static_cast<std::size_t>(i)]) / pod.gpus
                 : limit;
    }
    case GpuKind::kFraction:
      return node.replicas > 1 || pod.milligpu <= 0 ? 0 : split(pod.milligpu);
    case GpuKind::kShared:
      if (node.replicas <= 1 || pod.gpus <= 0) return 0;
      return pod.gpus == 1 ? split(replica_milligpu(node))
                           : replica_pods(node, room, pod, allowed, limit);
  }
  return 0;
}

// True if the pod must leave CPU and memory free for free GPUs (Room::headroom).
bool must_leave_headroom(const Room& room, const PodShape& pod, const Ignore& ignore) {
  return pod.kind == GpuKind::kNone && room.headroom.any() && !ignore.headroom;
}

std::int64_t per_pod(std::int64_t have, std::int64_t need) {
  return need <= 0 ? kUnlimited : std::max<std::int64_t>(0, have) / need;
}

bool ports_free(const Room& room, const PodShape& pod) {
  return std::none_of(pod.host_ports.begin(), pod.host_ports.end(), [&](const HostPort& want) {
    return std::any_of(room.ports.begin(), room.ports.end(),
                       [&](const HostPort& taken) { return eligibility::clash(want, taken); });
  });
}

bool ports_clash_with_self(const PodShape& pod) {
  return std::any_of(pod.host_ports.begin(), pod.host_ports.end(),
                     [](const HostPort& p) { return p.port > 0; });
}

// Calls fn(group) once for each group of the pod's topology spread constraints.
template <class F>
void each_group(const PodShape& pod, F&& fn) {
  for (auto it = pod.spread.begin(); it != pod.spread.end(); ++it) {
    const auto same = [&](const TopologySpread& other) { return other.group == it->group; };
    if (std::none_of(pod.spread.begin(), it, same)) fn(it->group);
  }
}

void apply(const NodeSpec& node, Room& room, const PodShape& pod, const PodSlot& slot, int sign) {
  const int gpus = std::popcount(slot.gpu_mask);
  int i = 0;
  for_bits(slot.gpu_mask, [&](int gpu) {
    auto& free = room.gpu_free[static_cast<std::size_t>(gpu)];
    free -= static_cast<std::int32_t>(sign * share_of_gpu(pod, slot, i++, gpus));
    const GpuMask bit = GpuMask{1} << gpu;
    const bool whole = node.replicas <= 1 && free == kMilliPerGpu && (room.usable & bit) != 0;
    room.whole = whole ? room.whole | bit : room.whole & ~bit;
  });
  if (pod.kind == GpuKind::kMig) {
    const int profile = mig_index(node, pod.profile);
    must(profile >= 0, "a pod on slices is on a node that has them");
    room.mig_free[static_cast<std::size_t>(profile)] -= sign * pod.gpus;
  }
  if (room.cpu_milli != kUnlimited) room.cpu_milli -= sign * pod.cpu_milli;
  if (room.memory_bytes != kUnlimited) room.memory_bytes -= sign * pod.memory_bytes;
  if (room.pods != kUnlimited) room.pods -= sign;
  for (const ResourceCount& r : pod.extended) {
    const int e = extended_index(node, r.name);
    if (e >= 0) room.extended[static_cast<std::size_t>(e)] -= sign * r.count;
  }
}

}  // namespace

std::int64_t uncut_gpus(const NodeSpec& node) {
  return std::clamp<std::int64_t>(node.gpus - node.mig_gpus, 0, kMaxGpus);
}

GpuMask low_bits(std::int64_t n) {
  return n >= kMaxGpus ? kAllGpus : (GpuMask{1} << std::max<std::int64_t>(n, 0)) - 1;
}

MilliGpu replica_milligpu(const NodeSpec& node) {
  return node.replicas > 1 ? kMilliPerGpu / node.replicas : kMilliPerGpu;
}

MilliGpu gpu_capacity(const NodeSpec& node) {
  return node.replicas > 1 ? node.replicas * replica_milligpu(node) : kMilliPerGpu;
}

std::int64_t inner_domains(const NodeSpec& node) {
  const std::int64_t uncut = uncut_gpus(node);
  if (node.gpus_per_domain <= 1 || node.gpus_per_domain >= uncut) return 1;
  return (uncut + node.gpus_per_domain - 1) / node.gpus_per_domain;
}

GpuMask inner_domain_mask(const NodeSpec& node, std::int64_t index) {
  const GpuMask all = low_bits(uncut_gpus(node));
  const std::int64_t domains = inner_domains(node);
  if (domains <= 1) return all;
  must(index >= 0 && index < domains, "a domain inside a node is one of its domains");
  const std::int64_t size = node.gpus_per_domain;
  return (low_bits(size) << (index * size)) & all;
}

Room empty_room(const NodeSpec& node) {
  Room room;
  const std::int64_t uncut = uncut_gpus(node);
  room.usable = low_bits(uncut);
  room.whole = node.replicas > 1 ? 0 : room.usable;
  room.gpu_free.assign(static_cast<std::size_t>(uncut),
                       static_cast<std::int32_t>(gpu_capacity(node)));
  must(std::popcount(room.usable) == uncut, "each GPU that is not cut has a bit");
  for (const MigSlices& m : node.mig) room.mig_free.push_back(m.count);
  for (const ResourceCount& r : node.extended) room.extended.push_back(r.count);
  if (node.cpu_milli > 0) room.cpu_milli = node.cpu_milli;
  if (node.memory_bytes > 0) room.memory_bytes = node.memory_bytes;
  if (node.pod_slots > 0) room.pods = node.pod_slots;
  return room;
}

MilliGpu pod_milligpu(const NodeSpec& node, const PodShape& pod) {
  switch (pod.kind) {
    case GpuKind::kNone:
      return 0;
    case GpuKind::kWhole:
      return pod.gpus * kMilliPerGpu;
    case GpuKind::kShared:
      return pod.gpus * replica_milligpu(node);
    case GpuKind::kMig:
      // A pod may run on a node whose devices were not seen yet. It is charged all the same.
      return pod.gpus * mig_slice_milligpu(node.product, pod.profile)
                            .value_or(least_mig_slice_milligpu(pod.profile));
    case GpuKind::kFraction:
      return pod.milligpu;
  }
  return 0;
}

MilliGpu share_of_gpu(const PodShape& pod, const PodSlot& slot, int i, int gpus) {
  if (pod.kind == GpuKind::kWhole) return kMilliPerGpu;
  const std::int64_t units = pod.kind == GpuKind::kShared ? pod.gpus : 1;
  if (units <= 0) return 0;
  const std::int64_t mine = units / gpus + (i < units % gpus ? 1 : 0);
  return mine * (slot.milligpu / units);
}

std::int64_t pods_that_fit(const NodeSpec& node, const Room& room, const PodShape& pod,
                           GpuMask allowed, std::int64_t limit, const Ignore& ignore) {
  std::int64_t n = std::min(limit, gpu_pods(node, room, pod, allowed, limit));
  if (n <= 0) return 0;
  const GpuHeadroom headroom =
      must_leave_headroom(room, pod, ignore) ? headroom_of(node, room) : GpuHeadroom();
  if (!ignore.cpu) n = std::min(n, per_pod(room.cpu_milli - headroom.cpu_milli, pod.cpu_milli));
  if (!ignore.memory) {
    n = std::min(n, per_pod(room.memory_bytes - headroom.memory_bytes, pod.memory_bytes));
  }
  if (!ignore.pods) n = std::min(n, per_pod(room.pods, 1));
  if (!ignore.extended) {
    for (const ResourceCount& r : pod.extended) {
      const int e = extended_index(node, r.name);
      n = std::min(n, per_pod(e < 0 ? 0 : room.extended[static_cast<std::size_t>(e)], r.count));
    }
  }
  if (!ignore.ports && n > 0 && !pod.host_ports.empty()) {
    if (!ports_free(room, pod)) return 0;
    if (ports_clash_with_self(pod)) n = std::min<std::int64_t>(n, 1);
  }
  return n;
}

std::int64_t free_gpus(const NodeSpec& node, const Room& room) {
  std::int64_t free = room.free_and_kept;
  for_bits(room.usable, [&](int gpu) { free += free_of(room, gpu) > 0 ? 1 : 0; });
  std::int64_t slices = 0;
  for (const std::int64_t of_profile : room.mig_free)
    slices += std::max<std::int64_t>(0, of_profile);
  return free + std::min(slices, node.mig_gpus);
}

GpuHeadroom headroom_of(const NodeSpec& node, const Room& room) {
  const std::int64_t gpus = free_gpus(node, room);
  return {room.cpu_milli == kUnlimited ? 0 : gpus * room.headroom.cpu_milli,
          room.memory_bytes == kUnlimited ? 0 : gpus * room.headroom.memory_bytes};
}

bool leaves_headroom(const NodeSpec& node, const Room& room, const PodShape& pod,
                     const Ignore& ignore) {
  if (!must_leave_headroom(room, pod, ignore)) return true;
  const GpuHeadroom headroom = headroom_of(node, room);
  return (ignore.cpu || pod.cpu_milli <= 0 || room.cpu_milli >= headroom.cpu_milli) &&
         (ignore.memory || pod.memory_bytes <= 0 || room.memory_bytes >= headroom.memory_bytes);
}

bool fits(const NodeSpec& node, const Room& room, const PodShape& pod, GpuMask allowed,
          const Ignore& ignore) {
  return pods_that_fit(node, room, pod, allowed, 1, ignore) > 0;
}

std::optional<PodSlot> choose(NodeId id, const NodeSpec& node, const Room& room,
                              const PodShape& pod, GpuMask allowed, const Ignore& ignore) {
  if (!fits(node, room, pod, allowed, ignore)) return std::nullopt;
  PodSlot slot{id, 0, pod_milligpu(node, pod)};
  switch (pod.kind) {
    case GpuKind::kWhole:
      slot.gpu_mask = pick_whole(node, room.whole & allowed, pod.gpus);
      break;
    case GpuKind::kFraction:
      slot.gpu_mask = pick_tightest(room, allowed, pod.milligpu);
      break;
    case GpuKind::kShared:
      slot.gpu_mask = pick_replicas(node, room, allowed, pod.gpus);
      break;
    case GpuKind::kNone:
    case GpuKind::kMig:
      break;
  }
  must((slot.gpu_mask & ~(room.usable & allowed)) == 0, "a pod gets GPUs that it may have");
  return slot;
}

MilliGpu tightest_gpu(const NodeSpec& node, const Room& room, const PodShape& pod) {
  const MilliGpu need =
      pod.kind == GpuKind::kShared ? replica_milligpu(node) : std::max<MilliGpu>(1, pod.milligpu);
  const GpuMask mask = pick_tightest(room, kAllGpus, need);
  return mask == 0 ? kUnlimited : free_of(room, std::countr_zero(mask));
}

void consume(const NodeSpec& node, Room& room, const PodShape& pod, const PodSlot& slot) {
  apply(node, room, pod, slot, 1);
  room.ports.insert(room.ports.end(), pod.host_ports.begin(), pod.host_ports.end());
  add_groups(room.groups, pod);
}

void release(const NodeSpec& node, Room& room, const PodShape& pod, const PodSlot& slot) {
  apply(node, room, pod, slot, -1);
  for (const HostPort& p : pod.host_ports) {
    const auto it = std::find(room.ports.rbegin(), room.ports.rend(), p);
    must(it != room.ports.rend(), "a port that is freed was taken");
    room.ports.erase(std::next(it).base());
  }
  drop_groups(room.groups, pod);
}

void add_groups(std::vector<std::int64_t>& groups, const PodShape& pod) {
  each_group(pod, [&](std::int64_t group) {
    groups.insert(std::upper_bound(groups.begin(), groups.end(), group), group);
  });
}

void drop_groups(std::vector<std::int64_t>& groups, const PodShape& pod) {
  each_group(pod, [&](std::int64_t group) {
    const auto at = std::lower_bound(groups.begin(), groups.end(), group);
    must(at != groups.end() && *at == group, "a pod that leaves a node was in its groups");
    groups.erase(at);
  });
}

int mig_index(const NodeSpec& node, const std::string& profile) {
  for (std::size_t i = 0; i < node.mig.size(); ++i) {
    if (node.mig[i].profile == profile) return static_cast<int>(i);
  }
  return -1;
}

int extended_index(const NodeSpec& node, const std::string& name) {
  for (std::size_t i = 0; i < node.extended.size(); ++i) {
    if (node.extended[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace subak
