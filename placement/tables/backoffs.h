// Node back-off: which nodes' kubelets rejected which pods. Until a back-off ends, no search puts
// the same kind of pod on the node. Two pods are the same if all fields are equal, after
// as_offered() has expressed their resources as nodes offer them.
// Threads: as Fleet: at a time, one thread may change it or several may read it. Private to
// placement.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "model/request.h"
#include "placement/gpus/load.h"

namespace subak {

// The table has one back-off for each pair of a node and a rejected pod. It stores no times, so the
// caller ends each back-off.
class Backoffs {
 public:
  // add() begins a back-off, and end() ends one. They return false if there is nothing to do.
  bool add(NodeIndex node, const PodShape& asked);
  bool end(NodeIndex node, const PodShape& asked);
  // True if the node rejected such pods. O(log of the nodes that rejected them).
  bool contains(NodeIndex node, const PodShape& asked) const;
  bool empty() const { return by_hash_.empty(); }
  // Returns the nodes that rejected pods like `offered`, ascending; nullptr if there are none.
  // `hash` is hash_of(offered). Valid until the next change.
  const std::vector<NodeIndex>* nodes(const PodShape& offered, std::uint64_t hash) const;

 private:
  struct Entry {
    // The pod, as the nodes offer its resources.
    PodShape pod;
    // The nodes that rejected it, ascending, never empty.
    std::vector<NodeIndex> nodes;
  };
  // The entries by hash_of(pod). No code iterates over the map, so its order does not matter.
  std::unordered_map<std::uint64_t, std::vector<Entry>> by_hash_;
};

}  // namespace subak
