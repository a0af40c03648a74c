// The room of one node: what is free on the node, in the form that fit checks need, and the
// functions that compute with it. The same functions serve for the live node, for the empty node,
// and for a copy that a search fills. So this code alone decides what fits. Private to placement.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "model/node.h"
#include "model/request.h"

namespace subak {

// GPUs of one node as bits: bit i is the GPU with index i.
using GpuMask = std::uint64_t;
inline constexpr GpuMask kAllGpus = ~GpuMask{0};

// The amount of a resource that the node does not declare. Such a resource never rules out the
// node.
inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 4;

// Constraints that an explanation ignores, to find the constraint that is in the way.
struct Ignore {
  bool cpu = false, memory = false, pods = false, extended = false, ports = false;
  // The CPU and memory that are reserved for free GPUs (Room::headroom).
  bool headroom = false;
  // The rule that the nodes of a gang are of one RDMA fabric.
  bool fabric = false;
};
// Ignores all constraints except GPUs and their fabric.
inline constexpr Ignore kOnlyGpus{true, true, true, true, true, true};

// What is free on one node. A room does not refer to its node.
struct Room {
  // The GPUs that a pod may get: healthy, not cut into slices, and not reserved for one gang.
  GpuMask usable = 0;
  // Of these, the GPUs that no pod uses and that are not shared.
  GpuMask whole = 0;
  // The free milli-GPU of each GPU; 0 if the GPU is not usable.
  std::vector<std::int32_t> gpu_free;
  // The free slices of each entry of NodeSpec::mig.
  std::vector<std::int64_t> mig_free;
  // The free amount of each entry of NodeSpec::extended.
  std::vector<std::int64_t> extended;
  // Free CPU, memory and pod slots; kUnlimited if the node does not declare the resource.
  std::int64_t cpu_milli = kUnlimited;
  std::int64_t memory_bytes = kUnlimited;
  std::int64_t pods = kUnlimited;
  // The ports that are taken.
  std::vector<HostPort> ports;
  // The CPU and memory that non-GPU pods must leave for each free GPU (free_gpus()).
  GpuHeadroom headroom;
  // The number of GPUs that are free and reserved for one gang.
  std::int64_t free_and_kept = 0;

  friend bool operator==(const Room&, const Room&) = default;
};

// Returns how many GPUs are not cut into MIG slices. These GPUs have the lowest indexes.
std::int64_t uncut_gpus(const NodeSpec& node);
// Returns the mask of the n lowest GPUs.
GpuMask low_bits(std::int64_t n);
// Returns the capacity of one uncut GPU: 1000, or R x floor(1000 / R) when shared R ways.
MilliGpu gpu_capacity(const NodeSpec& node);
// Returns the cost of one replica: floor(1000 / R) when a GPU is shared R ways.
MilliGpu replica_milligpu(const NodeSpec& node);

// Returns the number of NVLink domains inside the node: 1, or gpus / gpus_per_domain. The number is
// also 1 if NVLink joins none of the GPUs.
std::int64_t inner_domains(const NodeSpec& node);
// Returns the GPUs of the inner domain `index`; the first has index 0.
GpuMask inner_domain_mask(const NodeSpec& node, std::int64_t index);

// Returns the room of the node without holds and with all GPUs healthy.
Room empty_room(const NodeSpec& node);

// Returns the cost of one pod of this shape on this node.
MilliGpu pod_milligpu(const NodeSpec& node, const PodShape& pod);
// Returns the milli-GPU that `slot` takes from the i-th GPU of its mask (0 = lowest). The parts are
// equal, except that the lower GPUs also give the remainder of the division.
MilliGpu share_of_gpu(const PodShape& pod, const PodSlot& slot, int i, int gpus);

// Returns how many pods of this shape fit beside each other on the GPUs of `allowed`, `limit` at
// most. The result is exact, except for pods that need several replicas: the count then places
// these pods one after the other, and may be too low.
std::int64_t pods_that_fit(const NodeSpec& node, const Room& room, const PodShape& pod,
                           GpuMask allowed, std::int64_t limit, const Ignore& ignore = {});
// Returns the number of working GPUs that are free at least in part. GPUs that are reserved for a
// gang count too. Of cut GPUs it counts at most one for each free slice, because the node does not
// report which card has which slice.
std::int64_t free_gpus(const NodeSpec& node, const Room& room);
// Returns the CPU and memory that are reserved for the free GPUs of the room. A resource that the
// node does not declare is 0.
GpuHeadroom headroom_of(const NodeSpec& node, const Room& room);
// True if the pod takes nothing of headroom_of(). The result is always true for pods with GPUs.
bool leaves_headroom(const NodeSpec& node, const Room& room, const PodShape& pod,
                     const Ignore& ignore = {});
// True if at least one pod of this shape fits.
bool fits(const NodeSpec& node, const Room& room, const PodShape& pod, GpuMask allowed,
          const Ignore& ignore = {});
// Returns the GPUs that one pod would get, if it fits. It chooses GPUs so that other GPUs and inner
// domains stay wholly free.
std::optional<PodSlot> choose(NodeId id, const NodeSpec& node, const Room& room,
                              const PodShape& pod, GpuMask allowed, const Ignore& ignore = {});
// Returns the free milli-GPU on the one GPU that a fraction or a single replica would get. Best fit
// sorts nodes by this amount.
MilliGpu tightest_gpu(const NodeSpec& node, const Room& room, const PodShape& pod);

// consume() takes from the room a slot that choose() returned. release() gives the slot back to the
// room.
void consume(const NodeSpec& node, Room& room, const PodShape& pod, const PodSlot& slot);
void release(const NodeSpec& node, Room& room, const PodShape& pod, const PodSlot& slot);

// Returns an index into NodeSpec::mig or NodeSpec::extended, or -1.
int mig_index(const NodeSpec& node, const std::string& profile);
int extended_index(const NodeSpec& node, const std::string& name);

}  // namespace subak
