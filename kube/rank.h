// Reads the rank of a pod, its position in its gang, from its labels and annotations. Pods with
// neighbouring ranks communicate most, so the placement search puts them next to each other.
// Sources:
//   subak.gpu/rank                                 Subak's own, before all others
//   leaderworkerset.sigs.k8s.io/worker-index       LeaderWorkerSet: the leader is 0
//   kueue.x-k8s.io/pod-group-pod-index             Kueue's pod groups;
//                                                  pod-group-pod-index-label names another
//   jobset.sigs.k8s.io/job-global-index            JobSet, before the completion index
//   training.kubeflow.org/replica-type, job-role   Kubeflow, MPI: launcher or master first,
//   training.kubeflow.org/replica-index            then the replicas of one type
//   ray.io/node-type, replica-index, host-index    Ray: the head first
//   batch.kubernetes.io/job-completion-index       Indexed Job
//   apps.kubernetes.io/pod-index                   StatefulSet
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/owner.h"
#include "kube/pod.h"

namespace subak {

// Returns a number that grows in rank order, perhaps with gaps. -1: no label or annotation says the
// pod's rank.
std::int32_t rank_of(const Pod& pod);

// Returns the rank of a pod in a gang that Subak's label joins from several groups. `rank`: the
// rank of the pod in its group. The pods of one group are neighbours, in the order of `rank`. A
// hash of the names orders the groups. An unknown rank (-1) stays unknown.
std::int32_t rank_among(std::string_view group, std::int32_t rank);

// The ranks of the pods of one replicated job of a JobSet. The ranks run through the first Job,
// then through the second, and so on.
struct RoleRanks {
  // The name of the replicated job.
  std::string role;
  // `first`: the rank of the first pod. `pods`: the number of pods of each job.
  std::uint32_t first = 0, pods = 1;
  friend bool operator==(const RoleRanks&, const RoleRanks&) = default;
};
// Returns the ranks of a JobSet whose pods start together. Non-GPU pods get no ranks. Empty for
// other owners.
std::vector<RoleRanks> role_ranks(const OwnerRecord& owner);
// Returns the rank of a pod of this JobSet, without gaps; rank_of() if the pod's job is unknown.
std::int32_t rank_in(const std::vector<RoleRanks>& roles, const Pod& pod);

// Returns a text that says how a user can give the pod a rank, such as "label subak.gpu/rank (0, 1,
// ...)".
std::string how_to_rank(const Pod& pod);

}  // namespace subak
