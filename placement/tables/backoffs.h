// Node back-off: which nodes rejected which pods. No search puts such pods there until the back-off
// ends. Pods are compared in every field, as the nodes offer their resources (as_offered()).
// Private to placement. Threads: as the fleet.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "model/request.h"
#include "placement/gpus/load.h"

namespace subak {

// A node is in it once for each rejected shape. It knows no times: the caller ends each back-off.
class Backoffs {
 public:
  // Adds the node, or ends its back-off. Each returns false if that was so already.
  bool add(NodeIndex node, const PodShape& asked);
  bool end(NodeIndex node, const PodShape& asked);
  // O(log of the nodes that rejected these pods).
  bool contains(NodeIndex node, const PodShape& asked) const;
  bool empty() const { return by_hash_.empty(); }
  // Returns the nodes that rejected pods as they are offered, ascending; nullptr: none. `hash` is
  // hash_of(offered). Valid until the next change.
  const std::vector<NodeIndex>* nodes(const PodShape& offered, std::uint64_t hash) const;

 private:
  struct Entry {
    // As the nodes offer its resources.
    PodShape pod;
    // Ascending, never empty.
    std::vector<NodeIndex> nodes;
  };
  // By hash_of(pod). It is looked up and never walked, so its order does not matter.
  std::unordered_map<std::uint64_t, std::vector<Entry>> by_hash_;
};

}  // namespace subak
