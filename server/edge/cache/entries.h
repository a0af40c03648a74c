// The entries of the cache: the fields of each object that the edge compares or uses.
// Threads: none.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/owner.h"
#include "kube/pod.h"
#include "kube/rank.h"
#include "kube/release.h"
#include "model/input.h"

namespace subak {

// Collections of the API server.
// Each path covers all namespaces. A name or a query may follow it.
inline constexpr const char* kPodsPath = "/api/v1/pods";
inline constexpr const char* kNodesPath = "/api/v1/nodes";
inline constexpr const char* kNamespacesPath = "/api/v1/namespaces";
// The leases of nodes. Subak also works without the right to read them.
inline constexpr const char* kLeasesPath =
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
inline constexpr const char* kJobsPath = "/apis/batch/v1/jobs";
inline constexpr const char* kJobSetsPath = "/apis/jobset.x-k8s.io/v1alpha2/jobsets";
inline constexpr const char* kWorkerSetsPath = "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets";
// The watched kinds of owners. Only the first must exist in the cluster.
inline constexpr std::array kOwnerPaths{kJobsPath, kJobSetsPath, kWorkerSetsPath};

// The part of an entry for pods that request GPUs or have Subak's gate.
// Only the cache writes it. Times and counts are as of the last event.
struct GpuPodEntry {
  // The pod requests GPUs, as in Pod::asks_gpu().
  bool asks_gpu = false;
  // The pod claims devices by DRA (Pod::device_claim), so another component has to decide.
  bool claims = false;
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
  // Its deletion was requested while its node was silent. So the pod counts as ended at the node's
  // last sign of life, or earlier.
  bool given_up = false;
  // The pod is one of several that start together.
  bool gang = false;
  // The pod is in a gang whose other pods go on when one pod is lost.
  bool runs_alone = false;
  // The completion index of a pod of an Indexed Job; -1: it has none.
  std::int64_t index = -1;
  // Failures of its index before this pod.
  std::int64_t index_failures = 0;
  // The gang that the core knows for this pod: the gang's name, its owner and maybe its size,
  // separated by blanks. Empty: the pod was never gated.
  std::string gang_told;
  // True: the core got PodRecord::size_of_owner once.
  bool size_changes = false;
  // The owner of the pods that are recreated together: the uid of a Job or JobSet, or "uid+group"
  // of a LeaderWorkerSet. Empty: none.
  std::string gang_owner;
  // "namespace/name" of its LeaderWorkerSet; empty: none.
  std::string worker_set;
  // Pods of a group of that LeaderWorkerSet that request no GPUs, as in OwnerEntry.
  std::uint32_t without_gpus = 0;
  // The digest of the gang's other pods as the core knows them. 0: the core got none of them.
  std::uint64_t group_told = 0;
  // API version, kind, name and uid of its controller. All empty: it has none.
  std::string owner_api, owner_kind, owner_name, owner_uid;
  // The data that a patch needs to open the gate. Empty unless the pod is gated.
  GatedPod release;
  // The annotation subak.gpu/kept-closed (kept_closed_mark()); empty: none.
  std::string kept_closed;
  // The only node that its affinity names; empty: it names none, or several.
  std::string let_go_to;
  // The scheduler's message about a released pod for which it found no node. Empty: there is no
  // such message.
  std::string unschedulable;
  // When `unschedulable` was first seen, in monotonic ms.
  std::int64_t unschedulable_since_ms = 0;
};

// The entry of a pod.
struct PodEntry {
  // `node` is empty until the pod is bound.
  std::string ns, name, node;
  // The resource version of the last event; the cache ignores events of older versions. 0: the
  // version cannot be compared.
  std::uint64_t version = 0;
  // The digest of the record that the core got; 0: it got none.
  std::uint64_t told = 0;
  // The last list that named the pod, as ListRound::number().
  std::uint32_t list = 0;
  // When that list began. The pod existed at that time.
  TimeMs listed_ms = 0;
  // nullptr: the pod has neither requested GPUs nor carried the gate.
  std::unique_ptr<GpuPodEntry> gpu;
};

// Jobs of a JobSet from one template.
struct JobsOfSet {
  // The name of the template, which is the role of its pods.
  std::string name;
  // The number of Jobs, and of pods in each.
  std::uint32_t copies = 1, pods = 1;
  // The resource request of each pod.
  PodShape shape;
};

// A Job, a JobSet or a LeaderWorkerSet.
struct OwnerEntry {
  // The path of its kind, one of kOwnerPaths: "/apis/batch/v1/jobs".
  std::string collection;
  std::string ns, name;
  // Returns the path of the object, "/apis/batch/v1/namespaces/ml/jobs/train".
  std::string path() const;
  // Returns the API version of its kind, "batch/v1".
  std::string api_version() const;
  // Returns "Job", "JobSet" or "LeaderWorkerSet".
  std::string_view kind() const;
  // The version last seen. A patch names it, so that the patch fails on a newer object.
  std::string resource_version;
  // Of a Job: the number of finished completions and of indexes that failed for good.
  std::int64_t done = 0;
  // The uid of its controller; empty: it has none.
  std::string parent;
  // Which of its pods start together. kNone also if the object cannot be read.
  Together together = Together::kNone;
  // Each role with the number of pods that start together in it.
  std::vector<std::pair<std::string, std::uint32_t>> gangs;
  // Of a JobSet whose pods start together: the ranks of each role. Else empty.
  std::vector<RoleRanks> ranks;
  // Of a Job: the number of failures that it may have, and of those that it has had.
  std::int64_t backoff_limit = 6, failed = 0;
  // The owner has activeDeadlineSeconds, which also counts the time in which its pods wait.
  bool has_deadline = false;
  // Of a Job: true if it has one pod at a time (spec.parallelism is absent or at most 1).
  bool one_pod = false;
  // True if the kind has spec.suspend. A LeaderWorkerSet has none.
  bool may_suspend() const { return collection != kWorkerSetsPath; }
  // spec.suspend is true.
  bool suspended = false;
  // The owner has finished or failed, and creates no more pods.
  bool ended = false;
  // A lost pod is recreated alone, while the other pods go on.
  bool replaced_alone = false;
  // The completions of an Indexed Job; 0 for other owners.
  std::uint32_t indexes = 0;
  // Of a Job with backoffLimitPerIndex: the failures that one index may have.
  std::optional<std::int64_t> backoff_limit_per_index;
  // Of a LeaderWorkerSet: the number of groups, and of pods in each that request no GPUs.
  std::uint32_t groups = 0, without_gpus = 0;
  // Of an owner that creates its workers once their leader is ready: the request of each worker.
  // nullptr: other owners.
  std::shared_ptr<const PodShape> late;
  // The workers have the same resource request as their leader.
  bool late_as_leader = false;
  // Of a JobSet that creates the first pod of each Job before the others: its Jobs with GPUs.
  std::vector<JobsOfSet> firsts;
  // The annotation subak.gpu/suspended: why Subak suspended the owner. Empty:
  // Subak did not suspend it.
  std::string mark;
  // The last list that named the owner, by the number of lists of its collection.
  std::uint32_t list = 0;
};

// Reads the pod's index in an Indexed Job, and the failures of that index.
// Both come from annotations. Without them the index is -1, and the failures are 0.
void read_job_index(const Pod& pod, GpuPodEntry& gpu);

}  // namespace subak
