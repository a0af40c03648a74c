#include "placement/trial/pod_rules.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>

#include "placement/fleet/scene.h"
#include "placement/gpus/eligibility.h"

namespace subak {
namespace {

// Calls fn(node, state) for each node of the cluster.
template <class F>
void each_node(const Shape& shape, const Scene& scene, F&& fn) {
  for (NodeIndex i = 0; i < scene.fleet.nodes.size(); ++i) {
    const auto& n = scene.fleet.nodes[i];
    if (n && n->present && n->cluster == shape.cluster) fn(i, *n);
  }
}

// Numbers the domains from 1, in the order of their first nodes.
class Numbers {
 public:
  std::uint32_t of(std::string_view name) {
    return numbers_.try_emplace(name, static_cast<std::uint32_t>(size() + 1)).first->second;
  }
  std::size_t size() const { return numbers_.size(); }

 private:
  std::map<std::string_view, std::uint32_t> numbers_;
};

// True if the constraint counts the pods on the node.
bool counts_node(const TopologySpread& rule, const PodShape& pod, const NodeSpec& node) {
  const auto has_label = [&](const TopologySpread& other) {
    return eligibility::label(node, other.key) != nullptr;
  };
  if (!std::all_of(pod.spread.begin(), pod.spread.end(), has_label)) return false;
  if (rule.only_tolerated && !eligibility::tolerates_all(pod.tolerations, node.taints))
    return false;
  return rule.any_node || (eligibility::matches_selector(pod.node_selector, node) &&
                           eligibility::matches_affinity(pod.affinity, node));
}

std::int64_t members(const Room& room, std::int64_t group) {
  const auto [begin, end] = std::equal_range(room.groups.begin(), room.groups.end(), group);
  return end - begin;
}

bool has_group(const PodShape& pod, std::int64_t group) {
  return std::any_of(pod.spread.begin(), pod.spread.end(),
                     [&](const TopologySpread& rule) { return rule.group == group; });
}

}  // namespace

std::int64_t SpreadRule::fewest() const {
  if (domains() < std::max<std::int64_t>(rule->min_domains, 1)) return 0;
  return *std::min_element(pods.begin() + 1, pods.end());
}

PodRules::PodRules(const Shape& shape, const Scene& scene) {
  if (!shape.pod_rules) return;
  kinds_.resize(shape.pods.size());
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    kinds_[k].pods = &shape.pods[k];
    kinds_[k].placed.resize(scene.fleet.nodes.size());
    add_spread(shape, scene, shape.pods[k], kinds_[k]);
  }
  add_sets(shape, scene);
}

void PodRules::add_spread(const Shape& shape, const Scene& scene, const Pods& pods, Kind& kind) {
  const PodShape& pod = *pods.shape;
  for (const TopologySpread& rule : pod.spread) {
    must(rule.max_skew > 0, "a spread allows some skew");
    SpreadRule& out = kind.spread.emplace_back();
    out.rule = &rule;
    out.domain_of.resize(scene.fleet.nodes.size());
    out.pods.resize(1);
    Numbers numbers;
    each_node(shape, scene, [&](NodeIndex i, const NodeState& n) {
      if (!counts_node(rule, pod, n.spec)) return;
      out.domain_of[i] = numbers.of(*eligibility::label(n.spec, rule.key));
      out.pods.resize(numbers.size() + 1);
      out.pods[out.domain_of[i]] += members(scene.room(i), rule.group);
    });
    out.strict = out.fewest() + rule.max_skew;
    std::int64_t all = std::accumulate(out.pods.begin(), out.pods.end(), std::int64_t{0});
    for (const Pods& other : shape.pods) {
      if (has_group(*other.shape, rule.group)) all += other.count;
    }
    const bool enough = out.domains() >= std::max<std::int64_t>(rule.min_domains, 1);
    out.loose = (enough ? all / out.domains() : 0) + rule.max_skew;
    must(out.strict <= out.loose, "a gang that keeps to the strict ceiling keeps to the loose one");
    if (rule.any_node || rule.min_domains <= 1) continue;
    out.most_on_node = rule.max_skew;
    out.on_node.resize(scene.fleet.nodes.size());
    each_node(shape, scene, [&](NodeIndex i, const NodeState&) {
      out.on_node[i] = members(scene.room(i), rule.group);
    });
  }
  std::stable_sort(
      kind.spread.begin(), kind.spread.end(),
      [](const SpreadRule& a, const SpreadRule& b) { return a.domains() < b.domains(); });
}

