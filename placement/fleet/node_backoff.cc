// Node back-off: nodes that rejected a pod.
#include <algorithm>

#include "model/product.h"
#include "placement/fleet/fleet_impl.h"

namespace subak {

const std::vector<NodeIndex>* Fleet::Impl::backed_off_nodes(const PodShape& pod,
                                                            std::uint64_t hash) const {
  const auto found = backoffs.find(hash);
  if (found == backoffs.end()) return nullptr;
  for (const BackedOff& b : found->second) {
    if (b.pod == pod) return &b.nodes;
  }
  return nullptr;
}

void Fleet::back_off(NodeId id, const PodShape& pod) {
  const PodShape asked = as_offered(pod);
  std::vector<BackedOff>& same_hash = impl_->backoffs[hash_of(asked)];
  auto it = std::find_if(same_hash.begin(), same_hash.end(),
                         [&](const BackedOff& b) { return b.pod == asked; });
  if (it == same_hash.end()) it = same_hash.insert(it, {asked, {}});
  const auto at = std::lower_bound(it->nodes.begin(), it->nodes.end(), id.value);
  if (at != it->nodes.end() && *at == id.value) return;
  it->nodes.insert(at, id.value);
  impl_->changed(id.value);
  ++impl_->freed;  // jobs that wait for this node search again
}

void Fleet::end_backoff(NodeId id, const PodShape& pod) {
  const PodShape asked = as_offered(pod);
  const auto found = impl_->backoffs.find(hash_of(asked));
  if (found == impl_->backoffs.end()) return;
  const auto it = std::find_if(found->second.begin(), found->second.end(),
                               [&](const BackedOff& b) { return b.pod == asked; });
  if (it == found->second.end() || std::erase(it->nodes, id.value) == 0) return;
  if (it->nodes.empty()) found->second.erase(it);
  if (found->second.empty()) impl_->backoffs.erase(found);
  impl_->changed(id.value);
  ++impl_->freed;
}

bool Fleet::is_backed_off(NodeId id, const PodShape& pod) const {
  const PodShape asked = as_offered(pod);
  const auto* nodes = impl_->backed_off_nodes(asked, hash_of(asked));
  return nodes != nullptr && std::binary_search(nodes->begin(), nodes->end(), id.value);
}

}  // namespace subak
