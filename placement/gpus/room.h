// What is free on one node, in the form that fit checks need, and the arithmetic on it. The same
// functions work on the live node, on the empty node, and on a copy that a search fills. So one
// piece of code decides what fits. Private to placement.
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

// A resource that the node does not declare is never the constraint.
inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 4;

// Constraints that an explanation leaves out to find which one binds.
struct Ignore {
  bool cpu = false, memory = false, pods = false, extended = false, ports = false;
  // The resources that are reserved beside free GPUs.
  bool headroom = false;
};
// Leaves out everything but GPUs.
inline constexpr Ignore kOnlyGpus{true, true, true, true, true, true};

// What is free on one node. A value without a reference to the node.
struct Room {
  // GPUs that may be given out: healthy, uncut, and not reserved for one gang.
  GpuMask usable = 0;
  // Of those, the untouched ones that are not shared.
  GpuMask whole = 0;
  // Milli-GPU by GPU; 0 where it is not usable.
  std::vector<std::int32_t> gpu_free;
  // Slices, parallel to NodeSpec::mig.
  std::vector<std::int64_t> mig_free;
  // Parallel to NodeSpec::extended.
  std::vector<std::int64_t> extended;
  // What is left of the three; kUnlimited: the node does not declare it.
  std::int64_t cpu_milli = kUnlimited;
  std::int64_t memory_bytes = kUnlimited;
  std::int64_t pods = kUnlimited;
  // The ports that are taken.
  std::vector<HostPort> ports;
  // For each free GPU (free_gpus()) this much is reserved from non-GPU pods.
  GpuHeadroom headroom;
  // GPUs that are free and reserved for one gang.
  std::int64_t free_and_kept = 0;

  friend bool operator==(const Room&, const Room&) = default;
};

// Returns how many GPUs are not cut into MIG slices. They have the lowest indexes.
std::int64_t uncut_gpus(const NodeSpec& node);
// Returns the mask of the n lowest GPUs.
GpuMask low_bits(std::int64_t n);
// Returns the capacity of one uncut GPU: 1000, or R x floor(1000 / R) when shared R ways.
MilliGpu gpu_capacity(const NodeSpec& node);
// Returns the cost of one replica: floor(1000 / R) when a GPU is shared R ways.
MilliGpu replica_milligpu(const NodeSpec& node);

// Returns the number of NVLink domains inside the node: 1, or gpus / gpus_per_domain. It is also 1
// if NVLink joins none of the GPUs.
std::int64_t inner_domains(const NodeSpec& node);
// Returns the GPUs of the domain `index`, from 0.
GpuMask inner_domain_mask(const NodeSpec& node, std::int64_t index);

// Returns the room of the node without holds and with everything healthy.
Room empty_room(const NodeSpec& node);

// Returns the cost of one pod of this shape on this node.
MilliGpu pod_milligpu(const NodeSpec& node, const PodShape& pod);
// Returns the milli-GPU that `slot` takes from the i-th GPU of its mask (0 = lowest). The parts are
// even; the lower GPUs give the rest.
MilliGpu share_of_gpu(const PodShape& pod, const PodSlot& slot, int i, int gpus);

// Returns how many pods of this shape fit beside each other on the GPUs of `allowed`, `limit` at
// most. Exact, except that pods of several replicas each count as if placed one after the other.
std::int64_t pods_that_fit(const NodeSpec& node, const Room& room, const PodShape& pod,
                           GpuMask allowed, std::int64_t limit, const Ignore& ignore = {});
// Returns the number of working GPUs with something free, including those reserved for a gang. Of
// cut GPUs it counts at most one for each free slice: the node does not report which card has which
// slice.
std::int64_t free_gpus(const NodeSpec& node, const Room& room);
// Returns the CPU and memory that the room must keep for its free GPUs; 0 if the node declares
// none.
GpuHeadroom headroom_of(const NodeSpec& node, const Room& room);
// True if the pod takes nothing of that reserve. Only non-GPU pods could.
bool leaves_headroom(const NodeSpec& node, const Room& room, const PodShape& pod,
                     const Ignore& ignore = {});
// True if at least one pod of this shape fits.
bool fits(const NodeSpec& node, const Room& room, const PodShape& pod, GpuMask allowed,
          const Ignore& ignore = {});
// Returns the GPUs that one pod would get, if it fits: those that keep inner domains and GPUs
// whole.
std::optional<PodSlot> choose(NodeId id, const NodeSpec& node, const Room& room,
                              const PodShape& pod, GpuMask allowed, const Ignore& ignore = {});
// Returns the free milli-GPU on the one GPU that a fraction or a single replica would get. Best fit
// sorts by it.
MilliGpu tightest_gpu(const NodeSpec& node, const Room& room, const PodShape& pod);

// Takes or returns a slot that choose() returned.
void consume(const NodeSpec& node, Room& room, const PodShape& pod, const PodSlot& slot);
void release(const NodeSpec& node, Room& room, const PodShape& pod, const PodSlot& slot);

// Returns an index into NodeSpec::mig or NodeSpec::extended, or -1.
int mig_index(const NodeSpec& node, const std::string& profile);
int extended_index(const NodeSpec& node, const std::string& name);

}  // namespace subak
