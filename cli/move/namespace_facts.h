// Reads what Kueue and Subak have in one namespace, for `subak migrate --namespace`
// (namespace_move.h). These functions need only an API server.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "cli/setup/kube_caller.h"
#include "core/error.h"
#include "kube/owners/kinds.h"

namespace subak::cli {

// Annotation with the former stopPolicy of a LocalQueue that `subak migrate --namespace` holds.
inline constexpr std::string_view kPolicyBefore = "subak.gpu/stop-policy-before";
// Label of an owner or a pod: the LocalQueue in which Kueue queues it.
inline constexpr std::string_view kQueueName = "kueue.x-k8s.io/queue-name";
// Annotation of an owner that was moved from Kueue: the former value of its label kQueueName.
inline constexpr std::string_view kQueueBefore = "subak.gpu/queue-name-before";

// A LocalQueue of Kueue.
struct LocalQueue {
  // The path of the object at the API server.
  std::string path;
  std::string name, cluster_queue;
  // spec.stopPolicy: "None", "Hold" or "HoldAndDrain". Empty: not set, which means "None".
  std::string stop_policy;
  // True: the queue has the annotation kPolicyBefore, whose value is `policy_before`.
  bool is_held_by_us = false;
  std::string policy_before;
};

// An owner of pods that Kueue or Subak keeps waiting, such as a Job.
struct WaitingOwner {
  std::string path;
  // "Job train", for people.
  std::string what;
  // The label kueue.x-k8s.io/queue-name; empty: the owner has none.
  std::string queue;
  // The value of kQueueBefore; empty: the owner was not moved.
  std::string queue_before;
  std::string uid;
  bool suspended = false;
  // The annotation subak.gpu/suspended; empty: Subak did not suspend the owner.
  std::string mark;
  // The field that suspends the owner.
  SuspendField field = SuspendField::kSpec;
};

// A pod that waits for a gate.
struct GatedPod {
  std::string ns, name, owner;
  // True: the pod has a controller, which creates it again after its deletion.
  bool is_made = false;
};

// What a namespace has.
struct MovingNamespace {
  std::string ns;
  // The labels subak.gpu/managed and subak.gpu/account; empty: not set.
  std::string managed, account;
  std::vector<LocalQueue> queues;
  // Workloads of Kueue that are admitted and have not finished, as "Job/train".
  std::vector<std::string> running;
  std::size_t waiting_workloads = 0;
  // Owners with a label or an annotation of Kueue or of Subak, and owners that Subak suspended.
  std::vector<WaitingOwner> owners;
  // Pods with the gate of Kueue, and pods with the gate of Subak.
  std::vector<GatedPod> of_kueue, of_subak;
  // Names of GPU pods that have a node: those that Subak started, and those of others.
  std::vector<std::string> started_by_subak, of_other_schedulers;
  // "KEY on WHAT": each mark of another queue manager without an equivalent in Subak.
  std::set<std::string> without_equivalent;
  // Priority classes of Kueue that objects name.
  std::set<std::string> classes;
  // Admission checks of the ClusterQueues, as "NAME of QUEUE".
  std::set<std::string> checks;
  // Where Kueue would still act on new objects of the namespace: configurations that do not leave
  // out managed namespaces.
  std::vector<std::string> still_watched_by;
};

// Reads the namespace. A kind that the cluster does not have counts as empty. kNotFound: the
// namespace does not exist.
Result<MovingNamespace> read_namespace(KubeCaller& api, const std::string& ns);

}  // namespace subak::cli
