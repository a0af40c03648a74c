// Members of a gang that are created only when the first ones run (docs/design/0037). Their
// requests are reported after the first ones. Admission may change each pod, which only the first
// pods show. So members of the same template get the shape of the first pods.
#include <optional>
#include <utility>

#include "core/content_hash.h"
#include "server/edge/cluster/cluster_cache.h"

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

}  // namespace

// The workers of a LeaderWorkerSet are created when their leader is ready.
std::optional<in::GangSeen> ClusterCache::late_workers(const Pod& pod,
                                                       const PodRecord& leader) const {
  if (leader.rank != 0 || worker_set_of(pod).empty()) return std::nullopt;
  std::string set_uid;
  const OwnerEntry* const set = find_worker_set(pod, set_uid);
  const bool its = set != nullptr && leader.owner.starts_with(set_uid + "+");
  if (!its || set->late == nullptr || set->without_gpus > 0) return std::nullopt;
  in::GangSeen seen = gang_of(cluster_, leader);
  PodShape late = set->late_as_leader ? leader.shape : *set->late;
  late.tolerations = leader.shape.tolerations;
  seen.groups = {{1, leader.shape}, {leader.gang_size - 1, std::move(late)}};
  return seen;
}

// The other pods of each job of a JobSet are created when its first pod has a node. If the JobSet
// has several jobs, their first pods must be known by rank.
std::optional<in::GangSeen> ClusterCache::late_in_jobs(const Pod& pod,
                                                       const PodRecord& first) const {
  const OwnerEntry* const owner = find_owner(std::string(pod.owner.uid));
  const OwnerEntry* const set = owner == nullptr ? nullptr : find_owner(owner->parent);
  if (set == nullptr || set->firsts.empty()) return std::nullopt;
  in::GangSeen seen = gang_of(cluster_, first);
  seen.each = set->firsts.front().pods;
  const Text name = find_text(pod.labels, "jobset.sigs.k8s.io/replicatedjob-name");
  std::uint32_t pods = 0;
  for (const JobsOfSet& jobs : set->firsts) {
    pods += jobs.copies * jobs.pods;
    seen.groups.push_back({jobs.copies * jobs.pods, jobs.name == name ? first.shape : jobs.shape});
  }
  const bool ranked = first.rank >= 0 || pods == seen.each;
  const bool is_first = first.rank < 0 || static_cast<std::uint32_t>(first.rank) % seen.each == 0;
  if (pods != first.gang_size || !ranked || !is_first || seen.each < 2) return std::nullopt;
  return seen;
}

void ClusterCache::tell_late_pods(const std::string& uid, PodEntry& entry, const Pod& pod,
                                  const PodRecord& first) {
  GpuPodEntry& gpu = *entry.gpu;
  if (!gpu.gated || gpu.ended || first.gang_size < 2) return;
  std::optional<in::GangSeen> seen = late_workers(pod, first);
  if (!seen) seen = late_in_jobs(pod, first);
  if (!seen) seen = late_in_group(cluster_, pod, first);
  if (!seen) return;
  const std::uint64_t digest = content_hash(to_text(*seen));
  if (digest == gpu.group_told) return;
  gpu.group_told = digest;
  tell_gone("w" + uid, *std::move(seen));
}

}  // namespace subak
