#include <optional>
#include <utility>

#include "core/content_hash.h"
#include "server/edge/cache/cluster_cache.h"
#include "server/edge/cache/gangs.h"

namespace subak {
namespace {

in::GangSeen gang_of(const std::string& cluster, const PodRecord& pod) {
  return {cluster, pod.ns, pod.gang, pod.owner, {}, 1, 0};
}

// Kueue assumes that all pods of such a group have the same requests.
std::optional<in::GangSeen> late_in_group(const std::string& cluster, const Pod& pod,
                                          const PodRecord& first) {
  if (!starts_with_first(pod) || first.rank > 0) return std::nullopt;
  in::GangSeen seen = gang_of(cluster, first);
  seen.groups = {{first.gang_size, first.shape}};
  return seen;
}

// The workers of a LeaderWorkerSet are created when their leader is ready.
std::optional<in::GangSeen> late_workers(const OwnerCache& owners, const std::string& cluster,
                                         const Pod& pod, const PodRecord& leader) {
  if (leader.rank != 0 || worker_set_of(pod).empty()) return std::nullopt;
  const std::string set_uid = owners.worker_set(namespaced_name(pod.ns, worker_set_of(pod)));
  const OwnerEntry* const set = set_uid.empty() ? nullptr : owners.find(set_uid);
  const bool its = set != nullptr && leader.owner.starts_with(set_uid + "+");
  if (!its || set->late.workers == nullptr || set->without_gpus > 0) return std::nullopt;
  in::GangSeen seen = gang_of(cluster, leader);
  PodShape late = set->late.as_leader ? leader.shape : *set->late.workers;
  late.tolerations = leader.shape.tolerations;
  seen.groups = {{1, leader.shape}, {leader.gang_size - 1, std::move(late)}};
  return seen;
}

// The other pods of each job of a JobSet are created when its first pod has a node. If the JobSet
// has several jobs, their first pods must be known by rank.
std::optional<in::GangSeen> late_in_jobs(const OwnerCache& owners, const std::string& cluster,
                                         const Pod& pod, const PodRecord& first) {
  const OwnerEntry* const owner = owners.find(std::string(pod.owner.uid));
  const OwnerEntry* const set = owner == nullptr ? nullptr : owners.find(owner->parent);
  if (set == nullptr || set->late.firsts.empty()) return std::nullopt;
  in::GangSeen seen = gang_of(cluster, first);
  seen.each = set->late.firsts.front().pods;
  const Text name = find_text(pod.labels, "jobset.sigs.k8s.io/replicatedjob-name");
  std::uint32_t pods = 0;
  for (const JobsOfSet& jobs : set->late.firsts) {
    pods += jobs.copies * jobs.pods;
    seen.groups.push_back({jobs.copies * jobs.pods, jobs.name == name ? first.shape : jobs.shape});
  }
  const bool ranked = first.rank >= 0 || pods == seen.each;
  const bool is_first = first.rank < 0 || static_cast<std::uint32_t>(first.rank) % seen.each == 0;
  if (pods != first.gang_size || !ranked || !is_first || seen.each < 2) return std::nullopt;
  return seen;
}

// An operator creates the pods of some roles only when the other pods run, such as the launcher of
// an MPIJob. Each pod of the first two replicas says so, since either may be the first of its role.
std::optional<in::GangSeen> late_roles(const OwnerCache& owners, const std::string& cluster,
                                       const Pod& pod, const PodRecord& first) {
  const OwnerEntry* const owner = owners.find(std::string(pod.owner.uid));
  if (owner == nullptr || owner->late.roles.empty()) return std::nullopt;
  const Text replica = find_text(pod.labels, "training.kubeflow.org/replica-index");
  if (!replica.empty() && replica != "0" && replica != "1") return std::nullopt;
  in::GangSeen seen = gang_of(cluster, first);
  const Text name = role_of(*owner->row, pod);
  std::uint32_t pods = 0;
  for (const JobsOfSet& role : owner->late.roles) {
    if (role.copies == 0) continue;
    seen.groups.push_back({role.copies * role.pods, role.name == name ? first.shape : role.shape});
    if (role.name != name) seen.groups.back().shape.tolerations = first.shape.tolerations;
    pods += role.copies * role.pods;
  }
  seen.least = owner->late.at_once;
  return pods == first.gang_size ? std::optional(std::move(seen)) : std::nullopt;
}

}  // namespace

std::optional<in::GangSeen> late_pods(const OwnerCache& owners, const std::string& cluster,
                                      const Pod& pod, const PodRecord& first) {
  std::optional<in::GangSeen> seen = late_workers(owners, cluster, pod, first);
  if (!seen) seen = late_in_jobs(owners, cluster, pod, first);
  if (!seen) seen = late_roles(owners, cluster, pod, first);
  if (!seen) seen = late_in_group(cluster, pod, first);
  return seen;
}

void ClusterCache::tell_late_pods(const std::string& uid, PodEntry& entry, const Pod& pod,
                                  const PodRecord& first) {
  GpuPodEntry& gpu = *entry.gpu;
  if (!gpu.gated || gpu.ended || first.gang_size < 2) return;
  std::optional<in::GangSeen> seen = late_pods(owners_, outbox_.cluster(), pod, first);
  if (!seen) return;
  const std::uint64_t digest = content_hash(to_text(*seen));
  if (digest == gpu.gang_told.late_members) return;
  gpu.gang_told.late_members = digest;
  outbox_.changed(about::LatePods{uid}, *std::move(seen));
}

}  // namespace subak
