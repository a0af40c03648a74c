// The room of one node: its free GPUs and other resources, in the form that fit checks need. The
// functions here decide which pods fit into a room. They serve for the live node, for the empty
// node, and for a copy that a search fills.
// Threads: any; plain values, pure functions. Private to placement.
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
  // The rule that non-GPU pods leave CPU and memory free for the free GPUs (Room::headroom).
  bool headroom = false;
  // The rule that the nodes of a gang are of one RDMA fabric.
  bool fabric = false;
  // Rules about the domains of other pods (placement/trial/pod_rules.h).
  bool pod_rules = false;
};
// Ignores all constraints except the GPUs themselves and the rule about their RDMA fabric.
inline constexpr Ignore kOnlyGpus{true, true, true, true, true, true, false, true};

// The free resources of one node. A room does not refer to its node.
struct Room {
  // The GPUs that a pod may get: healthy, not cut into slices, in no exclusive domain of a gang,
  // and not on a spare node of a gang.
  GpuMask usable = 0;
  // Of these, the GPUs that no pod holds, even in part, and that no claim sets aside. Always empty
  // on a node with shared GPUs.
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
  // The ports of the node that pods use.
  std::vector<HostPort> ports;
  // For each pod on the node, the groups of its topology spread constraints; sorted.
  std::vector<std::int64_t> groups;
  // The CPU and memory that non-GPU pods must leave free for each free GPU (free_gpus()).
  GpuHeadroom headroom;
  // The number of free GPUs that are missing in `usable`, because they are in an exclusive domain
  // of a gang or on a spare node of a gang.
  std::int64_t free_and_kept = 0;

  friend bool operator==(const Room&, const Room&) = default;
};

// Returns how many GPUs are not cut into MIG slices. These GPUs have the lowest indexes.
std::int64_t uncut_gpus(const NodeSpec& node);
// Returns the mask of the n lowest GPUs.
GpuMask low_bits(std::int64_t n);
// Returns the capacity of one uncut GPU in milli-GPU: 1000, or R x floor(1000 / R) for a shared GPU
// with R replicas.
MilliGpu gpu_capacity(const NodeSpec& node);
// Returns the cost in milli-GPU of one replica of a shared GPU: floor(1000 / R) for a GPU with R
// replicas. Returns 1000 if the node's GPUs are not shared.
MilliGpu replica_milligpu(const NodeSpec& node);

// Returns the number of NVLink domains inside the node: uncut_gpus() / gpus_per_domain, rounded up.
// The number is 1 if NVLink joins all of these GPUs, or none.
std::int64_t inner_domains(const NodeSpec& node);
// Returns the GPUs of the inner domain `index`; the first has index 0.
GpuMask inner_domain_mask(const NodeSpec& node, std::int64_t index);

// Returns the room of the node without holds and with all GPUs healthy.
Room empty_room(const NodeSpec& node);

// Returns the cost in milli-GPU of one pod of this shape on this node.
MilliGpu pod_milligpu(const NodeSpec& node, const PodShape& pod);
// Returns the milli-GPU that the pod in `slot` takes from the i-th GPU of the slot's mask (0 =
// lowest). `gpus` is the number of GPUs in the mask. A whole GPU gives 1000. The replicas of a
// shared GPU are divided evenly over the GPUs of the mask. If a remainder is left, each of the
// lowest GPUs gives one replica more.
MilliGpu share_of_gpu(const PodShape& pod, const PodSlot& slot, int i, int gpus);

// pods_that_fit(), fits() and choose() apply all constraints of one node that `ignore` does not
// name, the headroom for free GPUs too. They never apply the rules about a gang's RDMA fabric and
// about the domains of other pods.
//
// Returns how many pods of this shape fit together on the GPUs of `allowed`, `limit` at most. For
// pods with MIG slices, `allowed` must be kAllGpus; with any other mask the result is 0. The result
// is exact, except for pods that need several replicas of shared GPUs. The function places such
// pods one after the other, so their count may be too low.
std::int64_t pods_that_fit(const NodeSpec& node, const Room& room, const PodShape& pod,
                           GpuMask allowed, std::int64_t limit, const Ignore& ignore = {});
// Returns the number of healthy GPUs that are free at least in part. GPUs in Room::free_and_kept
// count too. GPUs that are cut into slices count as the number of free slices, but at most as
// NodeSpec::mig_gpus, because the node does not report which GPU has which slice.
std::int64_t free_gpus(const NodeSpec& node, const Room& room);
// Returns the CPU and memory that non-GPU pods must leave free in the room: Room::headroom times
// free_gpus(). A resource that the node does not declare is 0.
GpuHeadroom headroom_of(const NodeSpec& node, const Room& room);
// Checks the headroom of a gang once all its pods are placed, because its GPU pods change
// headroom_of(). Call it after consume() has taken the pod from the room. True if the room still
// has the CPU and memory of headroom_of(); a resource that the pod does not request is not
// compared. Always true for pods with GPUs.
bool leaves_headroom(const NodeSpec& node, const Room& room, const PodShape& pod,
                     const Ignore& ignore = {});
// True if at least one pod of this shape fits (pods_that_fit()).
bool fits(const NodeSpec& node, const Room& room, const PodShape& pod, GpuMask allowed,
          const Ignore& ignore = {});
// Returns the slot that one pod would get on the node; nullopt if the pod does not fit. The
// function chooses the GPUs so that as many other GPUs and inner domains as possible stay wholly
// free.
std::optional<PodSlot> choose(NodeId id, const NodeSpec& node, const Room& room,
                              const PodShape& pod, GpuMask allowed, const Ignore& ignore = {});
// Returns the free milli-GPU on the one GPU that a pod with a fraction or a single replica would
// get; kUnlimited if no GPU has enough. Best fit sorts nodes by this amount.
MilliGpu tightest_gpu(const NodeSpec& node, const Room& room, const PodShape& pod);

// consume() takes from the room a slot that choose() returned. release() gives the slot back to the
// room.
void consume(const NodeSpec& node, Room& room, const PodShape& pod, const PodSlot& slot);
void release(const NodeSpec& node, Room& room, const PodShape& pod, const PodSlot& slot);

// Add the groups of the pod's topology spread constraints to a sorted list, and remove them. If
// several constraints of the pod have one group, the group counts once.
void add_groups(std::vector<std::int64_t>& groups, const PodShape& pod);
void drop_groups(std::vector<std::int64_t>& groups, const PodShape& pod);

// Return the index of the profile in NodeSpec::mig, and of the resource `name` in
// NodeSpec::extended; -1 if the node does not have it.
int mig_index(const NodeSpec& node, const std::string& profile);
int extended_index(const NodeSpec& node, const std::string& name);

}  // namespace subak
