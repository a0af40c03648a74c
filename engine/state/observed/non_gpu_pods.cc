#include "engine/state/observed/non_gpu_pods.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/must.h"

namespace subak::state {
namespace {

void add(NodeUse& use, const PodShape& pod) {
  use.cpu_milli += pod.cpu_milli;
  use.memory_bytes += pod.memory_bytes;
  ++use.pods;
  for (const ResourceCount& r : pod.extended) {
    const auto at = std::lower_bound(
        use.extended.begin(), use.extended.end(), r,
        [](const ResourceCount& a, const ResourceCount& b) { return a.name < b.name; });
    if (at != use.extended.end() && at->name == r.name) {
      at->count += r.count;
    } else {
      use.extended.insert(at, r);
    }
  }
  use.host_ports.insert(use.host_ports.end(), pod.host_ports.begin(), pod.host_ports.end());
}

}  // namespace

NodeId NonGpuPods::node_of(ClusterId cluster, const std::string& uid) const {
  const auto it = nodes_.find({cluster, uid});
  return it == nodes_.end() ? NodeId() : it->second;
}

NodeUse NonGpuPods::use_of(NodeId node) const {
  NodeUse use;
  const auto pods = on_node_.find(node);
  if (pods == on_node_.end()) return use;
  for (const auto& [key, shape] : pods->second) add(use, shape);
  must(std::cmp_equal(use.pods, pods->second.size()), "each pod takes one pod slot");
  std::sort(use.host_ports.begin(), use.host_ports.end(), [](const HostPort& a, const HostPort& b) {
    return std::tie(a.port, a.protocol, a.host_ip) < std::tie(b.port, b.protocol, b.host_ip);
  });
  return use;
}

void NonGpuPods::seen(ClusterId cluster, const std::string& uid, NodeId node,
                      const PodShape& shape) {
  must(static_cast<bool>(node) && !uid.empty(), "a pod has a uid and is on a node");
  gone(cluster, uid);
  nodes_[{cluster, uid}] = node;
  on_node_[node][{cluster, uid}] = shape;
}

void NonGpuPods::gone(ClusterId cluster, const std::string& uid) {
  const auto it = nodes_.find({cluster, uid});
  if (it == nodes_.end()) return;
  const auto pods = on_node_.find(it->second);
  must(pods != on_node_.end() && pods->second.erase(it->first) == 1, "a pod is on its node");
  if (pods->second.empty()) on_node_.erase(pods);
  nodes_.erase(it);
}

void NonGpuPods::drop_node(NodeId node) {
  const auto pods = on_node_.find(node);
  if (pods == on_node_.end()) return;
  for (const auto& [key, shape] : pods->second) {
    must(nodes_.erase(key) == 1, "a pod is on its node");
  }
  on_node_.erase(pods);
}

void NonGpuPods::forget(ClusterId cluster) {
  while (true) {
    const auto first = nodes_.lower_bound({cluster, std::string()});
    if (first == nodes_.end() || first->first.first != cluster) return;
    drop_node(first->second);
  }
}

void NonGpuPods::check() const {
  std::size_t on_nodes = 0;
  for (const auto& [node, pods] : on_node_) {
    must(!pods.empty(), "no node is remembered for nothing");
    on_nodes += pods.size();
    for (const auto& [key, shape] : pods) must(nodes_.at(key) == node, "a pod is on its node");
  }
  must(on_nodes == nodes_.size(), "nothing else is");
}

}  // namespace subak::state
