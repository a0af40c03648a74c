// Pods without GPUs that nobody queued: DaemonSets and the like. They are no jobs; what they take of
// a node counts as one sum (fact::NodeLoad, which the fleet holds). Which pods those are is not part
// of the state: a list says all of them.
//
// Threads: none; State owns it. Only state/ changes it.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "core/ids.h"
#include "placement/node.h"
#include "placement/request.h"

namespace subak::state {

class LightPods {
 public:
  // The node of the pod; none if no such pod was seen.
  NodeId node_of(ClusterId cluster, const std::string& uid) const;
  // What those on the node take. O(those on it).
  NodeUse use_of(NodeId node) const;

  // Seen, maybe again, on this node, which is there.
  void seen(ClusterId cluster, const std::string& uid, NodeId node, const PodShape& shape);
  void gone(ClusterId cluster, const std::string& uid);  // nothing if it was not seen
  void drop_node(NodeId node);
  // A list says all anew.
  void forget(ClusterId cluster);

  // Asserts that each pod is on its node, and nothing else is.
  void check() const;

 private:
  using Key = std::pair<ClusterId, std::string>;
  std::map<Key, NodeId> nodes_;
  std::map<NodeId, std::map<Key, PodShape>> on_node_;  // no node without any
};

}  // namespace subak::state