void PodRules::add_sets(const Shape& shape, const Scene& scene) {
  for (Kind& kind : kinds_) {
    for (const PodAffinity& term : kind.pods->shape->near) {
      auto set =
          std::find_if(sets_.begin(), sets_.end(), [&](const Set& s) { return *s.term == term; });
      if (set == sets_.end()) set = sets_.insert(set, {&term, {}});
      kind.sets.push_back(static_cast<std::size_t>(set - sets_.begin()));
    }
  }
  for (Set& set : sets_) {
    set.domain_of.resize(scene.fleet.nodes.size());
    Numbers numbers;
    each_node(shape, scene, [&](NodeIndex i, const NodeState& n) {
      const std::string* const value = eligibility::label(n.spec, set.term->key);
      if (value != nullptr) set.domain_of[i] = numbers.of(*value);
    });
  }
}

const PodRules::Kind& PodRules::kind_of(const Pods& pods) const {
  const auto found = std::find_if(kinds_.begin(), kinds_.end(),
                                  [&](const Kind& kind) { return kind.pods == &pods; });
  must(found != kinds_.end(), "rules are asked for pods of their gang");
  return *found;
}

std::int64_t PodRules::room(const Bounds& bounds, const Pods& pods, NodeIndex i,
                            std::int64_t limit) const {
  if (!any()) return limit;
  const Kind& kind = kind_of(pods);
  for (const std::size_t set : kind.sets) {
    const std::uint32_t here = sets_[set].domain_of[i];
    if (here == 0) return 0;
    if (bounds.near != nullptr && set < bounds.near->size() && (*bounds.near)[set] != here)
      return 0;
  }
  for (const SpreadRule& spread : kind.spread) {
    const std::uint32_t here = spread.domain_of[i];
    if (here == 0) return 0;
    const std::int64_t most = bounds.any_skew ? spread.loose : spread.strict;
    limit = std::min(limit, most - spread.pods[here]);
    if (spread.most_on_node > 0) limit = std::min(limit, spread.most_on_node - spread.on_node[i]);
  }
  return std::max<std::int64_t>(limit, 0);
}

void PodRules::count(const Pods& pods, NodeIndex i, std::int64_t change) {
  if (!any()) return;
  for (Kind& kind : kinds_) {
    if (kind.pods == &pods) kind.placed[i] += static_cast<std::uint32_t>(change);
    for (SpreadRule& spread : kind.spread) {
      const std::uint32_t here = spread.domain_of[i];
      if (here == 0 || !has_group(*pods.shape, spread.rule->group)) continue;
      spread.pods[here] += change;
      must(spread.pods[here] >= 0, "a pod that leaves a domain was in it");
      if (spread.most_on_node > 0) spread.on_node[i] += change;
    }
  }
}

bool PodRules::hold() const {
  for (const Kind& kind : kinds_) {
    for (const SpreadRule& spread : kind.spread) {
      const std::int64_t most = spread.fewest() + spread.rule->max_skew;
      for (NodeIndex i = 0; i < kind.placed.size(); ++i) {
        if (kind.placed[i] > 0 && spread.pods[spread.domain_of[i]] > most) return false;
        if (kind.placed[i] > 0 && spread.most_on_node > 0 &&
            spread.on_node[i] > spread.most_on_node)
          return false;
      }
    }
  }
  return true;
}

const std::vector<SpreadRule>& PodRules::spread(const Pods& pods) const {
  return kind_of(pods).spread;
}

std::vector<std::int64_t> PodRules::load(const Pods& pods, NodeIndex i) const {
  std::vector<std::int64_t> out;
  for (const SpreadRule& spread : kind_of(pods).spread)
    out.push_back(spread.pods[spread.domain_of[i]]);
  return out;
}

bool PodRules::in_set(std::size_t set, const Pods& pods) const {
  const Kind& kind = kind_of(pods);
  return std::find(kind.sets.begin(), kind.sets.end(), set) != kind.sets.end();
}

}  // namespace subak
