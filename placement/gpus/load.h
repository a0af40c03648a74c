// The load of one node: the holds of its pods, and sums over them. left_on() computes the room that
// is left. A pod has a hold from the decision to place it until it has ended. The fleet has one
// load for each node; a snapshot has its own only for nodes whose holds differ.
// Threads: any; plain values, pure functions. Private to placement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "model/node.h"
#include "model/request.h"
#include "placement/gpus/room.h"

namespace subak {

// A NodeId::value, used as an index of the fleet's nodes.
using NodeIndex = std::uint32_t;
// An index into the fleet's domains.
using DomainIndex = std::uint32_t;

// Index 0 of domains, racks and blocks means "none".
inline constexpr std::uint32_t kNoArea = 0;

// A pod that holds GPUs or other resources on a node.
struct Hold {
  // The job of the pod.
  JobId owner;
  // The request of the job, and the pod's index in it.
  ShapeId shape;
  std::uint32_t rank = 0;
  // The GPUs that the pod holds. The node of the slot is the node of the load.
  PodSlot slot;
  // For a gang that has its NVLink domain alone (nvlink-exclusive): the GPUs of this node in that
  // domain. No other job may use them.
  GpuMask kept = 0;
  // For such a gang: the clique that no other job may use. kNoArea: none.
  DomainIndex kept_domain = kNoArea;
};

// The slices of one profile that pods hold on a node.
struct MigUse {
  // The profile, as in MigSlices.
  std::string profile;
  // The number of slices; never negative.
  std::int64_t slices = 0;
};

// The load of one node: its holds, and sums over them.
struct Load {
  // The holds, in no order.
  std::vector<Hold> holds;
  // The held milli-GPU of each GPU. If the node lost GPUs, the vector has more entries than the
  // node has GPUs.
  std::vector<std::int32_t> gpu_used;
  // The held slices by profile, in no order.
  std::vector<MigUse> mig_used;
  // Held milli-GPU for which no index of a GPU is known (PodSlot::gpu_mask does not name the GPU).
  MilliGpu loose = 0;
  // The sum of all holds in milli-GPU.
  MilliGpu allocated = 0;
  // Sums of the holds' requests: thousandths of a CPU, bytes, pods.
  std::int64_t cpu_used = 0, memory_used = 0, pods_used = 0;
  // Sums of extended resources by name, and the ports that the pods take.
  std::vector<ResourceCount> extended_used;
  std::vector<HostPort> ports;
  // For each pod with a hold, the groups of its topology spread constraints (TopologySpread::group,
  // a hash of namespace and selector); sorted.
  std::vector<std::int64_t> groups;
  // The usage of pods without a hold.
  NodeUse others;

  // Adds a hold. `pod` is the shape of the hold's rank.
  void add(const Hold& hold, const PodShape& pod);
  // Returns the hold with exactly these fields; nullptr if there is none. Valid until the load
  // changes.
  const Hold* find(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner) const;
  // Removes a hold that find() returned, and returns it.
  Hold remove(const Hold* hold, const PodShape& pod);

  // The GPUs that are held at least in part.
  GpuMask gpus() const;
  // The GPUs of this node that are in exclusive domains (Hold::kept of all holds).
  GpuMask kept() const;
};

// Returns the room on the node when the load is subtracted. `empty`: the node's room without holds.
// No pod gets GPUs in `kept`; if it is kAllGpus, no pod gets slices either. `headroom`: the CPU and
// memory that non-GPU pods must leave free for each free GPU. `unhealthy_free`, if not nullptr,
// receives the milli-GPU that are free on unhealthy GPUs.
Room left_on(const NodeSpec& spec, const Room& empty, const Load& load, GpuMask kept,
             const GpuHeadroom& headroom, MilliGpu* unhealthy_free);
// Writes the same room into `room`, and reuses the memory of `room`.
void fill_left(const NodeSpec& spec, const Room& empty, const Load& load, GpuMask kept,
               const GpuHeadroom& headroom, MilliGpu* unhealthy_free, Room& room);

}  // namespace subak
