// Gangs that leave nodes to spare: of a clique they break into a whole node only as long as enough are left. Each
// spread breaks into as few as it can, so for gangs of one shape in one domain that finds a place if there is one.
#include <algorithm>

#include "placement/finder.h"

namespace subak {

const Finder::Reserve& Finder::reserve_of(DomainIndex d) {
  const auto [at, fresh] = reserves_.try_emplace(d);
  if (!fresh) return at->second;
  for (const NodeIndex m : members(d)) {
    const JobId keeper = scene_.owner_of(m);
    if (keeper && keeper != owner_) continue;
    // A slice or a shared GPU is enough to break into it: as spares.cc has it.
    const bool any_held = !scene_.is_empty() && !scene_.nothing_held;
    if (any_held && scene_.load(m).allocated > 0) continue;
    bool serves = false, would = false;
    for (std::size_t k = 0; k < shape_.pods.size(); ++k) {
      const Index x = index(k);
      const PodShape& pod = *shape_.pods[k].shape;
      if (!x.of_gpus() || !x.knows(m) || !x.matches(m)) continue;
      const NodeState& n = node(m);
      const bool open = scene_.all_open || (x.open(m) && !x.barred(m));
      serves = serves || (open && fits(n.spec, scene_.room(m), pod, kAllGpus, ignore_));
      const bool broken = !open || !fits(n.spec, scene_.room(m), pod, kAllGpus, kOnlyGpus);
      would = would || (!n.spare && broken && fits(n.spec, n.empty, pod, kAllGpus));
    }
    if (serves) {
      at->second.whole.push_back(m);
    } else if (would) {
      at->second.spent.push_back(m);
    }
  }
  return at->second;
}

// Enough whole nodes of its clique are left if the gang has the node.
bool Finder::leaves_spare(NodeIndex i) {
  const DomainIndex d = node(i).domain;
  if (d == kNoArea || members(d).size() <= 1) return true;
  const Reserve& reserve = reserve_of(d);
  const auto like = [&](NodeIndex m) {
    return !one_product_ || node(m).product == node(i).product;
  };
  const auto untouched = [&](NodeIndex m) {
    return like(m) && (trial_.find(m) == nullptr || room(m).gpu_free == scene_.room(m).gpu_free);
  };
  const auto left = std::count_if(reserve.whole.begin(), reserve.whole.end(), untouched);
  const auto spent =
      spent_counts_ ? std::count_if(reserve.spent.begin(), reserve.spent.end(), like) : 0;
  const bool is_whole = std::binary_search(reserve.whole.begin(), reserve.whole.end(), i);
  return left + spent - (is_whole && untouched(i) ? 1 : 0) >= spare_;
}

}  // namespace subak
