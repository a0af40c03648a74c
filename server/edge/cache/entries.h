// The entries of the edge's object cache (cluster_cache.h): the fields of each pod and owner that
// the edge compares or uses. An owner is an object that creates pods, such as a Job. Threads: one
// at a time; ClusterCache owns the entries.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/names.h"
#include "kube/owner.h"
#include "kube/owners/kinds.h"
#include "kube/pod.h"
#include "kube/rank.h"
#include "kube/release.h"
#include "model/input.h"
#include "server/edge/volumes/pod_needs.h"

namespace subak {

// The paths of the API server's collections. Each path covers all namespaces. A name or a query may
// follow the path.
inline constexpr const char* kPodsPath = "/api/v1/pods";
inline constexpr const char* kNodesPath = "/api/v1/nodes";
inline constexpr const char* kNamespacesPath = "/api/v1/namespaces";
// The leases of nodes. Subak works even if it has no right to read them.
inline constexpr const char* kLeasesPath =
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
inline constexpr const char* kJobsPath = "/apis/batch/v1/jobs";
inline constexpr const char* kJobSetsPath = "/apis/jobset.x-k8s.io/v1alpha2/jobsets";
// Objects of Dynamic Resource Allocation. A cluster before Kubernetes 1.34 does not have them.
inline constexpr const char* kSlicesPath = "/apis/resource.k8s.io/v1/resourceslices";
inline constexpr const char* kClassesPath = "/apis/resource.k8s.io/v1/deviceclasses";
inline constexpr const char* kClaimsPath = "/apis/resource.k8s.io/v1/resourceclaims";
inline constexpr const char* kTemplatesPath = "/apis/resource.k8s.io/v1/resourceclaimtemplates";
// Volumes of pods. Subak works even if it has no right to read them.
inline constexpr const char* kVolumeClaimsPath = "/api/v1/persistentvolumeclaims";
inline constexpr const char* kVolumesPath = "/api/v1/persistentvolumes";
inline constexpr const char* kStorageClassesPath = "/apis/storage.k8s.io/v1/storageclasses";
inline constexpr const char* kWorkerSetsPath = "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets";
// Returns the collections of all kinds of owners that the edge may watch (kube/owners/kinds.h), in
// the version that Subak prefers. A cluster has only some of them.
std::vector<std::string> owner_collections();

// How a Job counts one of its pods: the pod's index, and whether the Job has counted its failure.
struct JobPart {
  // The completion index of a pod of an Indexed Job; -1: the pod has none.
  std::int64_t index = -1;
  // How many earlier pods of the same index have failed.
  std::int64_t index_failures = 0;
  // True: the pod fails or has failed, and OwnerEntry::failed does not count it yet.
  bool failing = false;
};

// The ResourceClaims and volumes of a pod: what the pod waits for, and from when it pays, which
// means that its account is charged.
struct ClaimsPart {
  // Why the pod must wait before the core gets it.
  PodWait waits;
  // From when this pod pays for a shared ResourceClaim for which another pod paid before. 0: from
  // the moment at which the core gets the pod. nullopt: no other pod paid, so this pod pays from
  // its binding.
  std::optional<TimeMs> pays_from_ms{};
  // The key of the ComputeDomain of the pod's gang (namespaced_name()). Empty: Subak added no
  // ResourceClaim for a ComputeDomain to the pod.
  std::string domain;
};

// The gang of a pod (the pods that start together), as in the last record of the pod that the core
// got.
struct GangPart {
  // The name and the owner of the gang, separated by a blank. Empty: the pod was never gated.
  std::string key;
  // The size of the gang.
  std::uint32_t size = 0;
  // True: at least one record had PodRecord::Owners::size_of_owner.
  bool size_changes = false;
  // The digest of the members that are created later than this pod (about::LatePods). 0: the core
  // got none for this pod.
  std::uint64_t late_members = 0;
  // The group_key() of the PodGroup or Workload that the pod names. A change of this group may
  // change the gang's size. Empty: the pod names none.
  std::string group;
  // True: the gang may have more pods than its size (Gang::least).
  bool least = false;
  // True: the gang started without this pod (pods_beyond() in server/edge/writes/plan.h). The edge
  // has sent the pod again as new, so it is a job of its own.
  bool apart = false;
};

// The part of an entry for pods that request GPUs or have had Subak's gate. Only the cache writes
// this part. Times and counts are as of the last event on the pod.
struct GpuPodEntry {
  // The pod requests GPUs, as in Pod::asks_gpu().
  bool asks_gpu = false;
  ClaimsPart claims;
  // The pod has Subak's gate.
  bool gated = false;
  // The pod has a scheduling gate of another component.
  bool foreign_gates = false;
  // The pod has ended: PodRecord::ended has a cause.
  bool ended = false;
  // The pod has a node.
  bool bound = false;
  // The deletion of the pod was requested.
  bool going = false;
  // The pod's deletion was requested while its node was silent. So the end of the pod is not after
  // the node's last sign of life.
  bool given_up = false;
  // The pod belongs to a gang.
  bool gang = false;
  // The pod is in a gang whose other pods continue when one pod is lost.
  bool runs_alone = false;
  // How the Job of the pod counts the pod.
  JobPart of_job;
  GangPart gang_told;
  // The owner that creates all pods of the gang: the uid of a Job, JobSet or job of an operator, or
  // "uid+group" for a group of a LeaderWorkerSet. Empty: none.
  std::string gang_owner;
  // "namespace/name" of the pod's LeaderWorkerSet; empty: it has none.
  std::string worker_set;
  // How many pods of each group of that LeaderWorkerSet request no GPUs, as in OwnerEntry.
  std::uint32_t without_gpus = 0;
  // API version, kind, name and uid of the pod's controller. All are empty if the pod has none.
  std::string owner_api, owner_kind, owner_name, owner_uid;
  // The data that a patch needs to open the gate. Empty unless the pod is gated.
  GatedPod release;
  // The annotation subak.gpu/kept-closed (kept_closed_mark()); empty: none.
  std::string kept_closed;
  // The node that the pod's affinity names, if it names exactly one; else empty.
  std::string let_go_to;
  // The scheduler's message if Subak released the pod and the scheduler finds no node for it. Else
  // empty.
  std::string unschedulable;
  // When `unschedulable` was first seen, in monotonic ms.
  std::int64_t unschedulable_since_ms = 0;

