#include "engine/map/map_areas.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/limits.h"
#include "core/must.h"

namespace subak::derive {
namespace {

constexpr std::string_view kLevels[] = {"rack", "block", "superpod", "level 4"};
static_assert(std::size(kLevels) == limits::kTopologyLevels);

// A step of the way from the outside to a node.
struct Step {
  std::string_view kind, name;
};

std::vector<Step> way_to(const NodeSpec& spec) {
  std::vector<Step> way{{"product", spec.product}};
  for (std::size_t k = spec.levels.size(); k-- > 0;) {
    if (!spec.levels[k].empty()) way.push_back({kLevels[k], spec.levels[k]});
  }
  if (!spec.clique.empty() && spec.clique != spec.level(0)) way.push_back({"domain", spec.clique});
  return way;
}

// True only if the ways to both nodes are the same.
bool are_together(const NodeSpec& a, const NodeSpec& b) {
  return a.clique == b.clique && a.levels == b.levels && a.product == b.product;
}

struct NamedNode {
  std::string_view name;
  NodeId id;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns the length of the text that both names begin with, without digits at its end: the number
// there may go on.
std::size_t common_text(std::string_view a, std::string_view b) {
  const auto [end, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  auto length = static_cast<std::size_t>(end - a.begin());
  while (length > 0 && is_digit(a[length - 1])) --length;
  return length;
}

// Sorts nodes, which are in the order of their names as texts, by natural_order().
void sort_naturally(std::vector<NamedNode>& nodes) {
  if (nodes.empty()) return;
  // All names begin with what the first and the last one have in common.
  const std::size_t same = common_text(nodes.front().name, nodes.back().name);
  for (NamedNode& node : nodes) node.name.remove_prefix(same);
  std::sort(nodes.begin(), nodes.end(), [](const NamedNode& a, const NamedNode& b) {
    const auto order = natural_order(a.name, b.name);
    return order != 0 ? order < 0 : a.id < b.id;
  });
}

// An area while the tree grows.
struct Branch {
  Step step;
  // The areas inside, by kind and name.
  std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> inside;
  std::vector<NamedNode> nodes;
};

class Tree {
 public:
  Tree() : branches_(1) {}
  void add(const NodeSpec& spec, NodeId id) {
    // Nodes that follow one another by name are mostly in the same area.
    if (last_ == nullptr || !are_together(*last_, spec)) at_ = walk(spec);
    last_ = &spec;
    branches_[at_].nodes.push_back({spec.name, id});
  }
  MapAreas take() {
    MapAreas out;
    for (const std::uint32_t first : sorted(0)) write(first, 0, true, out);
    return out;
  }

 private:
  std::uint32_t walk(const NodeSpec& spec) {
    std::uint32_t at = 0;
    for (const Step& step : way_to(spec)) {
      const auto next = static_cast<std::uint32_t>(branches_.size());
      const auto [it, is_new] = branches_[at].inside.try_emplace({step.kind, step.name}, next);
      at = it->second;
      if (!is_new) continue;
      branches_.emplace_back();
      branches_.back().step = step;
    }
    return at;
  }
  std::vector<std::uint32_t> sorted(std::uint32_t branch) const {
    std::vector<std::uint32_t> out;
    for (const auto& [key, index] : branches_[branch].inside) out.push_back(index);
    std::stable_sort(out.begin(), out.end(), [this](std::uint32_t a, std::uint32_t b) {
      return natural_order(branches_[a].step.name, branches_[b].step.name) < 0;
    });
    return out;
  }
  void write(std::uint32_t branch, std::uint32_t parent, bool is_outer, MapAreas& out) {
    const auto index = static_cast<std::uint32_t>(out.areas.size());
    Branch& from = branches_[branch];
    sort_naturally(from.nodes);
    out.areas.push_back({std::string(from.step.kind), std::string(from.step.name),
                         is_outer ? index : parent, static_cast<std::uint32_t>(from.nodes.size())});
    for (const NamedNode& node : from.nodes) out.nodes.push_back(node.id);
    for (const std::uint32_t inner : sorted(branch)) write(inner, index, false, out);
  }

  std::vector<Branch> branches_;  // the first one contains all others
  // The node that was added last, and its branch.
  const NodeSpec* last_ = nullptr;
  std::uint32_t at_ = 0;
};

// Takes the digits from the beginning of `text`, and returns them without leading zeros.
std::string_view take_number(std::string_view& text) {
  std::size_t zeros = 0;
  while (zeros < text.size() && text[zeros] == '0') ++zeros;
  std::size_t end = zeros;
  while (end < text.size() && is_digit(text[end])) ++end;
  const std::string_view number = text.substr(zeros, end - zeros);
  text.remove_prefix(end);
  return number;
}

}  // namespace

std::strong_ordering natural_order(std::string_view a, std::string_view b) {
  const std::size_t same = common_text(a, b);
  a.remove_prefix(same);
  b.remove_prefix(same);
  while (!a.empty() && !b.empty()) {
    if (!is_digit(a.front()) || !is_digit(b.front())) {
      const auto one = static_cast<unsigned char>(a.front());
      const auto other = static_cast<unsigned char>(b.front());
      if (one != other) return one <=> other;
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    const std::string_view number = take_number(a), other = take_number(b);
    if (number.size() != other.size()) return number.size() <=> other.size();
    if (number != other) return number <=> other;
  }
  return a.size() <=> b.size();
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
