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

using NodeIndex = std::uint32_t;    // NodeId::value
using DomainIndex = std::uint32_t;  // into the fleet's domains

inline constexpr std::uint32_t kNoArea = 0;  // index 0 of domains and racks means "none"

// A pod that holds something on a node.
struct Hold {
  JobId owner;
  ShapeId shape;
  std::uint32_t rank = 0;
  PodSlot slot;
  GpuMask kept = 0;                   // nvlink-exclusive: GPUs of this node reserved for the gang
  DomainIndex kept_domain = kNoArea;  // ... or a whole clique
};

struct MigUse {
  std::string profile;
  std::int64_t slices = 0;
};

struct Load {
  std::vector<Hold> holds;             // in no order
  std::vector<std::int32_t> gpu_used;  // milli-GPU; longer than the node has GPUs after it shrank
  std::vector<MigUse> mig_used;
  MilliGpu loose = 0;  // held, but on no GPU whose index is known
  MilliGpu allocated = 0;
  std::int64_t cpu_used = 0, memory_used = 0, pods_used = 0;
  std::vector<ResourceCount> extended_used;
  std::vector<HostPort> ports;
  NodeUse others;  // usage of pods without a hold

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
