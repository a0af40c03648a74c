// Reads nodes, in the form that `kubectl get nodes -o json` prints, into NodeSpecs. The edge, which
// watches a cluster, the import of nodes and the simulator use these functions.
// Threads: any; pure functions and plain values.
//
// The functions read these fields, with their Kubernetes or NVIDIA names:
//   metadata.name, metadata.labels, spec.unschedulable, spec.taints
//   status.conditions[Ready]: a node that is not ready counts as such since its last heartbeat or
//     its last transition, whichever was earlier. A node without conditions (a file written by
//     hand) counts as ready.
//   status.allocatable cpu, memory, pods, hugepages-*, and every other resource with a '/' in its
//     name
//   Groups, nearest first: the labels of KubeNodeOptions::topology_labels. A missing label counts
//     as an empty name: the node is in no group at that level.
//   Product: nvidia.com/gpu.product without -MIG-... and -SHARED. If the node lacks this label,
//     GKE's gke-accelerator counts, under the name that feature discovery gives this product.
//   Clique: nvidia.com/gpu.clique, "<ClusterUUID>.<CliqueID>".
//   NVLink inside the node: if the node has a clique, NVLink joins all its GPUs. Else the label
//     subak.gpu/gpus-per-domain counts ("1": no GPUs, "8": all of 8, "4": each half of 8). Else the
//     product's name counts (model/product.h).
//   GPUs: status.capacity says how many are installed, status.allocatable how many are healthy.
//     nvidia.com/gpu.count, or GKE's gke-accelerator-count, says how many cards there are.
//     nvidia.com/gpu.replicas, or GKE's gke-max-shared-clients-per-gpu, says how often a shared GPU
//     counts. If a shared GPU has neither label, the count of cards decides. GPUs are shared if the
//     product ends in -SHARED, a label names a sharing strategy, or the resource is
//     nvidia.com/gpu.shared.
//   MIG slices: nvidia.com/mig-PROFILE (strategy mixed), or nvidia.com/gpu of a product
//     ...-MIG-PROFILE (strategy single) or of a node with GKE's gke-gpu-partition-size. All
//     replicas of a slice count as one slice. If no label says from how many cards the slices are
//     cut, the fewest possible cards count (placement/gpus/mig_cut.h).
//   NodeSpec::unfit: why nothing new may be placed on the node. These are the causes:
//     - the node's statements about its GPUs contradict each other (see below)
//     - nvidia.com/mig.config.state is not success: pending, rebooting or failed
//     - nvidia.com/mig.config names another configuration than the node offers (node_mig.h)
//     - nvidia.com/gpu.deploy.device-plugin is paused-for-mig-change
//     - the GPU Operator upgrades the driver, or has paused its parts (node_operator.h)
//     - Karpenter or the cluster autoscaler removes the node (node_operator.h)
//     - a condition of KubeNodeOptions::fatal_conditions is True
//     - none of its GPUs is allocatable. Then its GPUs count as healthy, because no field says
//       which GPUs are unhealthy. Pods on the node stay. If none is installed either, the labels of
//       feature discovery say which slices the node has. NodeSpec::gpus_unknown is true.
//   NUMA and RDMA: the labels of KubeNodeOptions::labels. The kubelet reports neither its policy
//     nor its NUMA nodes, so an operator's tools must write these labels.
//   Devices of another maker (KubeNodeOptions::extra_gpus) are whole GPUs, of the product "GPU".
//
// Contradictions (NodeSpec::contradicts). Only allocatable resources count, because a former
// configuration may leave an installed resource of which nothing is allocatable.
//   more GPUs, or replicas of shared GPUs, than its cards give; more slices than its label states
//   whole GPUs and slices on the same cards; slices that these cards cannot be cut into
//   nvidia.com/gpu beside nvidia.com/gpu.shared, or beside nvidia.com/mig-* of strategy single
//   shared GPUs or slices without a replica count; two labels with different replica counts
//   nvidia.com/gpu of a product ...-MIG-INVALID
//   a clique without both parts, with a ClusterUUID of zeros, or of a product whose NVLink ends
//     inside the node; a label subak.gpu/gpus-per-domain that the product or the clique contradicts
//   one of these labels should be a number but is not, or is more than a node can have
// Sources: documentation of k8s-device-plugin, gpu-feature-discovery and mig-parted (its MIG
// manager), GPU Operator; Kubernetes API reference of Node v1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "kube/json.h"
#include "kube/node/node_gpus.h"
#include "kube/pod.h"
#include "model/node.h"

namespace subak {

// Returns the types of node conditions that, when True, mean that GPU work would fail. Sources:
// NVIDIA's NVSentinel; Kubernetes' node-problem-detector (its kernel monitor).
std::vector<std::string> default_fatal_conditions();

// The part of the operator's configuration that says how to read nodes.
struct KubeNodeOptions {
  // Labels that name the groups of a node, the nearest group first: its rack, its block. Labels
  // beyond limits::kTopologyLevels are ignored.
  std::vector<std::string> topology_labels;
  // Resources that count as whole GPUs, in addition to NVIDIA's (`gpuKinds`). Empty: none.
  ExtraGpuResources extra_gpus;
  // Labels of the node beside NVIDIA's: its RDMA fabric, and what its kubelet aligns.
  NodeLabelKeys labels = {};
  // Types of node conditions that make a node unfit while they are True. Empty: none.
  std::vector<std::string> fatal_conditions = default_fatal_conditions();
};

// The devices of a node that drivers of Dynamic Resource Allocation (DRA) offer, as the resources
// that stand for them.
struct NodeDevices {
  // Resources that gpu_kind_of() knows, such as nvidia.com/gpu and nvidia.com/mig-1g.10gb. The
  // devices of `allocatable` have no taint.
  ResourceCounts capacity, allocatable;
  // The product of the first device, as feature discovery would name it.
  std::string product;
  // True: a pod gets these devices only by a ResourceClaim, since no DeviceClass stands for
  // nvidia.com/gpu.
  bool only_by_claim = true;
  friend bool operator==(const NodeDevices&, const NodeDevices&) = default;
};

// Subak adds this label to the NodeSpec of a node with DRA devices, and to the node selector of a
// pod with ResourceClaims. So the pod gets only such nodes. Subak ignores a label of this name on
// the node itself.
inline constexpr std::string_view kClaimable = "subak.gpu/claimable";
// Subak adds this taint to the NodeSpec of a node whose GPUs pods get only by a ResourceClaim. A
// pod with ResourceClaims tolerates the taint. Subak writes neither kClaimable nor this taint into
// the cluster.
inline constexpr std::string_view kOnlyByClaim = "subak.gpu/only-by-claim";

// Reads one node. `devices`: its devices of DRA; nullptr: it has none. If the device plugin offers
// the same resource, the larger of the two amounts counts, since a GPU must not count twice.
// Errors: the node has no name, a quantity cannot be read, or the node states more GPUs than
// limits::kMaxGpusPerNode without a contradiction to its other statements.
Result<NodeSpec> read_kube_node(json::Value node, const KubeNodeOptions& options = {},
                                const NodeDevices* devices = nullptr);

// Reads a NodeList, a List of Nodes, one Node, or several of these one after the other (JSON
// lines). Returns nodes in the order of the text. It never throws. Errors: the errors of one node,
// text that is not JSON, objects that are not nodes, a name that comes twice, and more than
// limits::kMaxNodes nodes. The error's field names the position.
Result<std::vector<NodeSpec>> read_kube_nodes(std::string_view json,
                                              const KubeNodeOptions& options = {});

}  // namespace subak
