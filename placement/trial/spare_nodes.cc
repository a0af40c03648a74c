#include "placement/trial/spare_nodes.h"

#include <algorithm>

namespace subak {

void SpareNodes::add(NodeIndex m, Reserve& out) const {
  const Scene& scene = query_.scene;
  const JobId keeper = scene.owner_of(m);
  if (keeper && keeper != query_.owner) return;
  // A node on which a pod holds a slice or a part of a GPU is not whole, as in
  // replacement_nodes.cc.
  const bool any_held = !scene.is_empty() && !scene.nothing_held;
  if (any_held && scene.load(m).allocated > 0) return;
  const NodeState& n = query_.node(m);
  if (scene.nothing_held && !scene.all_open && n.spare) return;  // of another gang
  bool serves = false, would = false;
  for (std::size_t k = 0; k < query_.shape.pods.size(); ++k) {
    const Index x = query_.index(k);
    const PodShape& pod = *query_.shape.pods[k].shape;
    if (!x.of_gpus() || !x.knows(m) || !x.matches(m)) continue;
    // A node with an unhealthy GPU may be too small to replace another node, as in
    // replacement_nodes.cc.
    const bool open = scene.all_open || (x.open(m) && !x.is_backed_off(m));
    const bool works = open && (n.spec.unhealthy_gpus == 0 || scene.is_empty());
    serves = serves || (works && fits(n.spec, scene.room(m), pod, kAllGpus, query_.ignore));
    const bool broken = !works || !fits(n.spec, scene.room(m), pod, kAllGpus, kOnlyGpus);
    would = would || (!n.spare && broken && fits(n.spec, n.empty, pod, kAllGpus, query_.ignore));
  }
  if (serves) {
    out.whole.push_back(m);
  } else if (would) {
    out.spent.push_back(m);
  }
}

const SpareNodes::Reserve& SpareNodes::reserve_of(DomainIndex d) {
  const auto [at, fresh] = reserves_.try_emplace(d);
  Reserve& reserve = at->second;
  if (!fresh) return reserve;
  const std::vector<NodeIndex>& members = query_.members(d);
  for (const NodeIndex m : members) add(m, reserve);
  must(reserve.whole.size() + reserve.spent.size() <= members.size(),
       "a node is whole or spent, not both");
  return reserve;
}

bool SpareNodes::enough_without(const Bounds& bounds, NodeIndex i) {
  must(bounds.spare > 0, "nodes to spare are counted for gangs that want some");
  const DomainIndex d = query_.node(i).domain;
  if (d == kNoArea || query_.members(d).size() <= 1) return true;
  const Reserve& reserve = reserve_of(d);
  const auto like = [&](NodeIndex m) {
    return !bounds.one_product || query_.node(m).product == query_.node(i).product;
  };
  const auto left = [&](const std::vector<NodeIndex>& nodes) {
    return std::count_if(nodes.begin(), nodes.end(), [&](NodeIndex m) {
      const Room* tried = trial_.nodes().find(m);
      const bool untouched = tried == nullptr || tried->gpu_free == query_.scene.room(m).gpu_free;
      return m != i && like(m) && untouched;
    });
  };
  return left(reserve.whole) + (bounds.spent_counts ? left(reserve.spent) : 0) >= bounds.spare;
}

}  // namespace subak
