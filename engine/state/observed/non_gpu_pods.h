// Non-GPU pods that Subak does not queue (`NonGpuPods`), for example pods of DaemonSets. These pods
// are no jobs, but they use CPU and memory of the nodes. The fleet stores one sum for each node
// (fact::NodeLoad). The set of these pods is not part of the state, because each list of a cluster
// names all of them.
//
// Threads: one at a time; Observed owns the object.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "core/ids.h"
#include "model/node.h"
#include "model/request.h"

namespace subak::state {

// All non-GPU pods by cluster and uid.
class NonGpuPods {
 public:
  // Returns the node of the pod; none if the pod was never seen.
  NodeId node_of(ClusterId cluster, const std::string& uid) const;
  // Returns the sum of the non-GPU pods on the node. O(non-GPU pods on the node).
  NodeUse use_of(NodeId node) const;

  // Records that a pod was seen, perhaps again, on this node. The node must exist.
  void seen(ClusterId cluster, const std::string& uid, NodeId node, const PodShape& shape);
  // Records that the pod is gone. Does nothing if the pod was not seen.
  void gone(ClusterId cluster, const std::string& uid);
  // Drops the pods of a node that is gone.
  void drop_node(NodeId node);
  // Drops the pods of a cluster whose list begins, because the list names all pods again.
  void forget(ClusterId cluster);

  // Asserts that each node has exactly its pods.
  void check() const;

 private:
  using Key = std::pair<ClusterId, std::string>;
  std::map<Key, NodeId> nodes_;
  // The non-GPU pods on each node. No map is empty.
  std::map<NodeId, std::map<Key, PodShape>> on_node_;
};

}  // namespace subak::state
