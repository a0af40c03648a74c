// Reads the GPUs of a Kubernetes node from its resources and from NVIDIA's and Google's labels. A
// part of kube/node/node.h, which lists the fields.
// Threads: pure functions.
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

// Amounts of resources by name: whole units.
using ResourceCounts = std::map<std::string, std::int64_t>;

// Returns the label's value; empty if the node has none.
std::string find_label(const NodeSpec& node, std::string_view key);

// Pairs of a node's statements that contradict each other, as text for people: "nvidia.com/gpu 8
// contradicts nvidia.com/gpu.count=1".
using Contradictions = std::vector<std::string>;

// Fills product, gpus, unhealthy_gpus, replicas, mig_gpus and mig of a node that has its labels.
// `extra`: resources that are whole GPUs besides NVIDIA's. With a contradiction the node has as
// many GPUs as the smallest statement says, at least one. Error: more GPUs than a node may have.
std::optional<Error> read_gpus(const ResourceCounts& capacity, const ResourceCounts& allocatable,
                               const ExtraGpuResources& extra, NodeSpec& node, Contradictions& out);

// Fills clique and gpus_per_domain of a node that has its GPUs. It drops an impossible clique. It
// ignores an impossible label subak.gpu/gpus-per-domain; if the label is not a number, no GPUs are
// joined.
void read_nvlink(NodeSpec& node, Contradictions& out);

}  // namespace subak
