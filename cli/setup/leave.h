// Removes Subak from a cluster: finds Subak's objects and removes them, so that no pod waits for
// ever. These functions need only an API server: the service may be dead. Threads: one.
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
  // It has an owner, which creates the pod again after its deletion.
  bool is_made = false;
};

// An owner that Subak suspended.
struct SuspendedOwner {
  // The path of the object at the API server.
  std::string path;
  // True: Subak revoked its hold, so it waits for its turn. False: a user cancelled it, and it
  // stays suspended.
  bool taken_back = false;
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
  // Owners that Subak suspended.
  std::vector<SuspendedOwner> owners;
  // Paths of the objects that the service needs while it works: its priority level at the API
  // server, and its rights.
  std::vector<std::string> rights;
};

// Finds all objects of Subak in the cluster.
Result<Traces> find_traces(KubeCaller& api);

// Removes an object. An object that does not exist is no error.
std::optional<Error> remove_object(KubeCaller& api, const std::string& path);
// Removes the label subak.gpu/managed.
std::optional<Error> forget_namespace(KubeCaller& api, const std::string& name);
// Opens Subak's gate. The scheduler then chooses the node; gates of other programs stay. Does
// nothing if the pod is gone or its gate is open. The API server may still apply a policy for a
// second after its removal, so the function retries.
std::optional<Error> release_pod(KubeCaller& api, const QueuedPod& pod);
// Deletes a pod. Call it only for a pod that no owner creates again.
std::optional<Error> delete_pod(KubeCaller& api, const QueuedPod& pod);
// Removes the mark, and lets a suspended owner create its pods if Subak revoked its hold.
std::optional<Error> resume_owner(KubeCaller& api, const SuspendedOwner& owner);
// Returns the owners that carry Subak's mark now.
Result<std::vector<SuspendedOwner>> suspended_owners(KubeCaller& api);
// Returns the pods that carry Subak's gate now.
Result<std::vector<QueuedPod>> queued_pods(KubeCaller& api);

}  // namespace subak::cli
