// The holds on one node and the room that they leave. A load is a value: the live node has one, and
// so has every node that a snapshot shows differently. Private to placement.
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

// NodeId::value, as an index of the fleet's nodes.
using NodeIndex = std::uint32_t;
// An index into the fleet's domains.
using DomainIndex = std::uint32_t;

// Index 0 of domains, racks and blocks means "none".
inline constexpr std::uint32_t kNoArea = 0;

// A pod that holds something on a node.
struct Hold {
  // The job of the pod.
  JobId owner;
  // The request of the job, and the pod's index in it.
  ShapeId shape;
  std::uint32_t rank = 0;
  // What it holds. Its node is the one of the load.
  PodSlot slot;
  // Of an nvlink-exclusive gang: GPUs of this node that are reserved for the gang.
  GpuMask kept = 0;
  // Likewise a whole clique. kNoArea: none.
  DomainIndex kept_domain = kNoArea;
};

// The slices of one profile that pods hold on a node.
struct MigUse {
  // As in MigSlices.
  std::string profile;
  // Never negative.
  std::int64_t slices = 0;
};

struct Load {
  // In no order.
  std::vector<Hold> holds;
  // Milli-GPU by GPU. It is longer than the node has GPUs after the node shrank.
  std::vector<std::int32_t> gpu_used;
  // By profile, in no order.
  std::vector<MigUse> mig_used;
  // Held, but on no GPU whose index is known.
  MilliGpu loose = 0;
  // The sum of all holds.
  MilliGpu allocated = 0;
  // Sums of the holds' requests: thousandths of a CPU, bytes, pods.
  std::int64_t cpu_used = 0, memory_used = 0, pods_used = 0;
  // Sums by name, and the ports that the pods take.
  std::vector<ResourceCount> extended_used;
  std::vector<HostPort> ports;
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
  // The GPUs that exclusive gangs on this node reserve for themselves.
  GpuMask kept() const;
};

// Returns the room that the load leaves on a node whose empty room is `empty`. GPUs in `kept` are
// not given out; with kAllGpus no slices are given out either. `beside` is reserved from non-GPU
// pods. `unhealthy_free`, if not nullptr, receives the milli-GPU that are free but on unhealthy
// GPUs.
Room left_on(const NodeSpec& spec, const Room& empty, const Load& load, GpuMask kept,
             const GpuHeadroom& headroom, MilliGpu* unhealthy_free);
// The same, written into `room`, whose memory it reuses.
void fill_left(const NodeSpec& spec, const Room& empty, const Load& load, GpuMask kept,
               const GpuHeadroom& headroom, MilliGpu* unhealthy_free, Room& room);

}  // namespace subak
