// Says how the slices of a cluster meet what waits for slices, and which configuration of NVIDIA's
// MIG Manager would serve more of it. Subak changes no configuration: an operator does.
// Threads: as the fleet; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "model/node.h"
#include "placement/fleet/fleet.h"

namespace subak {

// What the waiting jobs of a cluster ask for in total.
struct MigDemand {
  // The slices by profile.
  std::map<std::string, std::int64_t> slices;
  // Whole GPUs.
  std::int64_t gpus = 0;
};

// Slices of one profile on all nodes of a cluster.
struct MigProfileTotals {
  std::string profile;
  // The slices that exist, and those that pods hold.
  std::int64_t configured = 0, used = 0;
  // The free slices on nodes that take new pods.
  std::int64_t free = 0;
  // The slices that waiting jobs ask for.
  std::int64_t waiting = 0;
  // The slices that would be free if each idle node were cut into slices of this profile only.
  std::int64_t possible = 0;
};

// The configuration that would serve most of what waits.
struct MigAdvice {
  // The name that MIG Manager generates: "all-1g.10gb" (placement/gpus/mig_config.h). Empty:
  // no other configuration serves more.
  std::string config;
  // The idle nodes that should get this configuration, by id.
  std::vector<NodeId> nodes;
  // How much more of what waits would be served: slices by profile, whole GPUs, and both together
  // in milli-GPU.
  std::vector<MigSlices> slices;
  std::int64_t gpus = 0;
  MilliGpu gain = 0;
};

struct MigPlan {
  // The profiles that are configured or asked for, by name.
  std::vector<MigProfileTotals> profiles;
  MigAdvice advice;
};

// Returns the totals and the advice. Only nodes that take new pods, and on which nothing is held,
// claimed or `reserved`, may change, because MIG Manager changes whole nodes and needs free GPUs.
// No change may serve less of anything than now. The advice names at most limits::kDefaultPageSize
// nodes. It compares amounts only: a job that waits for another reason than GPUs, or that needs
// several slices on one node, may still wait. O(nodes * configurations).
MigPlan mig_plan(const Fleet& fleet, ClusterId cluster, const MigDemand& waiting,
                 const std::set<NodeId>& reserved);

}  // namespace subak
