// Spreads a run over as few domains and nodes as possible, as finder_spread.cc, by the states of
// the GPUs. It counts what fits by GPUs alone until it chooses a node. If less fits there, for CPU
// or a port, the result is undecided, and the caller looks at each node.
#include <algorithm>
#include <functional>

#include "placement/search/finder.h"

namespace subak {

void Finder::add_joined_nodes(const Run& run, const std::vector<std::int64_t>& caps,
                              std::array<NodeClass, 2>& classes) {
  const Index& x = run.index;
  const bool some_not =
      x.any_backed_off() || scene_.reserved != nullptr || leaves_some_ || uses_compute_domain_;
  for (const DomainIndex d : x.joined()) {
    std::array<CapDomain, 2> here{};
    for (const NodeIndex m : members(d)) {
      if (!x.knows(m) || x.alike_of(m) == kNotAlike) continue;
      const std::uint32_t number = x.alike_of(m);
      std::int64_t pods = caps[number];
      if (pods == 0 || (some_not && !eligible(x, m))) continue;
      if (differs(m, trial_.touched())) pods = cap(run, m, kAllGpus, run.count);
      CapDomain& part = here[x.fragment(fleet_.states[state_of_alike(number)]) ? 1 : 0];
      part.pods += pods;
      part.end = std::max(part.end, static_cast<std::size_t>(pods));
    }
    for (std::size_t k = 0; k < 2; ++k) {
      if (here[k].pods == 0) continue;
      here[k].key = domain_key(x, d);
      here[k].begin = d;
      classes[k].joined.push_back(here[k]);
    }
  }
}

std::array<Finder::NodeClass, 2> Finder::classes(const Run& run) {
  const Index& x = run.index;
  const PodShape& pod = *run.pods->shape;
  std::array<NodeClass, 2> out;
  out[1].broken = true;
  std::vector<std::int64_t> caps(x.numbers());
  bool joined = false;
  for (const std::uint32_t number : x.live()) {
    const GpuState& s = fleet_.states[state_of_alike(number)];
    if (!within_bounds(x, s)) continue;
    const std::int64_t pods = pods_that_fit(s.spec, s.room, pod, kAllGpus, run.count, kOnlyGpus);
    caps[number] = pods;
    if (pods == 0) continue;
    NodeClass& node_class = out[x.fragment(s) ? 1 : 0];
    node_class.pods += pods * static_cast<std::int64_t>(x.alike(number).size());
    joined = joined || joined_alike(number);
    if (!joined_alike(number))
      node_class.lone.push_back({{-pods, x.weight(s)}, pods, &x.alike(number), 0});
  }
  for (std::size_t k = 0; k < trial_.touched(); ++k) {
    const NodeIndex i = trial_.touched_node(k);
    const bool lone = x.knows(i) && x.alike_of(i) != kNotAlike && !joined_alike(x.alike_of(i));
    const std::int64_t pods = lone ? cap(run, i, kAllGpus, run.count) : 0;
    if (pods == 0) continue;
    out[fragment(x, i) ? 1 : 0].lone.push_back({{-pods, weight(x, i)}, pods, nullptr, i});
  }
  if (joined) add_joined_nodes(run, caps, out);
  return out;
}

std::optional<bool> Finder::spread_alike(const Run& run) {
  if (!by_state() || scene_.overlay != nullptr) return std::nullopt;
  std::array<NodeClass, 2> all = classes(run);
  auto& [whole, broken] = all;
  if (whole.pods + broken.pods < run.count) return false;
  const std::size_t mark = placed_.size();
  if (whole.pods > 0 && broken.pods > 0) {
    const auto decided = spread_mixed(run, all);
    if (!decided) undo_to(mark);
    return decided ? std::optional(sort_ranks(run)) : std::nullopt;
  }
  if (fill_class(run, whole.pods > 0 ? whole : broken, run)) return sort_ranks(run);
  undo_to(mark);
  return std::nullopt;
}

// It uses nodes without holds only if the nodes with holds cannot hold all pods. So these are fewer
// than the pods, and it checks first what fits on them.
std::optional<bool> Finder::spread_mixed(const Run& run, std::array<NodeClass, 2>& all) {
  auto& [whole, broken] = all;
  const Index& x = run.index;
  const bool exact = !x.any_backed_off() && scene_.reserved == nullptr && trial_.touched() == 0;
  if (!exact || broken.pods >= run.count) return std::nullopt;
  std::vector<Cap> fragments;
  std::vector<std::pair<std::int64_t, std::uint32_t>> wholes;  // pods, alike
  for (const std::uint32_t number : x.live()) {
    const GpuState& s = fleet_.states[state_of_alike(number)];
    if (!within_bounds(x, s)) continue;
    const PodShape& pod = *run.pods->shape;
    const auto pods = pods_that_fit(s.spec, s.room, pod, kAllGpus, run.count, kOnlyGpus);
    if (pods == 0) continue;
    if (!x.fragment(s)) {
      wholes.emplace_back(pods, number);
      continue;
    }
    for (const NodeIndex i : x.alike(number)) {
      const std::int64_t here = cap(run, i, kAllGpus, run.count);
      if (here > 0) fragments.push_back({i, node(i).domain, here, x.weight(s)});
    }
  }
  std::int64_t missing = run.count;
  for (const Cap& c : fragments) missing -= c.pods;
  std::sort(wholes.begin(), wholes.end(), std::greater<>());
  std::int64_t filled = 0;
  for (const auto& [pods, number] : wholes) {
    for (const NodeIndex i : x.alike(number)) {
      if (filled >= missing) break;
      if (cap(run, i, kAllGpus, run.count) != pods) return std::nullopt;
      filled += pods;
    }
  }
  if (filled < missing) return std::nullopt;
  Run first = run, rest = run;
  first.count = static_cast<std::uint32_t>(std::min<std::int64_t>(filled, run.count));
  rest.rank += first.count;
  rest.count -= first.count;
  if (!fill_class(first, whole, run) || !spread_caps(rest, fragments)) return std::nullopt;
  return true;
}

bool Finder::take_single_node(Run& left, const Run& run, NodeIndex i, std::int64_t pods) {
  const auto take = static_cast<std::uint32_t>(std::min<std::int64_t>(pods, left.count));
  const std::int64_t fits = cap(run, i, kAllGpus, run.count);
  if (fits < take || (take < left.count && fits != pods)) return false;
  if (!place({left.pods, left.index, left.rank, take}, i, kAllGpus)) return false;
  left.rank += take;
  left.count -= take;
  return true;
}

bool Finder::take_joined(Run& left, const Run& run, const CapDomain& domain, bool broken) {
  std::vector<Cap> caps;
  std::int64_t pods = 0;
  for (const NodeIndex m : members(static_cast<DomainIndex>(domain.begin))) {
    const std::int64_t here = cap(run, m, kAllGpus, run.count);
    if (here == 0 || fragment(run.index, m) != broken) continue;
    pods += here;
    caps.push_back({m, static_cast<DomainIndex>(domain.begin), here, weight(run.index, m)});
  }
  if (pods != domain.pods) return false;
  std::sort(caps.begin(), caps.end(), [](const Cap& a, const Cap& b) {
    if (a.pods != b.pods) return a.pods > b.pods;
    return a.weight != b.weight ? a.weight < b.weight : a.node < b.node;
  });
  return fill_domain(left, caps, {domain.key, domain.pods, 0, caps.size()});
}

// Takes the largest first, until one is enough for the rest.
bool Finder::fill_class(Run left, NodeClass& node_class, const Run& run) {
  const std::size_t touched = trial_.touched();
  std::sort(node_class.joined.begin(), node_class.joined.end(),
            [](const CapDomain& a, const CapDomain& b) {
              return a.pods != b.pods ? a.pods > b.pods : a.key < b.key;
            });
  auto joined = node_class.joined.begin();
  BestFirst lone(node_class.lone);
  const auto next_single_node = [&] {
    while (lone.next()) {
      const NodeIndex i = lone.node();
      const bool apart = lone.of().alike != nullptr && differs(i, touched);
      if (!apart && eligible(run.index, i)) return true;
    }
    return false;
  };
  bool more = next_single_node();
  while (left.count > 0) {
    if (!more && joined == node_class.joined.end()) return false;
    const std::int64_t here = more ? lone.of().pods : 0;
    const std::int64_t there = joined == node_class.joined.end() ? 0 : joined->pods;
    if (std::max(here, there) >= left.count) {
      node_class.joined.erase(node_class.joined.begin(), joined);
      return finish_class(left, node_class, run, touched);
    }
    const FitKey key{more ? lone.of().key[1] : 0, lone.node(), 0, 0, 0};
    if (here > there || (here == there && key < joined->key)) {
      if (!take_single_node(left, run, lone.node(), here)) return false;
      more = next_single_node();
    } else {
      if (!take_joined(left, run, *joined, node_class.broken)) return false;
      ++joined;
    }
  }
  return true;
}

// One domain is enough: it prefers one with a single node that is enough, and then the tightest.
// Nodes touched since `touched` are taken.
bool Finder::finish_class(Run& left, const NodeClass& node_class, const Run& run,
                          std::size_t touched) {
  std::vector<Equals> enough;
  for (const Equals& e : node_class.lone) {
    if (e.pods < left.count) continue;
    enough.push_back(e);
    enough.back().key = {e.key[1], 0};
  }
  BestFirst lone(std::move(enough));
  bool found = false;
  while (!found && lone.next()) {
    const NodeIndex i = lone.node();
    const bool taken = trial_.find(i) != nullptr && !trial_.among_first(i, touched);
    const bool apart = lone.of().alike != nullptr && differs(i, touched);
    found = !taken && !apart && eligible(run.index, i);
  }
  const CapDomain* best = nullptr;
  const auto order = [&](const CapDomain& d) {
    return std::pair(static_cast<std::int64_t>(d.end) < left.count, d.key);
  };
  for (const CapDomain& d : node_class.joined) {
    if (d.pods >= left.count && (best == nullptr || order(d) < order(*best))) best = &d;
  }
  if (found) {
    const FitKey key{lone.of().key[0], lone.node(), 0, 0, 0};
    if (best == nullptr || std::pair(false, key) < order(*best)) {
      return take_single_node(left, run, lone.node(), lone.of().pods);
    }
  }
  return best != nullptr && take_joined(left, run, *best, node_class.broken);
}

}  // namespace subak
