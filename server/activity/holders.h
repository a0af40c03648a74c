// Finds the pods that hold GPUs, and joins them with the samples of a Prometheus server, which say
// how busy their GPUs are. The observer (observer.h) and its book call these functions at each
// observation. Threads: any; pure functions. But call held_gpus() only on the thread that owns the
// engine.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "engine/engine.h"
#include "server/activity/samples.h"

namespace subak {

// The holders of all GPUs at one instant.
struct HeldGpus {
  struct Node {
    NodeId id;
    ClusterId cluster;
    std::string name, cluster_name;
  };
  // The nodes with GPUs of all clusters.
  std::vector<Node> nodes;
  // The pods that hold GPUs, by node, job and rank.
  std::vector<OpenUsage> pods;
};

// Copies the holders from the engine. O(nodes + pods that hold GPUs).
HeldGpus held_gpus(const Engine& engine);

// How busy a device was.
enum class ActivityClass : std::uint8_t {
  // Below 1 %.
  kIdle,
  // From 1 to 25 %.
  kLow,
  // Above 25 %.
  kActive,
};
template <>
struct EnumText<ActivityClass> {
  static constexpr std::array<std::string_view, 3> names{"idle", "low", "active"};
};
// Returns the class of an activity from 0 to 1.
ActivityClass class_of(double activity);

// What the samples say about the GPUs of one pod.
struct PodActivity {
  // The numbers of the pod's devices of each class.
  std::uint32_t idle = 0, low = 0, active = 0;
  // The number of the pod's devices: as many as the pod holds, or as many as the samples show for
  // it, whichever is more. Each of them stands for an equal part of the pod's GPU time. 0: there is
  // no sample.
  std::uint32_t devices = 0;
  // The power of the pod's devices in watts. If the pod holds a part of a device, only this part of
  // its power counts.
  double watts = 0;

  std::uint32_t observed() const { return idle + low + active; }
};

// A busy GPU that no pod holds.
struct UnheldGpu {
  // The names of cluster and node. `gpu`: the index of the GPU, with "/" and the id of the MIG
  // instance. Empty: one GPU of the node. The samples name no pods there, so it is unknown which
  // GPU it is.
  std::string cluster, node, gpu;
  // The pod that the samples name, as "namespace/name"; empty: none.
  std::string pod;
  // From 0 to 1.
  double activity = 0;

  friend bool operator==(const UnheldGpu&, const UnheldGpu&) = default;
};

// The pods that held GPUs at the last observation, and how many, by node. joined() needs them,
// since a sample may still show a pod that has ended meanwhile.
struct LastHolders {
  std::map<NodeId, std::map<std::string, std::uint32_t>> pods;
};

// The result of joined().
struct Joined {
  // One for each element of HeldGpus::pods.
  std::vector<PodActivity> pods;
  // The busy GPUs without a holder, by node.
  std::vector<UnheldGpu> unheld;
  // The number of devices whose node is not known, or not known uniquely.
  std::size_t unknown_nodes = 0;
};

// Joins samples and holders. Pods that are not bound yet use no GPU, so they get no samples.
// - A device belongs to the node that its label Hostname or node names. If no node has this name,
//   the name without its domain is tried. If several clusters have such a node, the label cluster
//   decides.
// - If the sample names a pod that holds GPUs of the node, the device counts for this pod.
// - A device without a pod counts for a pod only if the result does not depend on the choice. This
//   is so if one pod holds all such devices of the node, or if all of them have the same class.
// - A busy device (1 % or more) that is left over has no holder, unless a pod that held GPUs of the
//   node at the last observation explains it.
// O((devices + pods + nodes) log n).
Joined joined(const HeldGpus& held, const ActivitySamples& samples, const LastHolders& last);
// Returns the holders for the next call of joined().
LastHolders last_holders(const HeldGpus& held);

}  // namespace subak
