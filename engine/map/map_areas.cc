#include "engine/map/map_areas.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/limits.h"
#include "core/must.h"

namespace subak::derive {
namespace {

// A count of digits is one character of a key.
constexpr std::size_t kMostDigits = 70;

constexpr std::string_view kLevels[] = {"rack", "block", "superpod", "level 4"};
static_assert(std::size(kLevels) == limits::kTopologyLevels);

// A step of the way from the outside to a node.
struct Step {
  std::string_view kind, name;
  friend bool operator==(const Step&, const Step&) = default;
};

void find_way(const NodeSpec& spec, std::vector<Step>& way) {
  way.clear();
  way.push_back({"product", spec.product});
  for (std::size_t k = spec.levels.size(); k-- > 0;) {
    if (!spec.levels[k].empty()) way.push_back({kLevels[k], spec.levels[k]});
  }
  if (!spec.clique.empty() && spec.clique != spec.level(0)) way.push_back({"domain", spec.clique});
}

// An area while the tree grows.
struct Branch {
  Step step;
  std::string key;
  // The areas inside, by kind and name.
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> inside;
  std::vector<std::pair<std::string, NodeId>> nodes;
};

class Tree {
 public:
  Tree() : branches_(1) {}
  void add(const NodeSpec& spec, NodeId id) {
    // Nodes that follow one another by name are mostly in the same area.
    way_.swap(last_way_);
    find_way(spec, way_);
    if (way_ != last_way_) at_ = walk();
    branches_[at_].nodes.emplace_back(natural_key(spec.name), id);
  }
  MapAreas take() {
    MapAreas out;
    for (const std::uint32_t first : sorted(0)) write(first, 0, true, out);
    return out;
  }

 private:
  std::uint32_t walk() {
    std::uint32_t at = 0;
    for (const Step& step : way_) {
      const auto next = static_cast<std::uint32_t>(branches_.size());
      const auto [it, is_new] = branches_[at].inside.try_emplace({step.kind, step.name}, next);
      at = it->second;
      if (!is_new) continue;
      branches_.emplace_back();
      branches_.back().step = step;
      branches_.back().key = natural_key(step.name);
    }
    return at;
  }
  std::vector<std::uint32_t> sorted(std::uint32_t branch) const {
    std::vector<std::uint32_t> out;
    for (const auto& [key, index] : branches_[branch].inside) out.push_back(index);
    std::stable_sort(out.begin(), out.end(), [this](std::uint32_t a, std::uint32_t b) {
      return branches_[a].key < branches_[b].key;
    });
    return out;
  }
  void write(std::uint32_t branch, std::uint32_t parent, bool is_outer, MapAreas& out) {
    const auto index = static_cast<std::uint32_t>(out.areas.size());
    Branch& from = branches_[branch];
    std::sort(from.nodes.begin(), from.nodes.end());
    out.areas.push_back({std::string(from.step.kind), std::string(from.step.name),
                         is_outer ? index : parent, static_cast<std::uint32_t>(from.nodes.size())});
    for (const auto& [key, node] : from.nodes) out.nodes.push_back(node);
    for (const std::uint32_t inner : sorted(branch)) write(inner, index, false, out);
  }

  std::vector<Branch> branches_;  // the first one contains all others
  std::vector<Step> way_, last_way_;
  std::uint32_t at_ = 0;  // the branch of `way_`
};

}  // namespace

std::string natural_key(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string out;
  out.reserve(name.size() + 4);
  for (std::size_t i = 0; i < name.size();) {
    if (!is_digit(name[i])) {
      out += name[i++];
      continue;
    }
    while (i + 1 < name.size() && name[i] == '0' && is_digit(name[i + 1])) ++i;
    std::size_t end = i;
    while (end < name.size() && is_digit(name[end])) ++end;
    // A number with more digits is larger, so the count of digits comes first.
    out += static_cast<char>('0' + std::min<std::size_t>(end - i, kMostDigits));
    out.append(name, i, end - i);
    i = end;
  }
  return out;
}

MapAreas map_areas(const State& s, ClusterId cluster) {
  Tree tree;
  std::size_t nodes = 0;
  const auto& all = s.nodes().all();
  for (auto it = all.lower_bound({cluster, ""}); it != all.end() && it->first.first == cluster;
       ++it, ++nodes) {
    tree.add(*s.fleet().node(it->second), it->second);
  }
  MapAreas out = tree.take();
  must(out.nodes.size() == nodes, "each node is in one area");
  return out;
}

}  // namespace subak::derive
