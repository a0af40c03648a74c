// Reads the labels about the NUMA nodes of the kubelet, the RDMA fabric and the shared GPUs of a
// node.
#include <algorithm>

#include "core/limits.h"
#include "core/names.h"
#include "kube/node/node_gpus.h"
#include "kube/node/node_labels.h"

namespace subak {
namespace {

constexpr std::string_view kStrictPolicy = "single-numa-node";
constexpr std::int64_t kMostCpus = limits::kMaxCpuMilli / 1000;

// Reads a label that is a number from 1 to `most`; 0 if the node lacks the label.
std::int64_t read_number(const NodeSpec& node, const std::string& key, std::int64_t most,
                         Contradictions& out) {
  const std::string said = key.empty() ? std::string() : find_label(node, key);
  if (said.empty()) return 0;
  const std::int64_t number = label_number(said).value_or(0);
  if (number > 0 && number <= most) return number;
  out.push_back(label_text(key, said) + " is no number from 1 to " + std::to_string(most));
  return 0;
}

// MPS gives each container one replica, unless the device plugin is configured otherwise.
bool shares_by_mps(const NodeSpec& node) {
  return find_label(node, names::kLabelSharing) == "mps" ||
         find_label(node, names::kGkeSharing) == "mps";
}

}  // namespace

void read_node_labels(const NodeLabelKeys& keys, NodeSpec& node, Contradictions& out) {
  if (!keys.fabric.empty()) node.fabric = find_label(node, keys.fabric);
  node.one_replica = node.replicas > 1 && (keys.fail_greater_than_one || shares_by_mps(node));
  if (keys.numa_policy.empty() || find_label(node, keys.numa_policy) != kStrictPolicy) return;
  node.numa_gpus =
      read_number(node, keys.numa_gpus, static_cast<std::int64_t>(limits::kMaxGpusPerNode), out);
  node.numa_cpu_milli = 1000 * read_number(node, keys.numa_cpus, kMostCpus, out);
}

}  // namespace subak
