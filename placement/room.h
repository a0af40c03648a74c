// What is left on one node, in the form that fit checks want, and the arithmetic on it. The same
// functions work on the live node, on the node as if empty, and on a copy that a search fills up,
// so there is one judge of "fits". Private to placement.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "placement/node.h"
#include "placement/request.h"

namespace subak {

using GpuMask = std::uint64_t;
inline constexpr GpuMask kAllGpus = ~GpuMask{0};

// Not declared by the node, so never the constraint.
inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 4;

// Constraints that an explanation leaves out to learn which one binds.
struct Ignore {
  bool cpu = false, memory = false, pods = false, extended = false, ports = false;
  bool beside = false;  // what is kept beside free GPUs
};
inline constexpr Ignore kOnlyGpus{true, true, true, true, true, true};

struct Room {
  GpuMask usable = 0;  // GPUs that may be given out: healthy, uncut, not kept for one gang
  GpuMask whole = 0;   // of those, untouched and not shared
  std::vector<std::int32_t> gpu_free;  // milli-GPU per GPU, 0 where not usable
  std::vector<std::int64_t> mig_free;  // slices, parallel to NodeSpec::mig
  std::vector<std::int64_t> extended;  // parallel to NodeSpec::extended
  std::int64_t cpu_milli = kUnlimited;
  std::int64_t memory_bytes = kUnlimited;
  std::int64_t pods = kUnlimited;
  std::vector<HostPort> ports;  // taken
  // From pods without GPUs this much is kept for each GPU that is free (free_gpus()).
  BesideGpu beside;
  std::int64_t free_and_kept = 0;  // GPUs that are free and kept for one gang

  friend bool operator==(const Room&, const Room&) = default;
};

// GPUs that are not cut into MIG slices have the lower indexes.
std::int64_t uncut_gpus(const NodeSpec& node);
// The mask of the n lowest GPUs.
GpuMask low_bits(std::int64_t n);
// What one uncut GPU can give: 1000, or R x floor(1000 / R) when shared R ways.
MilliGpu gpu_capacity(const NodeSpec& node);
// What one replica costs: floor(1000 / R) when a GPU is shared R ways.
MilliGpu replica_milligpu(const NodeSpec& node);

// NVLink domains inside the node: 1, or gpus / gpus_per_domain. 1 too where NVLink joins none of them.
std::int64_t inner_domains(const NodeSpec& node);
// The GPUs of the domain `index`, from 0.
GpuMask inner_domain_mask(const NodeSpec& node, std::int64_t index);

// The room of the node with nothing held and everything healthy.
Room empty_room(const NodeSpec& node);

// What one such pod costs on this node.
MilliGpu pod_milligpu(const NodeSpec& node, const PodShape& pod);
// Milli-GPU that `slot` takes from the i-th GPU of its mask (0 = lowest): even, the rest to the
// lower.
MilliGpu share_of_gpu(const PodShape& pod, const PodSlot& slot, int i, int gpus);

// How many such pods fit beside each other, at most `limit`, on the GPUs of `allowed`. Exact,
// except that pods of several replicas each count as they would be placed one after the other.
std::int64_t pods_that_fit(const NodeSpec& node, const Room& room, const PodShape& pod,
                           GpuMask allowed, std::int64_t limit, const Ignore& ignore = {});
// GPUs of which something is free, also those that are kept for a gang, not those that do not work. Of cut
// ones at most one for each free slice: which card a slice is on nobody says.
std::int64_t free_gpus(const NodeSpec& node, const Room& room);
// What the room must have left of CPU and memory for its free GPUs; 0 where the node does not say what it has.
BesideGpu kept_beside(const NodeSpec& node, const Room& room);
// A pod that is there takes nothing of that; only pods without GPUs could.
bool keeps_beside(const NodeSpec& node, const Room& room, const PodShape& pod,
                  const Ignore& ignore = {});
// At least one does.
bool fits(const NodeSpec& node, const Room& room, const PodShape& pod, GpuMask allowed,
          const Ignore& ignore = {});
// The GPUs that one pod would get, if it fits: those that keep inner domains and GPUs whole.
std::optional<PodSlot> choose(NodeId id, const NodeSpec& node, const Room& room,
                              const PodShape& pod, GpuMask allowed, const Ignore& ignore = {});
// Free milli-GPU on the one GPU that a fraction or a single replica would get; the key of its best
// fit.
MilliGpu tightest_gpu(const NodeSpec& node, const Room& room, const PodShape& pod);

// Takes or returns a slot that choose() gave.
void consume(const NodeSpec& node, Room& room, const PodShape& pod, const PodSlot& slot);
void release(const NodeSpec& node, Room& room, const PodShape& pod, const PodSlot& slot);

// Index into NodeSpec::mig / NodeSpec::extended, or -1.
int mig_index(const NodeSpec& node, const std::string& profile);
int extended_index(const NodeSpec& node, const std::string& name);

}  // namespace subak
