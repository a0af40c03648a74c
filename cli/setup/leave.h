// Removes Subak from a cluster (`subak uninstall`): finds Subak's objects and removes them, so that
// no pod waits for ever. These functions need only an API server, because the service may no longer
// run.
// Threads: one at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/setup/kube_caller.h"
#include "core/error.h"
#include "kube/owners/kinds.h"

namespace subak::cli {

// A pod with Subak's gate.
struct QueuedPod {
  std::string ns, name;
  // When the pod was created, as RFC 3339 in UTC.
  std::string created;
  // The uid of the pod's owner. A pod without an owner has its own uid here.
  std::string owner;
  // True: the pod has an owner, which creates the pod again after its deletion.
  bool is_made = false;
};

// An owner that Subak suspended.
struct SuspendedOwner {
  // The path of the object at the API server.
  std::string path;
  // True: the owner is suspended only until the turn of its job. False: a user cancelled the job,
  // and the owner stays suspended.
  bool taken_back = false;
  // metadata.creationTimestamp, as the API server writes it.
  std::string created;
  // The field that suspends the owner.
  SuspendField field = SuspendField::kSpec;
};

// All objects of Subak in a cluster.
struct Traces {
  // Paths of the objects that intercept requests, in the order of removal: first policies with
  // their bindings, then webhooks.
  std::vector<std::string> guards;
  // The cluster's name in Subak, which the webhook's address contains; empty: not known.
  std::string cluster;
  // Namespaces on which an operator set a label of Subak.
  std::vector<std::string> namespaces;
  // The pods with Subak's gate, gang by gang. The gang with the oldest pod comes first.
  std::vector<QueuedPod> pods;
  // Owners that Subak suspended, the oldest first.
  std::vector<SuspendedOwner> owners;
  // Paths of the objects that the service needs while it works: its priority level at the API
  // server, and its rights.
  std::vector<std::string> rights;
};

// Returns all objects of Subak in the cluster.
Result<Traces> find_traces(KubeCaller& api);

// Removes an object. An object that does not exist is no error.
std::optional<Error> remove_object(KubeCaller& api, const std::string& path);
// Removes the label subak.gpu/managed from the namespace.
std::optional<Error> forget_namespace(KubeCaller& api, const std::string& name);
// Opens Subak's gate. The scheduler then chooses the node. Gates of other programs stay. Does
// nothing if the pod is gone or its gate is open. The API server may still apply a policy for a
// second after the removal of the policy, so the function retries.
std::optional<Error> release_pod(KubeCaller& api, const QueuedPod& pod);
// Deletes a pod. Call it only for a pod that no owner creates again.
std::optional<Error> delete_pod(KubeCaller& api, const QueuedPod& pod);
// Removes the annotation names::kSuspendedBy from the owner. If `taken_back` is set, also ends the
// suspension, so that the owner creates its pods again.
std::optional<Error> resume_owner(KubeCaller& api, const SuspendedOwner& owner);
// Returns the owners that have the annotation names::kSuspendedBy now.
Result<std::vector<SuspendedOwner>> suspended_owners(KubeCaller& api);
// Returns the pods that have Subak's gate now.
Result<std::vector<QueuedPod>> queued_pods(KubeCaller& api);

}  // namespace subak::cli
