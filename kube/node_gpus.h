// The GPUs of a Kubernetes node, from its resources and NVIDIA's labels. A part of kube/node.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "kube/pod.h"
#include "placement/node.h"

namespace subak {

using ResourceCounts = std::map<std::string, std::int64_t>;

// The label's value; empty if the node has none.
std::string find_label(const NodeSpec& node, std::string_view key);

// Fills product, gpus, unhealthy_gpus, replicas, mig_gpus, mig and gpus_per_domain of a node whose labels
// and clique are there. `extra`: resources that are whole GPUs beside NVIDIA's. Slices that cannot be cut
// from the cards that a label counts are left out, and said in `contradiction`; so is a label of what NVLink
// joins that cannot be.
std::optional<Error> read_gpus(const ResourceCounts& capacity, const ResourceCounts& allocatable,
                               const ExtraGpuResources& extra, NodeSpec& node,
                               std::optional<Error>& contradiction);

}  // namespace subak
