// What the files of deploy/kubernetes hold, for commands that ask after it or take it away: one list of
// names, theirs. Threads: pure functions.
#pragma once

#include <string>
#include <vector>

namespace subak::cli {

// One thing that the service may do.
struct ServiceRight {
  std::string verb, group, resource, sub;  // "create", "", "pods", "eviction"
};
// What the ClusterRole of rbac.yaml grants, in its order.
std::vector<ServiceRight> service_rights();

// Paths of the objects that intercept, in the order in which they have to go: what binds policies, then
// policies, then webhooks.
std::vector<std::string> guard_paths();
// Paths of what the service needs as long as it works, in the order in which it may go.
std::vector<std::string> right_paths();

}  // namespace subak::cli
