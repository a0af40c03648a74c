#include "placement/tables/backoffs.h"

#include <algorithm>

#include "core/must.h"
#include "model/product.h"
#include "placement/tables/shapes.h"

namespace subak {

const std::vector<NodeIndex>* Backoffs::nodes(const PodShape& pod, std::uint64_t hash) const {
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) return nullptr;
  must(!found->second.empty(), "each hash of a rejected pod has a pod");
  for (const Entry& e : found->second) {
    if (e.pod != pod) continue;
    must(!e.nodes.empty(), "some node rejected each pod that is stored");
    return &e.nodes;
  }
  return nullptr;
}

bool Backoffs::add(NodeIndex node, const PodShape& pod) {
  const PodShape asked = as_offered(pod);
  std::vector<Entry>& same_hash = by_hash_[hash_of(asked)];
  auto it = std::find_if(same_hash.begin(), same_hash.end(),
                         [&](const Entry& e) { return e.pod == asked; });
  if (it == same_hash.end()) it = same_hash.insert(it, {asked, {}});
  const auto at = std::lower_bound(it->nodes.begin(), it->nodes.end(), node);
  if (at != it->nodes.end() && *at == node) return false;
  it->nodes.insert(at, node);
  return true;
}

bool Backoffs::end(NodeIndex node, const PodShape& pod) {
  const PodShape asked = as_offered(pod);
  const auto found = by_hash_.find(hash_of(asked));
  if (found == by_hash_.end()) return false;
  const auto it = std::find_if(found->second.begin(), found->second.end(),
                               [&](const Entry& e) { return e.pod == asked; });
  if (it == found->second.end() || std::erase(it->nodes, node) == 0) return false;
  if (it->nodes.empty()) found->second.erase(it);
  if (found->second.empty()) by_hash_.erase(found);
  return true;
}

bool Backoffs::contains(NodeIndex node, const PodShape& pod) const {
  const PodShape asked = as_offered(pod);
  const auto* rejected = nodes(asked, hash_of(asked));
  return rejected != nullptr && std::binary_search(rejected->begin(), rejected->end(), node);
}

}  // namespace subak
