// Compares the MIG slices of a cluster with the slices that waiting jobs ask for. Advises which
// configuration of NVIDIA's MIG Manager would let more of these jobs start. The API's list of MIG
// slices shows both. Only an operator changes the configuration, never Subak.
// Threads: several may read a fleet while no thread changes it; pure functions.
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

// The slices and GPUs that the waiting jobs of a cluster ask for in total.
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

// The configuration, for some idle nodes, that would let the most additional demand start.
struct MigAdvice {
  // The name that MIG Manager generates: "all-1g.10gb" (placement/gpus/mig_config.h). Empty:
  // no other configuration serves more.
  std::string config;
  // The idle nodes that should get this configuration, by id.
  std::vector<NodeId> nodes;
  // The additional demand that could start: slices by profile, whole GPUs, and both together in
  // milli-GPU.
  std::vector<MigSlices> slices;
  std::int64_t gpus = 0;
  MilliGpu gain = 0;
};

// The result of mig_plan().
struct MigPlan {
  // The profiles that are configured or asked for, by name.
  std::vector<MigProfileTotals> profiles;
  MigAdvice advice;
};

// Returns the totals and the advice. MIG Manager changes whole nodes and needs free GPUs. So the
// advice names only nodes that take new pods and are not `reserved`, without holds, claims,
// unhealthy GPUs and shared GPUs. A change that would let less of some profile start is never
// advised. The advice names at most limits::kDefaultPageSize nodes. It compares amounts only: a job
// that waits for another reason than GPUs, or that needs several slices on one node, may still
// wait. O(nodes * configurations).
MigPlan mig_plan(const Fleet& fleet, ClusterId cluster, const MigDemand& waiting,
                 const std::set<NodeId>& reserved);

}  // namespace subak
