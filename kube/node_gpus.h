// The GPUs of a Kubernetes node, from its resources and from NVIDIA's and Google's labels. A part of
// kube/node.h, which says what is read. Threads: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "kube/pod.h"
#include "placement/node.h"

namespace subak {

using ResourceCounts = std::map<std::string, std::int64_t>;

// The label's value; empty if the node has none.
std::string find_label(const NodeSpec& node, std::string_view key);

// What of a node's statements contradicts what other, in words for people: "nvidia.com/gpu 8 contradicts
// nvidia.com/gpu.count=1".
using Contradictions = std::vector<std::string>;

// Fills product, gpus, unhealthy_gpus, replicas, mig_gpus and mig of a node whose labels are there.
// `extra`: resources that are whole GPUs besides NVIDIA's. Of a node in contradiction there are as many
// GPUs as the smallest statement says, at least one. Error: more GPUs than a node may have.
std::optional<Error> read_gpus(const ResourceCounts& capacity, const ResourceCounts& allocatable,
                               const ExtraGpuResources& extra, NodeSpec& node, Contradictions& out);

// Fills clique and gpus_per_domain of a node whose GPUs are there. A clique that cannot be is none. A
// label subak.gpu/gpus-per-domain that cannot be does not count; if it is no number, nothing is joined.
void read_nvlink(NodeSpec& node, Contradictions& out);

}  // namespace subak
