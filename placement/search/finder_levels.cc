// Racks, blocks and the levels above: groups within groups (fleet_impl.h, TopologyLevel). A gang
// that must be close together gets the fewest of them, from the top level down.
#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "placement/search/finder.h"

namespace subak {

// Returns the racks that hold pods of the run, and how many: by GPUs alone, or `exactly`.
Finder::Tallies Finder::racks(const Run& run, bool exactly) {
  const Index& x = run.index;
  struct Sum {
    std::int64_t weight = 0, pods = 0;
  };
  std::vector<Sum> of_one(x.numbers());
  const auto by_gpus = [&](const NodeSpec& spec, const Room& room) {
    return pods_that_fit(spec, room, *run.pods->shape, kAllGpus, run.count, kOnlyGpus);
  };
  const bool alike = by_state() && !exactly;
  for (std::size_t k = 0; alike && k < x.live().size(); ++k) {
    const GpuState& s = fleet_.states[state_of_alike(x.live()[k])];
    if (within_bounds(x, s)) of_one[x.live()[k]] = {x.weight(s), by_gpus(s.spec, s.room)};
  }
  // A node without room counts for how full its rack is.
  const bool some_not = x.any_backed_off() || scene_.reserved != nullptr || uses_compute_domain_;
  const bool some_differ = trial_.touched() > 0 || scene_.overlay != nullptr;
  std::vector<Sum> sums(fleet_.levels[0].groups.size());
  for (NodeIndex i = 0; x.knows(i); ++i) {
    Sum here;
    if (!alike || (some_differ && differs(i, trial_.touched()))) {
      if (!fleet_.nodes[i] || !eligible(x, i)) continue;
      here = {weight(x, i),
              exactly ? cap(run, i, kAllGpus, run.count) : by_gpus(node(i).spec, room(i))};
    } else if (const std::uint32_t number = x.alike_of(i); number != kNotAlike) {
      if (some_not ? eligible(x, i) : !left_to_others(i)) here = of_one[number];
    }
    if (here.weight == 0 && here.pods == 0) continue;
    Sum& rack = sums[fleet_.rack_of[i]];
    rack = {rack.weight + here.weight, rack.pods + here.pods};
  }
  Tallies out;
  for (std::uint32_t r = 1; r < sums.size(); ++r) {
    if (sums[r].pods == 0) continue;
    const Group& g = *fleet_.levels[0].groups[r];
    out.push_back({g.parent, r, sums[r].pods, sums[r].weight, g.members.front()});
  }
  return out;
}

// Returns the groups of `level` above those of the level below.
Finder::Tallies Finder::groups_above(const Tallies& below, std::size_t level) const {
  Tallies sums(fleet_.levels[level].groups.size());
  for (const Tally& t : below) {
    Tally& sum = sums[t.parent];
    const Group& g = *fleet_.levels[level].groups[t.parent];
    sum = {g.parent, t.parent, sum.pods + t.pods, sum.weight + t.weight, g.members.front()};
  }
  std::erase_if(sums, [](const Tally& t) { return t.pods == 0; });
  return sums;
}

// Places the runs in one group of the level, the tightest that holds them.
bool Finder::in_group(std::size_t level, const Runs& runs) {
  Tallies groups = racks(runs[0], false);
  for (std::size_t k = 1; k <= level; ++k) groups = groups_above(groups, k);
  std::erase_if(groups, [&](const Tally& t) { return t.pods < runs[0].count; });
  std::sort(groups.begin(), groups.end(), [](const Tally& a, const Tally& b) {
    return std::pair(a.weight, a.low) < std::pair(b.weight, b.low);
  });
  return std::any_of(groups.begin(), groups.end(), [&](const Tally& t) {
    return inside(&fleet_.levels[level].groups[t.group]->members, runs);
  });
}

// Places the runs close together, if nodes name their groups. A search for nodes to wait for goes
// by time, not topology.
bool Finder::compactly(const Runs& runs) {
  if (fleet_.named == 0 || scene_.nothing_held) return false;
  if (!std::all_of(runs.begin(), runs.end(), [](const Run& r) { return r.index.of_gpus(); })) {
    return false;
  }
  if (runs.size() == 1) {
    if (runs[0].count <= 1) return false;
    return over_few_groups(runs[0], false) || over_few_groups(runs[0], true);
  }
  for (std::size_t level = 0; level < fleet_.depth; ++level) {
    if (in_group(level, runs)) return true;
  }
  return false;
}

// True if no node that the pods may use holds two of them.
bool Finder::fills_nodes(const Runs& runs) const {
  if (fleet_.named == 0) return false;
  return std::all_of(runs.begin(), runs.end(), [&](const Run& r) {
    const PodShape& pod = *r.pods->shape;
    if (pod.kind != GpuKind::kWhole) return false;
    const Index& x = r.index;
    const auto two = [&](std::uint32_t number) {
      const GpuState& s = fleet_.states[state_of_alike(number)];
      return within_bounds(x, s) && x.all(s) >= 2 * pod.gpus;
    };
    return std::none_of(x.live().begin(), x.live().end(), two);
  });
}

// `exactly`: does not count a pod on a node that lacks the CPU for it. If less fits than GPUs alone
// say, the result is undecided without it.
bool Finder::over_few_groups(const Run& run, bool exactly) {
  std::vector<Tallies> levels{racks(run, exactly)};
  for (std::size_t k = 1; k < fleet_.depth; ++k) {
    levels.push_back(groups_above(levels.back(), k));
  }
  for (Tallies& level : levels) {
    std::sort(level.begin(), level.end(),
              [](const Tally& a, const Tally& b) { return a.key() < b.key(); });
  }
  return fill_groups(levels, levels.size() - 1, kNoArea, run);
}

// Takes the groups of one parent, the largest first, until one is enough for the rest. Among those
// it prefers one that needs the fewest groups of the level below, then the tightest.
bool Finder::fill_groups(const std::vector<Tallies>& levels, std::size_t level,
                         std::uint32_t parent, Run run) {
  const auto of = [&](std::size_t k, std::uint32_t p) {
    const auto before = [](const Tally& t, std::uint32_t least) { return t.parent < least; };
    const auto begin = std::lower_bound(levels[k].begin(), levels[k].end(), p, before);
    const auto end = std::lower_bound(begin, levels[k].end(), p + 1, before);
    return std::span<const Tally>(begin, end);
  };
  const auto parts = [&](const Tally& t) {
    std::int64_t missing = run.count, count = 0;
    for (const Tally& inner : level == 0 ? std::span<const Tally>() : of(level - 1, t.group)) {
      if (missing <= 0) break;
      missing -= inner.pods;
      ++count;
    }
    return count;
  };
  const std::size_t mark = placed_.size();
  const std::span<const Tally> here = of(level, parent);
  for (std::size_t next = 0; run.count > 0; ++next) {
    const Tally* chosen = next < here.size() ? &here[next] : nullptr;
    for (std::size_t i = next; i < here.size() && here[i].pods >= run.count; ++i) {
      const auto order = [&](const Tally& t) { return std::tuple(parts(t), t.weight, t.low); };
      if (order(here[i]) < order(*chosen)) chosen = &here[i];
    }
    Run part = run;
    if (chosen != nullptr) {
      part.count = static_cast<std::uint32_t>(std::min<std::int64_t>(run.count, chosen->pods));
    }
    const bool ok = chosen != nullptr &&
                    (level == 0 ? spread(part, &fleet_.levels[0].groups[chosen->group]->members)
                                : fill_groups(levels, level - 1, chosen->group, part));
    if (!ok) {
      undo_to(mark);
      return false;
    }
    run.rank += part.count;
    run.count -= part.count;
  }
  return true;
}

// Sort key that makes nodes of a block neighbours, within it those of a rack, within it those of a
// domain.
std::array<NodeIndex, limits::kTopologyLevels + 2> Finder::where(NodeIndex i) const {
  std::array<NodeIndex, limits::kTopologyLevels + 2> out{};
  std::size_t at = 0;
  for (std::size_t k = fleet_.named > 0 ? fleet_.depth : 0; k-- > 0;) {
    out[at++] = fleet_.levels[k].groups[node(i).groups[k]]->members.front();
  }
  out[at++] = members(node(i).domain).front();
  out[at] = i;
  return out;
}

// Sorts equal segments so that those of a block have consecutive ranks.
void Finder::sort_segments(std::uint32_t size) {
  if (fleet_.named == 0 || size == 0 || slots_.size() % size != 0) return;
  std::vector<std::uint32_t> order;
  for (std::uint32_t first = 0; first < slots_.size(); first += size) order.push_back(first);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return where(slots_[a].node.value) < where(slots_[b].node.value);
  });
  std::vector<PodSlot> sorted;
  sorted.reserve(slots_.size());
  for (const std::uint32_t first : order) {
    const auto from = slots_.begin() + first;
    sorted.insert(sorted.end(), from, from + size);
  }
  slots_ = std::move(sorted);
}

}  // namespace subak
