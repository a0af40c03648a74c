#include "kube/rank.h"

#include <algorithm>
#include <array>

#include "core/limits.h"
#include "core/names.h"
#include "kube/quantity.h"

namespace subak {
namespace {

constexpr Text kWorkerIndex = "leaderworkerset.sigs.k8s.io/worker-index";
constexpr Text kGroupIndex = "kueue.x-k8s.io/pod-group-pod-index";
constexpr Text kGroupIndexLabel = "kueue.x-k8s.io/pod-group-pod-index-label";
constexpr Text kGroupName = "kueue.x-k8s.io/pod-group-name";
constexpr Text kJobSet = "jobset.sigs.k8s.io/jobset-name";
constexpr Text kJobSetRole = "jobset.sigs.k8s.io/replicatedjob-name";
constexpr Text kJobIndex = "jobset.sigs.k8s.io/job-index";
constexpr Text kGlobalIndex = "jobset.sigs.k8s.io/job-global-index";
constexpr Text kKubeflowJob = "training.kubeflow.org/job-name";
constexpr Text kReplicaType = "training.kubeflow.org/replica-type";
constexpr Text kJobRole = "training.kubeflow.org/job-role";
constexpr Text kReplicaIndex = "training.kubeflow.org/replica-index";
constexpr Text kRayNode = "ray.io/node-type";
constexpr Text kRayReplica = "ray.io/worker-group-replica-index";
constexpr Text kRayHost = "ray.io/replica-host-index";
constexpr Text kCompletionIndex = "batch.kubernetes.io/job-completion-index";
constexpr Text kPodIndex = "apps.kubernetes.io/pod-index";

// Replica types of Kubeflow's operators, in the order of their ranks.
constexpr std::array<std::array<Text, 3>, 4> kReplicaTypes{{
    {"launcher", "master", "chief"},
    {"ps", "server", "scheduler"},
    {"worker", "", ""},
    {"evaluator", "", ""},
}};

constexpr std::int32_t kMostFirst = 100'000;  // limit of composed()'s `first`

std::int32_t index_in(const TextPairs& pairs, Text key) {
  return std::max(-1, whole_number<std::int32_t>(find_text(pairs, key)).value_or(-1));
}

// Returns a rank that orders pods by `first`, then by `second`. -1: one of the numbers is unknown
// (below 0) or too large.
std::int32_t composed(std::int32_t first, std::int32_t second) {
  constexpr auto kSecond = static_cast<std::int32_t>(limits::kMaxPodsPerJob);
  if (first < 0 || second < 0 || first >= kMostFirst || second >= kSecond) return -1;
  return first * kSecond + second;
}

std::int32_t completion_index(const Pod& pod) {
  return std::max(index_in(pod.annotations, kCompletionIndex),
                  index_in(pod.labels, kCompletionIndex));
}

std::int32_t of_job_set(const Pod& pod) {
  std::int32_t job = index_in(pod.labels, kGlobalIndex);
  if (job < 0) job = index_in(pod.labels, kJobIndex);
  return composed(job, std::max(0, completion_index(pod)));
}

std::int32_t of_kubeflow(const Pod& pod) {
  Text type = find_text(pod.labels, kReplicaType);
  if (type.empty()) type = find_text(pod.labels, kJobRole);
  const auto is_its = [&](const auto& types) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  const auto* const at = std::find_if(kReplicaTypes.begin(), kReplicaTypes.end(), is_its);
  if (type.empty() || at == kReplicaTypes.end()) return -1;
  const auto order = static_cast<std::int32_t>(at - kReplicaTypes.begin());
  const std::int32_t index = index_in(pod.labels, kReplicaIndex);
  return composed(order, order == 0 ? std::max(0, index) : index);
}

std::int32_t of_ray(const Pod& pod) {
  if (find_text(pod.labels, kRayNode) == "head") return 0;
  const std::int32_t replica = index_in(pod.labels, kRayReplica);
  if (replica < 0) return -1;
  return composed(replica + 1, std::max(0, index_in(pod.labels, kRayHost)));
}

std::int32_t of_pod_group(const Pod& pod) {
  const Text named = find_text(pod.annotations, kGroupIndexLabel);
  return index_in(pod.labels, named.empty() ? kGroupIndex : named);
}

bool has(const Pod& pod, Text label) { return !find_text(pod.labels, label).empty(); }

}  // namespace

std::int32_t rank_of(const Pod& pod) {
  if (pod.keys.rank.set) return pod.rank;
  if (has(pod, kWorkerIndex)) return index_in(pod.labels, kWorkerIndex);
  if (has(pod, kGroupName) && of_pod_group(pod) >= 0) return of_pod_group(pod);
  if (has(pod, kJobSet)) return of_job_set(pod);
  if (has(pod, kKubeflowJob)) return of_kubeflow(pod);
  if (has(pod, kRayNode)) return of_ray(pod);
  const std::int32_t index = completion_index(pod);
  return index >= 0 ? index : index_in(pod.labels, kPodIndex);
}

std::int32_t rank_among(std::string_view group, std::int32_t rank) {
  if (rank < 0 || rank >= static_cast<std::int32_t>(limits::kMaxPodsPerJob)) return rank;
  std::uint32_t h = 2166136261U;  // FNV-1a
  for (const char c : group) h = (h ^ static_cast<unsigned char>(c)) * 16777619U;
  return composed(static_cast<std::int32_t>(h % kMostFirst), rank);
}

std::vector<RoleRanks> role_ranks(const OwnerRecord& owner) {
  std::vector<RoleRanks> roles;
  if (owner.kind != OwnerKind::kJobSet || owner.together != Together::kAll) return roles;
  std::uint32_t first = 0;
  for (const OwnerRole& role : owner.roles) {
    if (role.shape.kind == GpuKind::kNone) continue;
    roles.push_back({role.name, first, role.pods});
    first += role.copies * role.pods;
  }
  return roles;
}

std::int32_t rank_in(const std::vector<RoleRanks>& roles, const Pod& pod) {
  const Text name = find_text(pod.labels, kJobSetRole);
  const auto role =
      std::find_if(roles.begin(), roles.end(), [&](const RoleRanks& r) { return r.role == name; });
  const std::int32_t job = index_in(pod.labels, kJobIndex);
  if (pod.keys.rank.set || role == roles.end() || job < 0) return rank_of(pod);
  const std::int32_t index = role->pods == 1 ? 0 : completion_index(pod);
  if (index < 0 || static_cast<std::uint32_t>(index) >= role->pods) return rank_of(pod);
  const std::int64_t rank = std::int64_t{job} * role->pods + role->first + index;
  return rank < limits::kMaxPodsPerJob ? static_cast<std::int32_t>(rank) : rank_of(pod);
}

std::string how_to_rank(const Pod& pod) {
  const std::string ours = "label " + std::string(names::kRank) + " (0, 1, ...)";
  if (has(pod, kGroupName)) return "label " + std::string(kGroupIndex) + ", or " + ours;
  if (has(pod, "batch.kubernetes.io/job-name") || has(pod, "job-name")) {
    return "completionMode: Indexed of its Job, or " + ours;
  }
  return ours;
}

}  // namespace subak
