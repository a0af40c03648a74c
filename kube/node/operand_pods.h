// The pods of NVIDIA's GPU Operator on the nodes of a cluster. Its parts, such as the driver and
// the device plugin, run as one pod on each GPU node. While a part is not ready, GPU pods would
// fail there. The edge, which watches a cluster, owns one object and adds the result to each
// NodeSpec.
// Threads: one at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/node/node_operator.h"
#include "model/node.h"

namespace subak {

// Records the state of these pods. A part of the operator is ready on a node if at least one of its
// pods there is ready. During a rolling update the node has two pods of a part for a moment. A part
// without any pod on the node is ignored, because the operator may not deploy it there.
class OperandPods {
 public:
  // Takes the state of a pod. Returns true if this changes which parts are ready on the node.
  bool see(const std::string& uid, const std::string& node, const OperandPod& pod);
  // Records that the pod is gone. If this changes which parts are ready on the pod's node, returns
  // the name of the node. In all other cases, and for an unknown pod, returns an empty text.
  std::string forget(const std::string& uid);
  // Forgets all pods, as when the edge lists them again.
  void clear();

  // Adds the parts that are not ready to NodeSpec::unfit. If the device plugin is one of them, sets
  // NodeSpec::gpus_unknown.
  void add_to(NodeSpec& node) const;

 private:
  struct OfPod {
    std::string node;
    OperandPod pod;
  };
  // Returns the parts that are not ready on the node, each part once, in the order of Operand.
  std::vector<Operand> missing(const std::string& node) const;

  std::map<std::string, OfPod> pods_;  // by uid
  // For each node with such pods, their uids and states.
  std::map<std::string, std::map<std::string, OperandPod>> by_node_;
};

}  // namespace subak
