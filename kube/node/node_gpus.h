// Reads the GPUs of a Kubernetes node from its resources and from NVIDIA's and Google's labels.
// kube/node/node.h uses these functions, and lists the fields that they read.
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
// Sets the node's topology levels, such as its rack and its block, from these labels of the node,
// the nearest group first. At most limits::kTopologyLevels of them count.
void read_levels(const std::vector<std::string>& topology_labels, NodeSpec& node);

// Pairs of a node's statements that contradict each other, as text for people: "nvidia.com/gpu 8
// contradicts nvidia.com/gpu.count=1".
using Contradictions = std::vector<std::string>;

// Sets product, gpus, unhealthy_gpus, replicas, mig_gpus and mig of a node whose labels are set. If
// no label names the product, NodeSpec::product counts as that label. `extra` has resources that
// count as whole GPUs besides NVIDIA's. If statements contradict each other, the node gets the
// smallest stated number of GPUs, at least one. Error: more GPUs than a node may have.
std::optional<Error> read_gpus(const ResourceCounts& capacity, const ResourceCounts& allocatable,
                               const ExtraGpuResources& extra, NodeSpec& node, Contradictions& out);

// Sets clique and gpus_per_domain of a node whose GPUs are set. It drops an impossible clique, and
// ignores an impossible value of the label subak.gpu/gpus-per-domain. If the label's value is not a
// number, NVLink joins no GPUs.
void read_nvlink(NodeSpec& node, Contradictions& out);

// The keys of node labels that an operator's tools write. An empty key: no node has the label.
struct NodeLabelKeys {
  // The label that names the RDMA fabric of the node (NodeSpec::fabric).
  std::string fabric;
  // The label with the kubelet's topologyManagerPolicy. Only the value single-numa-node matters:
  // with it, the other two labels have the GPUs and the whole CPUs of one NUMA node.
  std::string numa_policy, numa_gpus, numa_cpus;
  // True: the device plugins of all nodes have failRequestsGreaterThanOne, so each container gets
  // at most one replica. With MPS, this is so in any case.
  bool fail_greater_than_one = false;
  friend bool operator==(const NodeLabelKeys&, const NodeLabelKeys&) = default;
};
// Sets fabric, numa_gpus, numa_cpu_milli and one_replica of a node whose GPUs are set. A number
// that cannot be read counts as absent, and is a contradiction.
void read_node_labels(const NodeLabelKeys& keys, NodeSpec& node, Contradictions& out);

}  // namespace subak
