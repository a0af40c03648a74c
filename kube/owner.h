// Reads the objects that make pods: Job, JobSet, LeaderWorkerSet, StatefulSet, Deployment and
// ReplicaSet. They say long before the pods exist how many there will be, and which of them start
// together. Reading decides nothing. Sources of the field names:
//   Job                      k8s.io/api batch/v1
//   StatefulSet, Deployment  k8s.io/api apps/v1
//   JobSet                   sigs.k8s.io/jobset api/jobset/v1alpha2
//   LeaderWorkerSet          sigs.k8s.io/lws api/leaderworkerset/v1
// Threads: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "kube/json.h"
#include "kube/pod.h"

namespace subak {

// The kinds that Subak reads. `names` has the Kubernetes spelling of each.
enum class OwnerKind : std::uint8_t {
  kJob,
  kJobSet,
  kLeaderWorkerSet,
  kStatefulSet,
  kDeployment,
  kReplicaSet
};
template <>
struct EnumText<OwnerKind> {
  static constexpr std::array<std::string_view, 6> names{
      "Job", "JobSet", "LeaderWorkerSet", "StatefulSet", "Deployment", "ReplicaSet"};
};

// Which pods of an owner start together.
enum class Together : std::uint8_t {
  // Each pod by itself: they come and go, or start one after the other.
  kNone,
  // All pods are one gang.
  kAll,
  // Of a JobSet whose jobs run one after the other: each job is a gang.
  kEachJob,
  // Of a LeaderWorkerSet: a leader with its workers is a gang.
  kEachReplica,
};
template <>
struct EnumText<Together> {
  static constexpr std::array<std::string_view, 4> names{"none", "all", "each_job", "each_replica"};
};

// Pods that are made from one template.
struct OwnerRole {
  // The name of the replicated job, "leader" or "worker". Empty if the owner has one template.
  std::string name;
  // Jobs of that name, or replicas of the set.
  std::uint32_t copies = 1;
  // Pods of each copy that run at once.
  std::uint32_t pods = 1;
  // The request of each pod.
  PodShape shape;
  // The gang size that its template states; 0: none.
  std::uint32_t stated = 0;
  // Job's backoffLimitPerIndex is set: each index fails and restarts by itself.
  bool independent = false;
  // Why a pod of this template can never start as written. None: it can.
  std::optional<Error> wrong;
};

// One owner as read from the API server.
struct OwnerRecord {
  OwnerKind kind = OwnerKind::kJob;
  // From its metadata. The version is the API server's, for writes that must not race.
  std::string ns, name, uid, resource_version;
  // The uid of its own controller: of a job, its JobSet. Empty: none.
  std::string parent;
  // How its pods form gangs.
  Together together = Together::kNone;
  // Its roles start one after the other.
  bool in_order = false;
  // The workers are made when the leader is ready, so Subak reserves for all then.
  bool leader_first = false;
  // For a JobSet with exclusive topology: the first pod of each of its jobs is made, the others
  // once the first one has a node.
  bool first_of_each_job = false;
  // The gang is only inferred, or a lost pod is replaced alone: the other pods continue.
  bool replaced_alone = false;
  // One for each template of pods. Empty if it makes none.
  std::vector<OwnerRole> roles;
  // spec.suspend; none: its kind has no such field.
  std::optional<bool> suspended;
  // It makes no pods any more: it has ended, or its successPolicy or a failure decides that it
  // will. Its own controller ends pods that still run.
  bool ended = false;
  // It is being deleted, and its pods will be.
  bool deleted = false;
  // Of a job: the allowed pod failures, the failures so far, and the completions so far.
  std::int64_t backoff_limit = 6, failed = 0, succeeded = 0;
  // Of an Indexed Job that sets them: the allowed failures of one index, and the indexes that may
  // fail for good; nullopt: not set. `failed_indexes`: those that have failed.
  std::optional<std::int64_t> backoff_limit_per_index, max_failed_indexes;
  std::int64_t failed_indexes = 0;
  // It has a successPolicy: some of its indexes may be enough.
  bool success_policy = false;
  // The completions of an Indexed Job; 0: it has no indexes.
  std::uint32_t indexes = 0;
  // activeDeadlineSeconds is set. It counts even while its pods wait for a gate.
  bool has_deadline = false;

  // Returns the number of pods in the gang of this role's pods, without those that have no GPUs:
  // from its template, else computed. 1: they are alone. At most limits::kMaxPodsPerJob.
  std::uint32_t gang_size(std::size_t role) const;
};

// True if a JobSet's failurePolicy rule with this action restarts one job and lets the others
// continue.
bool restarts_single_job(std::string_view action);

// Reads an owner. kNotFound: none of the kinds above. kInvalid: no uid or name, or more pods in a
// gang or templates than the service accepts. `extra` as in read_pod().
Result<OwnerRecord> read_owner(json::Value object, const ExtraGpuResources& extra);
// The same for an item of a list, which does not name its kind.
Result<OwnerRecord> read_owner(OwnerKind kind, json::Value object, const ExtraGpuResources& extra);

}  // namespace subak
