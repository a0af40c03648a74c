// Gangs that leave nodes to spare: they use a whole node of a clique only while enough whole nodes
// remain. Each spread uses as few whole nodes as it can. So for gangs of one shape in one domain it
// finds a placement if there is one.
#include <algorithm>

#include "placement/search/finder.h"

namespace subak {

const Finder::Reserve& Finder::reserve_of(DomainIndex d) {
  const auto [at, fresh] = reserves_.try_emplace(d);
  if (!fresh) return at->second;
  for (const NodeIndex m : members(d)) {
    const JobId keeper = scene_.owner_of(m);
    if (keeper && keeper != owner_) continue;
    // A slice or a shared GPU is enough to make it not whole, as in replacement_nodes.cc.
    const bool any_held = !scene_.is_empty() && !scene_.nothing_held;
    if (any_held && scene_.load(m).allocated > 0) continue;
    if (scene_.nothing_held && !scene_.all_open && node(m).spare) continue;  // of another gang
    bool serves = false, would = false;
    for (std::size_t k = 0; k < shape_.pods.size(); ++k) {
      const Index x = index(k);
      const PodShape& pod = *shape_.pods[k].shape;
      if (!x.of_gpus() || !x.knows(m) || !x.matches(m)) continue;
      const NodeState& n = node(m);
      // A node with a broken GPU may not be able to replace a whole one, as in
      // replacement_nodes.cc.
      const bool open = scene_.all_open || (x.open(m) && !x.is_backed_off(m));
      const bool works = open && (n.spec.unhealthy_gpus == 0 || scene_.is_empty());
      serves = serves || (works && fits(n.spec, scene_.room(m), pod, kAllGpus, ignore_));
      const bool broken = !works || !fits(n.spec, scene_.room(m), pod, kAllGpus, kOnlyGpus);
      would = would || (!n.spare && broken && fits(n.spec, n.empty, pod, kAllGpus, ignore_));
    }
    if (serves) {
      at->second.whole.push_back(m);
    } else if (would) {
      at->second.spent.push_back(m);
    }
  }
  return at->second;
}

// True if enough whole nodes of its clique remain if the gang gets the node.
bool Finder::leaves_spare(NodeIndex i) {
  const DomainIndex d = node(i).domain;
  if (d == kNoArea || members(d).size() <= 1) return true;
  const Reserve& reserve = reserve_of(d);
  const auto like = [&](NodeIndex m) {
    return !one_product_ || node(m).product == node(i).product;
  };
  const auto left = [&](const std::vector<NodeIndex>& nodes) {
    return std::count_if(nodes.begin(), nodes.end(), [&](NodeIndex m) {
      const bool untouched =
          trial_.find(m) == nullptr || room(m).gpu_free == scene_.room(m).gpu_free;
      return m != i && like(m) && untouched;
    });
  };
  return left(reserve.whole) + (spent_counts_ ? left(reserve.spent) : 0) >= spare_;
}

}  // namespace subak
