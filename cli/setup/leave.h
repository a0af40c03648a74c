// Removes Subak from a cluster: finds its objects and takes them away, so that no pod waits for
// ever. It needs only an API server: the service may be dead. Threads: one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/setup/kube_caller.h"
#include "core/error.h"

namespace subak::cli {

// A pod with Subak's gate.
struct QueuedPod {
  std::string ns, name;
  // RFC 3339, UTC.
  std::string created;
  // The uid of its owner; the pod's own if it has none.
  std::string owner;
  // Its owner would create it again.
  bool is_made = false;
};

// An owner that Subak suspended.
struct SuspendedOwner {
  // The path of the object at the API server.
  std::string path;
  // It waits for its turn. Else a user cancelled it, and it stays suspended.
  bool taken_back = false;
};

// All objects of Subak in a cluster.
struct Traces {
  // Paths of intercepting objects, in the order of removal: policies with their bindings first,
  // then webhooks.
  std::vector<std::string> guards;
  // The cluster's name in Subak, by the webhook's address; empty: not known.
  std::string cluster;
  // Namespaces with a label of Subak's that an operator set.
  std::vector<std::string> namespaces;
  // With Subak's gate: gang by gang, the gang with the oldest pod first.
  std::vector<QueuedPod> pods;
  // Owners that Subak suspended.
  std::vector<SuspendedOwner> owners;
  // Objects that the service needs while it works: its priority level at the API server, its
  // rights.
  std::vector<std::string> rights;
};

// Finds all objects of Subak in the cluster.
Result<Traces> find_traces(KubeCaller& api);

// Removes an object. It is no error if it does not exist.
std::optional<Error> remove_object(KubeCaller& api, const std::string& path);
// Removes the label subak.gpu/managed.
std::optional<Error> forget_namespace(KubeCaller& api, const std::string& name);
// Opens Subak's gate; the scheduler chooses the node, and gates of others stay. Does nothing if the
// pod is gone or open. A policy that was just removed may apply for a second longer: the call is
// retried.
std::optional<Error> release_pod(KubeCaller& api, const QueuedPod& pod);
// Deletes a pod that no owner creates again.
std::optional<Error> delete_pod(KubeCaller& api, const QueuedPod& pod);
// Removes the mark, and lets a suspended owner create its pods if Subak revoked its hold.
std::optional<Error> resume_owner(KubeCaller& api, const SuspendedOwner& owner);
// Returns the owners that carry Subak's mark now.
Result<std::vector<SuspendedOwner>> suspended_owners(KubeCaller& api);
// Returns the pods that carry Subak's gate now.
Result<std::vector<QueuedPod>> queued_pods(KubeCaller& api);

}  // namespace subak::cli
