// The names of the objects in the files of deploy/kubernetes, for commands that find or remove
// these objects. This is the only list of these names. Threads: any; pure functions.
#pragma once

#include <string>
#include <vector>

namespace subak::cli {

// One right of the service.
struct ServiceRight {
  // The parts of the right, as in RBAC: for example "create", "", "pods", "eviction". `sub` is the
  // subresource; empty: none.
  std::string verb, group, resource, sub;
};
// Returns the rights that the ClusterRole of rbac.yaml grants, in its order.
std::vector<ServiceRight> service_rights();

// Returns the paths of the objects that intercept requests, in the order of removal: policy
// bindings, policies, webhooks.
std::vector<std::string> guard_paths();
// Returns the paths of the objects that grant rights, in the order of removal: those that the
// service needs while it works, and the role for preflight.
std::vector<std::string> right_paths();

}  // namespace subak::cli