  // True: the pod may run in its ComputeDomain, now or soon.
  bool uses_domain() const { return !claims.domain.empty() && !gated && !ended; }
};

// The entry of a pod.
struct PodEntry {
  // `node` is empty until the pod is bound.
  std::string ns, name, node;
  // The resource version of the last event; the cache ignores events of older versions. 0: the
  // version cannot be compared.
  std::uint64_t version = 0;
  // The digest of the last record that was sent to the core; 0: none was sent.
  std::uint64_t told = 0;
  // The number of the last list that named the pod (ListRound::number()).
  std::uint32_t list = 0;
  // When that list began. The pod still existed at that time.
  TimeMs listed_ms = 0;
  // nullptr: the pod requests no GPUs and never had the gate.
  std::unique_ptr<GpuPodEntry> gpu;
};

// The Jobs that a JobSet creates from one template, or the pods of another owner's role.
struct JobsOfSet {
  // The name of the template. The template's name is also the role of its pods in a gang.
  std::string name;
  // The number of Jobs, and the number of pods in each Job.
  std::uint32_t copies = 1, pods = 1;
  // The resource request of each pod.
  PodShape shape;
};

// The members of a gang that their owner creates only when its first members run.
struct LatePart {
  // For an owner that creates workers only when their leader is ready: the resource request of each
  // worker. nullptr for other owners.
  std::shared_ptr<const PodShape> workers;
  // The workers have the same resource request as their leader.
  bool as_leader = false;
  // For a JobSet that creates the first pod of each Job before the other pods: its Jobs whose pods
  // request GPUs. Else empty.
  std::vector<JobsOfSet> firsts;
  // For an operator's job that creates the pods of some roles later: its roles with GPUs, the later
  // roles last. Empty for other owners. `at_once`: the number of GPU pods in the roles that are not
  // later.
  std::vector<JobsOfSet> roles;
  std::uint32_t at_once = 0;
  // For an owner with the mark names::kParked that can wait suspended: all its pods. Else nullptr.
  // A TrainJob has the pods of its JobSet.
  std::shared_ptr<const ParkedPods> parked;
  // True for a TrainJob with that mark whose JobSet does not exist yet. Its controller creates the
  // JobSet even while the TrainJob is suspended.
  bool awaits_templates = false;
};

// The gangs of an owner's pods.
struct GangsOfOwner {
  // For each role: its name, and the size of a gang with pods of this role.
  std::vector<std::pair<std::string, std::uint32_t>> of_role;
  // For each gang that the templates name (named_gang()): the name, and how many of its pods the
  // owner creates, with GPUs or without.
  std::vector<std::pair<std::string, std::uint64_t>> named;
  friend bool operator==(const GangsOfOwner&, const GangsOfOwner&) = default;
};

// An owner of pods, or a group that pods name.
struct OwnerEntry {
  // The path of the owner's collection, such as "/apis/batch/v1/jobs".
  std::string collection;
  std::string ns, name;
  // Returns the path of the object, such as "/apis/batch/v1/namespaces/ml/jobs/train".
  std::string path() const;
  // Returns the API version of the owner's kind, such as "batch/v1".
  std::string api_version() const;
  // The row of the owner's kind. Never nullptr once the owner was seen.
  const OwnerKindRow* row = nullptr;
  // Returns the kind as Kubernetes writes it, such as "JobSet".
  std::string_view kind() const { return row->name; }
  // The resource version that was last seen. A patch names this version, so that the patch fails if
  // the object is newer.
  std::string resource_version;
  // For a Job: the number of finished completions, plus the number of indexes that failed for good.
  std::int64_t done = 0;
  // The uid of the owner's own controller; empty: it has none.
  std::string parent;
  // Which of the owner's pods start together. The value is kNone, too, if the object cannot be
  // read.
  Together together = Together::kNone;
  // Its gangs. Both lists are empty if the object cannot be read, or creates no pods.
  GangsOfOwner gangs;
  // For a JobSet whose pods start together: the ranks of each role. Else empty.
  std::vector<RoleRanks> ranks;
  // For a Job: the number of failures that it may have, and the number that it has had.
  std::int64_t backoff_limit = 6, failed = 0;
  // The owner has activeDeadlineSeconds. This time also runs while the owner's pods wait.
  bool has_deadline = false;
  // For a Job: true if it has one pod at a time, because spec.parallelism is absent or at most 1.
  bool one_pod = false;
  // True if Subak may suspend the owner.
  bool may_suspend() const { return row->suspends; }
  // The owner is suspended: spec.suspend or spec.runPolicy.suspend is true.
  bool suspended = false;
  // The owner has finished or failed, so it creates no more pods.
  bool ended = false;
  // The owner recreates a lost pod alone, and the other pods continue.
  bool replaced_alone = false;
  // The completions of an Indexed Job; 0 for other owners.
  std::uint32_t indexes = 0;
  // For a Job with backoffLimitPerIndex: the number of failures that one index may have.
  std::optional<std::int64_t> backoff_limit_per_index;
  // For a LeaderWorkerSet: the number of groups, and the number of pods in each group that request
  // no GPUs.
  std::uint32_t groups = 0, without_gpus = 0;
  // The members of its gang that it creates later.
  LatePart late;
  // The value of the annotation subak.gpu/suspended, which says why Subak suspended the owner.
  // Empty: Subak did not suspend it.
  std::string mark;
  // True if the owner has the mark of a parked owner: it waits suspended for its turn, or it waited
  // and others resumed it.
  bool has_parked_mark() const { return mark == names::kParked; }
  // True if it is parked and may wait for its turn: it is suspended, and its pods are known, or
  // will be known once its JobSet exists.
  bool may_wait_parked() const {
    return has_parked_mark() && suspended && (late.parked != nullptr || late.awaits_templates);
  }
  // The number of the last list of the owner's collection that named the owner.
  std::uint32_t list = 0;
};

// Sets `gpu.of_job` from the pod's JSON `object`. `pod`, `gpu.ended` and `gpu.going` must be set
// from the same JSON. `cause`: why the pod ended. The index and its failures come from annotations.
// Without them the index is -1, and the failures are 0. The Job controller removes a finalizer from
// each pod that it has counted. So a pod that still has this finalizer is not counted yet.
void read_job_part(const Pod& pod, json::Value object, Cause cause, GpuPodEntry& gpu);

}  // namespace subak
