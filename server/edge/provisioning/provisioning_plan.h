// Decides which ProvisioningRequests the edge makes and deletes next (docs/design/0124). With such
// an object, Subak asks an autoscaler for nodes of a pool. The plan depends only on its arguments,
// so a restarted service makes the same plan. Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/edge/provisioning/demand.h"
#include "server/edge/provisioning/request_cache.h"

namespace subak {

// Since when jobs with a request no longer wait for nodes, by the service's time.
using UnneededSince = std::map<JobId, TimeMs>;

// The next steps: the result of plan_provisioning().
struct ProvisioningPlan {
  // A request to make. `demand` points into the page. `request` has no uid yet, and no pods.
  struct Make {
    const NodeDemand* demand = nullptr;
    ProvisioningRequest request;
  };
  std::vector<Make> make;
  // The requests to delete, with their PodTemplates.
  std::vector<ProvisioningRequest> drop;
  // The value of UnneededSince for the next plan.
  UnneededSince unneeded;
};

// Plans the next steps. The rules:
// - A job that waits for nodes gets one request. If the request ends without nodes, or no longer
//   fits the job's pods, the job gets a new request after provisioning_pause().
// - The newest request of a job counts. All older ones are deleted.
// - If a job waits for nodes no longer, its request is deleted. A request may stay for some time
//   while the job waits or starts (limits::kProvisioningUnneededMs, limits::kProvisionedKeptMs).
// `unneeded`: from the last plan. `now_ms`: the service's time. The page must be known. O((jobs +
// requests) log n).
ProvisioningPlan plan_provisioning(const DemandPage& page,
                                   const std::map<std::string, RequestCache::Entry>& requests,
                                   const UnneededSince& unneeded, TimeMs now_ms);

// Returns the pause after request `number` of a job, before the next one.
DurationMs provisioning_pause(std::uint32_t number);

}  // namespace subak
