// What makes pods: Job, JobSet, LeaderWorkerSet, StatefulSet, Deployment and ReplicaSet, read for
// what a queue must know of them. How many pods there will be, and which of them start together,
// stands here long before the pods do. Reading decides nothing. Sources of the field names:
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
  kNone,         // each by itself: they come and go, or come one after the other
  kAll,          // all are one gang
  kEachJob,      // of a JobSet whose jobs come one after the other: each job is one
  kEachReplica,  // of a LeaderWorkerSet: a leader with its workers
};
template <>
struct EnumText<Together> {
  static constexpr std::array<std::string_view, 4> names{"none", "all", "each_job", "each_replica"};
};

// Pods that are made from one template.
struct OwnerRole {
  std::string name;          // of the replicated job, "leader", "worker"; empty where there is one
  std::uint32_t copies = 1;  // jobs of that name, replicas of the set
  std::uint32_t pods = 1;    // at once, in each copy
  PodShape shape;            // what each asks for
  std::uint32_t stated = 0;  // gang size as its template says; 0: it does not
  bool independent = false;  // backoffLimitPerIndex: each index fails and is made again by itself
  std::optional<Error> wrong;  // the template can never start as written
};

struct OwnerRecord {
  OwnerKind kind = OwnerKind::kJob;
  std::string ns, name, uid, resource_version;
  std::string parent;  // uid of its own controller: of a job, its JobSet
  Together together = Together::kNone;
  bool in_order = false;      // its roles start one after the other
  bool leader_first = false;  // the workers are made when the leader is ready: reserve for all then
  // Of a JobSet with exclusive topology: the first pod of each of its jobs is made, the others once that
  // one has a node.
  bool first_of_each_job = false;
  // That its pods are a gang is only inferred, or it replaces a lost pod alone: the others run on.
  bool replaced_alone = false;
  std::vector<OwnerRole> roles;
  std::optional<bool> suspended;  // none: its kind cannot be
  // It makes no pods any more: it has come to its end, or its successPolicy or failure decides that
  // it will, and its own controller ends what still runs.
  bool ended = false;
  bool deleted = false;  // and these will be
  // Of a job: pods that may fail, that have, and completions that are done.
  std::int64_t backoff_limit = 6, failed = 0, succeeded = 0;
  // Of an Indexed Job that says so: failures that one index may have, and indexes that may fail for
  // good. None: it does not say so. And how many have.
  std::optional<std::int64_t> backoff_limit_per_index, max_failed_indexes;
  std::int64_t failed_indexes = 0;
  bool success_policy = false;  // some of its indexes may be enough
  std::uint32_t indexes = 0;    // of an Indexed Job: its completions; 0: it has no indexes
  bool has_deadline = false;  // activeDeadlineSeconds, which counts while its pods wait for a gate

  // How many pods the gang has that pods of this role belong to, those without GPUs left out: as
  // its template says, else as it follows. 1: they are alone. At most limits::kMaxPodsPerJob.
  std::uint32_t gang_size(std::size_t role) const;
};

// A JobSet's failurePolicy rule with this action makes one job again, and lets the others run on.
bool restarts_single_job(std::string_view action);

// kNotFound: no kind of those above. kInvalid: no uid or name, or more pods in a gang or templates
// than the service takes. `extra` as in read_pod().
Result<OwnerRecord> read_owner(json::Value object, const ExtraGpuResources& extra);
// The same of an item of a list, which does not say its kind.
Result<OwnerRecord> read_owner(OwnerKind kind, json::Value object, const ExtraGpuResources& extra);

}  // namespace subak
