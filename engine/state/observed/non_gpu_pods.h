// Non-GPU pods that Subak does not queue (`NonGpuPods`): those of DaemonSets, for example. They are
// no jobs. Their use of a node counts as one sum (fact::NodeLoad, which the fleet holds). The set
// of these pods is not part of the state: a list names all of them.
//
// Threads: none; Observed owns it.
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
  // The node of the pod; none if the pod was never seen.
  NodeId node_of(ClusterId cluster, const std::string& uid) const;
  // The sum of the non-GPU pods on the node. O(those on it).
  NodeUse use_of(NodeId node) const;

  // Records that a pod was seen, perhaps again, on this node, which exists.
  void seen(ClusterId cluster, const std::string& uid, NodeId node, const PodShape& shape);
  // Does nothing if the pod was not seen.
  void gone(ClusterId cluster, const std::string& uid);
  // Drops the pods of a node that is gone.
  void drop_node(NodeId node);
  // Drops the pods of a cluster whose list begins: the list names all again.
  void forget(ClusterId cluster);

  // Asserts that each pod is on its node, and no other pod is.
  void check() const;

 private:
  using Key = std::pair<ClusterId, std::string>;
  std::map<Key, NodeId> nodes_;
  // No entry is empty.
  std::map<NodeId, std::map<Key, PodShape>> on_node_;
};

}  // namespace subak::state
