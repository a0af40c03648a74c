// Reads the objects that make pods, such as Job, JobSet and PyTorchJob, and the groups that pods
// name, such as PodGroup. These objects are called owners here. Even before the pods exist, an
// owner says how many pods there will be, and which of them start together. The edge, which watches
// a cluster, uses the reader; it decides nothing. Subak may park an owner: it suspends the owner
// until the turn of its pods. A parked owner has the annotation names::kSuspendedBy with the value
// names::kParked, called its mark here. kube/owners/kinds.h has the kinds, and kube/owners/reader.h
// the sources of their field names.
// Threads: any; pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "kube/json.h"
#include "kube/owner_kind.h"
#include "kube/pod.h"

namespace subak {

// Which pods of an owner start together.
enum class Together : std::uint8_t {
  // Each pod starts by itself: pods come and go, or start one after the other.
  kNone,
  // All pods are one gang.
  kAll,
  // The jobs of a JobSet run one after the other, and each job is a gang.
  kEachJob,
  // Each leader of a LeaderWorkerSet with its workers is a gang.
  kEachReplica,
};
template <>
struct EnumText<Together> {
  static constexpr std::array<std::string_view, 4> names{"none", "all", "each_job", "each_replica"};
};

// Pods that are made from one template.
struct OwnerRole {
  // The name by which a label of the pods names the role, such as that of a replicated job. Empty
  // if the owner has one template.
  std::string name;
  // How many jobs of that name, or replicas of the set, there are.
  std::uint32_t copies = 1;
  // How many pods of each copy run at once.
  std::uint32_t pods = 1;
  // The request of each pod, without the devices that it claims.
  PodShape shape;
  // True: the pods claim devices (DRA). The owner does not say whether these are GPUs.
  bool claims = false;
  // The number of pods that start together, as the template or the owner states it. 0: neither
  // does.
  std::uint32_t stated = 0;
  // The name of a gang that the template states (named_gang()). Empty: it states none.
  std::string gang;
  // True: the owner creates the pods only when the pods of its other roles run.
  bool later = false;
  // True: the Job sets backoffLimitPerIndex, so each index fails and restarts by itself.
  bool independent = false;
  // The record of a pod of this template, with the owner's creation time. It exists for an owner
  // with Subak's mark names::kParked, and for the JobSet of a TrainJob. nullptr for other owners,
  // and if the template alone does not say what the pods request or which pods their gang has.
  std::shared_ptr<const PodRecord> record{};
  // Why no pod of this template can ever start, as the template is written. nullopt: the pods can
  // start.
  std::optional<Error> wrong;

  // True if the pods count in a gang of GPU pods. Pods that claim devices do: their GPUs are known
  // only when the claims exist.
  bool has_gpus() const { return shape.kind != GpuKind::kNone || claims; }
};

// One owner as read from the API server.
struct OwnerRecord {
  OwnerKind kind = OwnerKind::kJob;
  // From the owner's metadata. With resource_version, a write fails if the object has changed.
  std::string ns, name, uid, resource_version;
  // The uid of the owner's own controller; for a job of a JobSet that is the JobSet. Empty: the
  // owner has no controller.
  std::string parent;
  // How the owner's pods form gangs.
  Together together = Together::kNone;
  // True: the owner's roles start one after the other.
  bool in_order = false;
  // True: the workers are created only when the leader is ready. So Subak must hold GPUs for all
  // pods when the leader starts.
  bool leader_first = false;
  // True for a JobSet with exclusive topology. In each of its jobs, one pod is created first, and
  // the other pods only when the first pod has a node.
  bool first_of_each_job = false;
  // True: the gang is only inferred, or a lost pod is replaced alone. In both cases the other pods
  // continue when a pod is lost.
  bool replaced_alone = false;
  // One role for each template of pods. Empty if the owner creates no pods.
  std::vector<OwnerRole> roles;
  // The value of spec.suspend. nullopt: the kind has no such field.
  std::optional<bool> suspended;
  // True: the owner creates no further pods. The owner has ended, or its successPolicy or a failure
  // has decided that it ends. Its own controller ends the pods that still run.
  bool ended = false;
  // True: the owner is being deleted, and its pods will be deleted too.
  bool deleted = false;
  // For a job: the allowed pod failures, the failures so far, and the completions so far.
  std::int64_t backoff_limit = 6, failed = 0, succeeded = 0;
  // For an Indexed Job that sets these fields: the allowed failures of one index, and the number of
  // indexes that may fail for good. nullopt: not set. `failed_indexes` counts the indexes that have
  // failed.
  std::optional<std::int64_t> backoff_limit_per_index, max_failed_indexes;
  std::int64_t failed_indexes = 0;
  // True: the job has a successPolicy, so the success of some indexes may be enough.
  bool success_policy = false;
  // The completions of an Indexed Job. 0: the job has no indexes.
  std::uint32_t indexes = 0;
  // True: activeDeadlineSeconds is set. That time runs even while the pods wait for a gate.
  bool has_deadline = false;

  // Returns the number of GPU pods in the gang of this role's pods. The template states the number,
  // or else the function computes it. 1: each pod is alone. The result is at most
  // limits::kMaxPodsPerJob.
  std::uint32_t gang_size(std::size_t role) const;
};

// True if a JobSet's failurePolicy rule with this action restarts one job and lets the others
// continue.
bool restarts_single_job(std::string_view action);

// The pods of an owner that waits suspended by Subak, from its templates (in::OwnerSeen).
struct ParkedPods {
  // The record of the first pod. `uid` and `owner` are the uid of the owner, `name` is its name.
  PodRecord pod;
  // All pods that start together, in order of rank. One pod if each pod starts by itself.
  std::vector<PodGroup> groups;
};
// Returns the pods of an owner with the mark names::kParked, or of the JobSet of a TrainJob.
// nullopt: the owner cannot wait suspended. Its pods form several gangs or a part of one, a
// template does not tell enough, or the owner creates no GPU pods.
std::optional<ParkedPods> parked_pods(const OwnerRecord& owner);

// Reads an owner. kNotFound: the object's kind is not an OwnerKind. kInvalid: the object has no uid
// or name, or it has more templates, or more pods in a gang, than the service accepts. `extra` is
// the argument of read_pod().
Result<OwnerRecord> read_owner(json::Value object, const ExtraGpuResources& extra);
// Reads an item of a list in the same way. `kind`: its kind, because an item does not name it.
Result<OwnerRecord> read_owner(OwnerKind kind, json::Value object, const ExtraGpuResources& extra);

}  // namespace subak
