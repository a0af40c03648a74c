// What the cache keeps of each object: records, one member a field that is compared or used.
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
inline constexpr const char* kPodsPath = "/api/v1/pods";
inline constexpr const char* kNodesPath = "/api/v1/nodes";
inline constexpr const char* kNamespacesPath = "/api/v1/namespaces";
// The leases of nodes. Subak need not have the right to read them.
inline constexpr const char* kLeasesPath =
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
inline constexpr const char* kJobsPath = "/apis/batch/v1/jobs";
inline constexpr const char* kJobSetsPath = "/apis/jobset.x-k8s.io/v1alpha2/jobsets";
inline constexpr const char* kWorkerSetsPath = "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets";
// The watched kinds of owners. Only the first must exist.
inline constexpr std::array kOwnerPaths{kJobsPath, kJobSetsPath, kWorkerSetsPath};

// The part of an entry that only pods have that request GPUs or carry Subak's gate.
struct GpuPodEntry {
  bool asks_gpu = false;
  bool claims = false;  // devices by DRA: another component has to decide
  bool gated = false;   // carries Subak's gate
  bool foreign_gates = false;
  bool ended = false;
  bool bound = false;               // has a node
  bool going = false;               // its deletion was requested
  bool given_up = false;            // deleted while its node was silent
  bool gang = false;                // one of several pods that start together
  bool runs_alone = false;          // of a gang: the others keep running when one is lost
  std::int64_t index = -1;          // of an Indexed Job
  std::int64_t index_failures = 0;  // failures of its index before it
  std::string gang_told;            // the gang in which the core knows it
  bool size_changes = false;        // PodRecord::size_of_owner was told once
  // Owner of the pods that are recreated together: uid of a Job or JobSet, "uid+group" of a
  // LeaderWorkerSet. Empty: none.
  std::string gang_owner;
  std::string worker_set;          // "namespace/name" of its LeaderWorkerSet; empty: none
  std::uint32_t without_gpus = 0;  // of that LeaderWorkerSet, as in OwnerEntry
  std::uint64_t group_told = 0;    // digest of the gang's other pods as the core knows them
  std::string owner_api, owner_kind, owner_name, owner_uid;  // of its controller; empty: none
  GatedPod release;                                          // while gated
  std::string kept_closed;    // annotation subak.gpu/kept-closed; empty: none
  std::string let_go_to;      // the only node that its affinity names; empty: none, or several
  std::string unschedulable;  // the scheduler's message; empty: schedulable as far as known
  std::int64_t unschedulable_since_ms = 0;  // when that was first seen, monotonic
};

// The entry of a pod.
struct PodEntry {
  std::string ns, name, node;
  std::uint64_t version = 0;  // older versions are ignored
  std::uint64_t told = 0;     // digest of what the core got; 0: nothing
  std::uint32_t list = 0;     // the last list that named it
  TimeMs listed_ms = 0;       // when that list began, at which time the pod existed
  std::unique_ptr<GpuPodEntry> gpu;
};

// The entry of a node.
struct NodeEntry {
  std::uint64_t told = 0;
  std::uint32_t list = 0;
  TimeMs silent_ms = 0;  // since when the cluster reports the node silent; 0: it is not silent
  TimeMs lease_ms = 0;   // the last renewal of its lease, once that was read
  TimeMs lost_ms = 0;    // the last sign of life before it last fell silent
};

// Kept only for namespaces whose label names an account, or did.
struct NamespaceEntry {
  std::string account;
  std::uint32_t list = 0;
};

// Jobs of a JobSet from one template.
struct JobsOfSet {
  std::string name;
  std::uint32_t copies = 1, pods = 1;  // pods of each
  PodShape shape;
};

// A Job, a JobSet or a LeaderWorkerSet.
struct OwnerEntry {
  std::string collection;  // "/apis/batch/v1/jobs"
  std::string ns, name;
  std::string path() const;         // of the object, "/apis/batch/v1/namespaces/ml/jobs/train"
  std::string api_version() const;  // "batch/v1"
  std::string_view kind() const;    // "Job"
  std::string resource_version;
  std::int64_t done = 0;  // of a Job: finished completions, and indexes that failed for good
  std::string parent;     // uid of its controller
  Together together = Together::kNone;
  std::vector<std::pair<std::string, std::uint32_t>>
      gangs;                                   // of each role: how many pods start together
  std::vector<RoleRanks> ranks;                // of a JobSet
  std::int64_t backoff_limit = 6, failed = 0;  // of a Job: failures allowed, and failures so far
  bool has_deadline = false;  // activeDeadlineSeconds, which counts while its pods wait
  bool one_pod = false;       // of a Job: it has one pod at a time
  bool may_suspend() const { return collection != kWorkerSetsPath; }
  bool suspended = false;
  bool ended = false;
  bool replaced_alone = false;  // a lost pod is recreated alone, and the others keep running
  std::uint32_t indexes = 0;    // of an Indexed Job: its completions
  // Of a Job with backoffLimitPerIndex: the failures that one index may have.
  std::optional<std::int64_t> backoff_limit_per_index;
  // Of a LeaderWorkerSet: the number of groups, and of pods in each that request no GPUs.
  std::uint32_t groups = 0, without_gpus = 0;
  // Of an owner whose workers appear once their leader is ready: the request of each. nullptr: no
  // worker is late.
  std::shared_ptr<const PodShape> late;
  bool late_as_leader = false;  // workers have the leader's template
  // Of a JobSet that creates the first pod of each job before the others: its jobs with GPUs.
  std::vector<JobsOfSet> firsts;
  std::string mark;  // annotation subak.gpu/suspended: why Subak suspended it; empty: it did not
  std::uint32_t list = 0;
};

// Reads the pod's index of an Indexed Job and its failures.
// Both come from annotations. Without them the index is -1, and there were 0 failures.
void read_job_index(const Pod& pod, GpuPodEntry& gpu);

}  // namespace subak
