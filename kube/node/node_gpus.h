// Reads the GPUs of a Kubernetes node from its resources and from NVIDIA's and Google's labels. It
// is a part of kube/node/node.h, which lists the fields.
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "kube/pod.h"
#include "model/node.h"

namespace subak {

// Amounts of resources by name, in whole units.
using ResourceCounts = std::map<std::string, std::int64_t>;

// Returns the label's value; empty if the node does not have the label.
std::string find_label(const NodeSpec& node, std::string_view key);

// Pairs of a node's statements that contradict each other, as text for people: "nvidia.com/gpu 8
// contradicts nvidia.com/gpu.count=1".
using Contradictions = std::vector<std::string>;

// Sets product, gpus, unhealthy_gpus, replicas, mig_gpus and mig of a node whose labels are set.
// `extra` has resources that count as whole GPUs besides NVIDIA's. If statements contradict each
// other, the node gets the smallest stated number of GPUs, at least one. Error: more GPUs than a
// node may have.
std::optional<Error> read_gpus(const ResourceCounts& capacity, const ResourceCounts& allocatable,
                               const ExtraGpuResources& extra, NodeSpec& node, Contradictions& out);

// Sets clique and gpus_per_domain of a node whose GPUs are set. It drops an impossible clique, and
// ignores an impossible value of the label subak.gpu/gpus-per-domain. If the label's value is not a
// number, NVLink joins no GPUs.
void read_nvlink(NodeSpec& node, Contradictions& out);

}  // namespace subak
