// What is held on one node, and what that leaves of it. A load is a value: the live node has one,
// and so does every node that a picture shows otherwise than it is. Private to placement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "placement/node.h"
#include "placement/request.h"
#include "placement/room.h"

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
  GpuMask kept = 0;                   // nvlink-exclusive: GPUs of this node kept for the gang
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
  MilliGpu loose = 0;  // held, but on no GPU that we know by index
  MilliGpu allocated = 0;
  std::int64_t cpu_used = 0, memory_used = 0, pods_used = 0;
  std::vector<ResourceCount> extended_used;
  std::vector<HostPort> ports;
  NodeUse others;  // of no hold

  // `pod` is the shape of the hold's rank.
  void add(const Hold& hold, const PodShape& pod);
  // The hold of exactly this; nullptr if there is none. Valid until the load changes.
  const Hold* find(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner) const;
  // Takes a hold that find() gave out of the load and returns it.
  Hold remove(const Hold* hold, const PodShape& pod);

  // GPUs of which something is held.
  GpuMask gpus() const;
  // GPUs that exclusive gangs on this node keep for themselves.
  GpuMask kept() const;
};

// What the load leaves of a node that has `empty` when nothing is held. GPUs of `kept` are not
// given out, with kAllGpus no slices either. `beside` is kept from pods without GPUs. `unhealthy_free`, if given, becomes the milli-GPU that
// are free only in name, as they are on unhealthy GPUs.
Room left_on(const NodeSpec& spec, const Room& empty, const Load& load, GpuMask kept,
             const BesideGpu& beside, MilliGpu* unhealthy_free);
// The same into `room`, whose memory it uses.
void fill_left(const NodeSpec& spec, const Room& empty, const Load& load, GpuMask kept,
               const BesideGpu& beside, MilliGpu* unhealthy_free, Room& room);

}  // namespace subak
