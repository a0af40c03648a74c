// Reads the state of NVIDIA's MIG Manager on a Kubernetes node, and the slices that GPU feature
// discovery writes into labels. MIG Manager divides the GPUs of a node into slices. It is a part of
// kube/node/node.h, which lists the labels.
// Threads: any; pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/node/node_gpus.h"
#include "model/node.h"

namespace subak {

// The label with the MIG configuration that MIG Manager should apply to the node: "all-1g.10gb".
inline constexpr std::string_view kLabelMigConfig = "nvidia.com/mig.config";

// Returns why MIG Manager's labels forbid new pods on the node, as text for people. `node` has its
// GPUs. `none_works`: no GPU is allocatable, so the slices of `node` are not compared with the
// requested configuration.
//
// MIG Manager generates the names of its configurations (placement/gpus/mig_config.h). Such a name
// says which slices are requested. If the label has another name, only the state is read.
// Sources: documentation of mig-parted and of the GPU Operator ("GPU Operator with MIG").
std::vector<std::string> mig_manager_causes(const NodeSpec& node, bool none_works);

// Returns the GPU resources that the labels of the node state. It is for a node without allocatable
// GPUs: while the device plugin does not run, the kubelet reports 0 of each resource. Cards without
// slices are in the result as whole GPUs. Empty: no label names slices of a known card.
ResourceCounts labelled_resources(const NodeSpec& node);

}  // namespace subak
