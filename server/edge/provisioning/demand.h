// Finds the jobs that need a ProvisioningRequest, by the newest forecast of starts
// (docs/design/0124). With such an object, Subak asks an autoscaler for nodes of a pool. Threads:
// any that may read the engine; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/forecast/start_calibration.h"
#include "kube/provisioning/provisioning_request.h"

namespace subak {

// Pods of a job that have the same resource request.
struct DemandedPods {
  // The uid of one of these pods.
  std::string uid;
  std::int64_t count = 0;
};

// A job that waits for nodes of a pool with a provisioning class, which is the kind of
// ProvisioningRequest that the pool's autoscaler takes.
struct NodeDemand {
  JobId job;
  // The namespace of the job's pods.
  std::string ns;
  // The pool, and its class. If the job waits for nodes of several pools, this is the first pool of
  // the configuration that has a class.
  std::string pool, class_name;
  // One entry for each different resource request of the job's pods, at most kMaxPodSets.
  std::vector<DemandedPods> pods;
  // Identifies the class, the resource requests of the pods, and the number of pods with each.
  std::string digest;
  // True: the pool should get nodes that do not exist yet. False: the present nodes of the pool
  // suffice once they take pods, so the job needs no new ProvisioningRequest.
  bool needs_more = false;
};

// What the engine says of the jobs of one cluster.
struct DemandPage {
  // False: no forecast was made yet, so nothing is known.
  bool known = false;
  // By job, at most limits::kMaxProvisioningRequests. Jobs that have a ProvisioningRequest come
  // before others.
  std::vector<NodeDemand> jobs;
  // The jobs that have a ProvisioningRequest and wait or start. Their requests may still be of use.
  // Empty if no pool has a provisioning class.
  std::set<JobId> unbound;
};

// Returns the demand of a cluster. `requested`: the jobs that have a ProvisioningRequest. Leaves
// out jobs of namespaces whose mode is not enforce, and jobs without a present pod, which wait
// suspended. Also leaves out jobs whose pods have more than kMaxPodSets different resource
// requests. O(jobs that wait for nodes, and their pods).
DemandPage read_demand(const Engine& engine, const ForecastStarts& starts,
                       const std::string& cluster, const std::set<JobId>& requested);

}  // namespace subak
