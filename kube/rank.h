// Where a pod stands among the members of its gang, as its labels and annotations say. Ranks order a gang:
// of two neighbours in rank order one talks most to the other, so they are placed next to each other.
// Sources:
//   subak.gpu/rank                                 our own, before all others
//   leaderworkerset.sigs.k8s.io/worker-index       LeaderWorkerSet: the leader is 0
//   kueue.x-k8s.io/pod-group-pod-index             Kueue's pod groups; pod-group-pod-index-label names another
//   jobset.sigs.k8s.io/job-global-index            JobSet, before the completion index
//   training.kubeflow.org/replica-type, job-role   Kubeflow and MPI: launcher or master first, then ...
//   training.kubeflow.org/replica-index            ... the replicas of one type
//   ray.io/node-type, replica-index, host-index    Ray: the head first
//   batch.kubernetes.io/job-completion-index       Indexed Job
//   apps.kubernetes.io/pod-index                   StatefulSet
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/owner.h"
#include "kube/pod.h"

namespace subak {

// A number that grows in rank order; not always without gaps. -1: its labels do not say.
std::int32_t rank_of(const Pod& pod);

// The rank of such a pod in a gang that our label makes of several groups: by group, then by rank.
std::int32_t rank_among(std::string_view group, std::int32_t rank);

// The ranks of the pods of one replicated job of a JobSet: job by job, `pods` each.
struct RoleRanks {
  std::string role;
  std::uint32_t first = 0, pods = 1;
  friend bool operator==(const RoleRanks&, const RoleRanks&) = default;
};
// Of a JobSet whose pods start together, without those that ask for no GPUs. Of other owners: none.
std::vector<RoleRanks> role_ranks(const OwnerRecord& owner);
// The rank of a pod of such a JobSet, without gaps; rank_of() where that is not known.
std::int32_t rank_in(const std::vector<RoleRanks>& roles, const Pod& pod);

// What to add so that the rank is known: "label subak.gpu/rank".
std::string how_to_rank(const Pod& pod);

}  // namespace subak
