// Nodes as `kubectl get nodes -o json` prints them, read into what the fleet knows.
//
// What is read, by its Kubernetes or NVIDIA name:
//   metadata.name, metadata.labels, spec.unschedulable, spec.taints
//   status.conditions[Ready]: a node that is not ready counts from the earlier of its last
//     heartbeat and its last transition. No conditions at all (a file written by hand): ready.
//   status.allocatable cpu, memory, pods, and every other resource with a '/' in its name
//   What it stands in, nearest first: the labels of KubeNodeOptions::topology_labels. One that is missing
//     is an empty name: it is in no group at that level.
//   nvidia.com/gpu.product without -MIG-... and -SHARED; nvidia.com/gpu.clique
//   What NVLink joins inside the node: all of it where there is a clique; else what the label
//     subak.gpu/gpus-per-domain says ("1" nothing, "8" all of 8, "4" each half of 8); else what the
//     product's name says (placement/product.h). A label that is no number from 1 to 64, or that the
//     product or the clique contradicts, is a contradiction.
//   GPUs: status.capacity says what is installed, status.allocatable what works.
//     nvidia.com/gpu.count says how many cards there are when some are cut into MIG slices.
//     nvidia.com/gpu.replicas says how often each GPU is counted when it is time-sliced (product
//     ...-SHARED or nvidia.com/gpu.shared).
//   MIG slices: nvidia.com/mig-PROFILE (strategy mixed), or nvidia.com/gpu of a product
//     ...-MIG-PROFILE (strategy single). Replicas of slices count as one slice. Where no label says
//     how many cards they are cut from, it is the fewest that they can be cut from
//     (placement/mig_cut.h). Where one says it, and they cannot, that is a contradiction.
//   Why nothing new may be put there: nvidia.com/mig.config.state is pending or rebooting,
//     nvidia.com/gpu.deploy.device-plugin is paused-for-mig-change, a condition of
//     KubeNodeOptions::fatal_conditions is True, or none of its GPUs is allocatable. In the last case they
//     count as working: nobody says which of them are sick, and what is there stays.
//   Devices of another maker (KubeNodeOptions::extra_gpus) are whole GPUs, of the product "GPU".
// Sources: documentation of k8s-device-plugin, gpu-feature-discovery and mig-parted (its MIG manager);
// Kubernetes API reference of Node v1.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "kube/json.h"
#include "kube/pod.h"
#include "placement/node.h"

namespace subak {

// Types of node conditions that say, when True, that GPU work would fail: those of NVIDIA's NVSentinel and
// of Kubernetes' node-problem-detector (its kernel monitor).
std::vector<std::string> default_fatal_conditions();

struct KubeNodeOptions {
  // Labels that name what a node stands in, nearest first: its rack, its block. At most
  // limits::kTopologyLevels; more are not read.
  std::vector<std::string> topology_labels;
  ExtraGpuResources extra_gpus;  // resources that count as whole GPUs beside NVIDIA's (`gpuKinds`)
  std::vector<std::string> fatal_conditions = default_fatal_conditions();
};

// One node. Errors as below; with `contradiction` one is no error: it is put there, and the rest of the
// node is known. It is read without slices that cannot be, and a label of NVLink that cannot be is as if it
// were not there; where that is no number nothing is joined. So nothing goes there that should not.
Result<NodeSpec> read_kube_node(json::Value node, const KubeNodeOptions& options = {},
                                std::optional<Error>* contradiction = nullptr);

// A NodeList, a List of Nodes, one Node, or several of these one after the other (JSON lines).
// Nodes in the order of the text. Never throws. Errors: not JSON, not nodes, a name twice, a
// quantity that is none, slices that contradict the node's cards, a label that says of NVLink what cannot
// be, more than limits::kMaxNodes; the field names the place.
Result<std::vector<NodeSpec>> read_kube_nodes(std::string_view json,
                                              const KubeNodeOptions& options = {});

}  // namespace subak
