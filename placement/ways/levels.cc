// Racks, blocks and the levels above: groups within groups (fleet_impl.h, TopologyLevel). A gang
// that must be close together gets as few groups as possible, from the top level down.
#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/must.h"
#include "placement/ways/ways.h"

namespace subak {
namespace {

struct Tally {  // of a group, for one run
  std::uint32_t parent = kNoArea, group = kNoArea;
  std::int64_t pods = 0;  // that fit there
  std::int64_t weight = 0;
  NodeIndex low = 0;
  std::array<std::int64_t, 4> key() const { return {parent, -pods, weight, low}; }
};
using Tallies = std::vector<Tally>;

// How pods are counted: by GPUs alone, or also by CPU, memory and the other resources.
enum class Count { kByGpus, kExactly };

// Returns the racks that have room for pods of the run, and for how many.
Tallies racks(GangAttempt& a, const Bounds& bounds, const Run& run, Count count) {
  const Query& q = a.query();
  const Index& x = run.index;
  struct Sum {
    std::int64_t weight = 0, pods = 0;
  };
  std::vector<Sum> of_one(x.numbers());
  const auto by_gpus = [&](const NodeSpec& spec, const Room& room) {
    return pods_that_fit(spec, room, *run.pods->shape, kAllGpus, run.count, kOnlyGpus);
  };
  const bool exactly = count == Count::kExactly;
  const bool alike = q.by_state && !exactly;
  for (std::size_t k = 0; alike && k < x.live().size(); ++k) {
    const GpuState& s = q.fleet.states[state_of_alike(x.live()[k])];
    if (q.within(bounds, x, s)) of_one[x.live()[k]] = {x.weight(s), by_gpus(s.spec, s.room)};
  }
  // A node without room for the pods still counts in the weight of its rack.
  const bool some_not = x.any_backed_off() || q.scene.reserved != nullptr || q.uses_compute_domain;
  const bool some_differ = a.trial().nodes().touched() > 0 || q.scene.overlay != nullptr;
  std::vector<Sum> sums(q.fleet.topology.groups(0).size());
  const auto add = [rack_of = q.fleet.topology.rack_of().data(), sum = sums.data()](NodeIndex i,
                                                                                    Sum here) {
    Sum& rack = sum[rack_of[i]];
    rack.weight += here.weight;
    rack.pods += here.pods;
  };
  for (NodeIndex i = 0; x.knows(i); ++i) {
    if (!alike || (some_differ && a.differs(i))) {
      if (!q.fleet.nodes[i] || !a.eligible(bounds, x, i)) continue;
      add(i, {q.weight(x, i), exactly ? a.cap(bounds, run, i, kAllGpus, run.count)
                                      : by_gpus(q.node(i).spec, a.room(i))});
    } else if (const std::uint32_t number = x.alike_of(i); number != kNotAlike) {
      if (some_not ? a.eligible(bounds, x, i) : !q.left_to_others(i)) add(i, of_one[number]);
    }
  }
  Tallies out;
  for (std::uint32_t r = 1; r < sums.size(); ++r) {
    if (sums[r].pods == 0) continue;
    const Group& g = *q.fleet.topology.groups(0)[r];
    must(!g.members.empty(), "a rack with room has nodes");
    out.push_back({g.parent, r, sums[r].pods, sums[r].weight, g.members.front()});
  }
  return out;
}

// Returns the groups of `level` that contain the groups `below` of the next lower level.
Tallies groups_above(const Query& q, const Tallies& below, std::size_t level) {
  Tallies sums(q.fleet.topology.groups(level).size());
  for (const Tally& t : below) {
    must(t.parent < sums.size(), "each group is in one of the level above");
    Tally& sum = sums[t.parent];
    const Group& g = *q.fleet.topology.groups(level)[t.parent];
    sum = {g.parent, t.parent, sum.pods + t.pods, sum.weight + t.weight, g.members.front()};
  }
  std::erase_if(sums, [](const Tally& t) { return t.pods == 0; });
  return sums;
}

// Fills the groups of all levels for one run, from the top level down.
class FillGroups {
 public:
  FillGroups(GangAttempt& a, const Bounds& bounds, const Run& run, Count count)
      : a_(a), bounds_(bounds), levels_{racks(a, bounds, run, count)} {
    for (std::size_t k = 1; k < a.query().fleet.topology.depth(); ++k) {
      levels_.push_back(groups_above(a.query(), levels_.back(), k));
    }
    for (Tallies& level : levels_) {
      std::sort(level.begin(), level.end(),
                [](const Tally& l, const Tally& r) { return l.key() < r.key(); });
    }
  }

  // Places the run in groups of the top level.
  bool fill(const Run& run) {
    must(!levels_.empty(), "racks are the lowest level");
    return fill(levels_.size() - 1, kNoArea, run);
  }

 private:
  // The level's groups within one group of the level above, the largest first.
  std::span<const Tally> groups(std::size_t level, std::uint32_t parent) const {
    must(level < levels_.size(), "a group is of a level that nodes name");
    const auto before = [](const Tally& t, std::uint32_t least) { return t.parent < least; };
    const Tallies& all = levels_[level];
    const auto begin = std::lower_bound(all.begin(), all.end(), parent, before);
    const auto end = std::lower_bound(begin, all.end(), parent + 1, before);
    return {begin, end};
  }

  // Returns how many groups of the next lower level the pods need if they take the largest groups
  // first.
  std::int64_t parts(std::size_t level, const Tally& t, std::int64_t pods) const {
    if (level == 0) return 0;
    std::int64_t missing = pods, count = 0;
    for (const Tally& inner : groups(level - 1, t.group)) {
      if (missing <= 0) break;
      missing -= inner.pods;
      ++count;
    }
    return count;
  }

  // Takes the groups of one parent, the largest first, until a single group has room for the rest.
  // If several groups have room for the rest, it takes the one that needs the fewest groups of the
  // next lower level, then the tightest.
  bool fill(std::size_t level, std::uint32_t parent, Run run) {
    const std::size_t mark = a_.trial().mark(), end = mark + run.count;
    const std::span<const Tally> here = groups(level, parent);
    for (std::size_t next = 0; run.count > 0; ++next) {
      const Tally* chosen = next < here.size() ? &here[next] : nullptr;
      for (std::size_t i = next; i < here.size() && here[i].pods >= run.count; ++i) {
        const auto order = [&](const Tally& t) {
          return std::tuple(parts(level, t, run.count), t.weight, t.low);
        };
        if (order(here[i]) < order(*chosen)) chosen = &here[i];
      }
      Run part = run;
      if (chosen != nullptr) {
        part.count = static_cast<std::uint32_t>(std::min<std::int64_t>(run.count, chosen->pods));
      }
      if (chosen == nullptr || !fill_one(level, *chosen, part)) {
        a_.trial().undo_to(mark);
        return false;
      }
      drop_first(run, part.count);
    }
    must(a_.trial().mark() == end, "groups hold all pods of the run");
    return true;
  }

  bool fill_one(std::size_t level, const Tally& t, const Run& run) {
    must(run.count > 0 && run.count <= t.pods, "a group gets some of the pods that it holds");
    if (level > 0) return fill(level - 1, t.group, run);
    return spread(a_, bounds_, run, &a_.query().fleet.topology.groups(0)[t.group]->members);
  }

  GangAttempt& a_;
  const Bounds& bounds_;
  std::vector<Tallies> levels_;  // the nearest first; by Tally::key()
};

}  // namespace

bool in_group(GangAttempt& a, const Bounds& bounds, std::size_t level, const Runs& runs) {
  const Query& q = a.query();
  must(level < q.fleet.topology.depth() && !runs.empty(), "some pods are placed in a group");
  Tallies groups = racks(a, bounds, runs[0], Count::kByGpus);
  for (std::size_t k = 1; k <= level; ++k) groups = groups_above(q, groups, k);
  std::erase_if(groups, [&](const Tally& t) { return t.pods < runs[0].count; });
  std::sort(groups.begin(), groups.end(), [](const Tally& l, const Tally& r) {
    return std::pair(l.weight, l.low) < std::pair(r.weight, r.low);
  });
  return std::any_of(groups.begin(), groups.end(), [&](const Tally& t) {
    return inside(a, bounds, runs, &q.fleet.topology.groups(level)[t.group]->members);
  });
}

bool compactly(GangAttempt& a, const Bounds& bounds, const Runs& runs) {
  const Query& q = a.query();
  if (q.fleet.topology.named() == 0 || q.scene.nothing_held) return false;
  if (!std::all_of(runs.begin(), runs.end(), [](const Run& r) { return r.index.of_gpus(); })) {
    return false;
  }
  if (runs.size() == 1) {
    // A count by GPUs alone may be too high. If the placement then fails, the function counts
    // exactly and tries again.
    const Run& run = runs[0];
    return run.count > 1 && (FillGroups(a, bounds, run, Count::kByGpus).fill(run) ||
                             FillGroups(a, bounds, run, Count::kExactly).fill(run));
  }
  for (std::size_t level = 0; level < q.fleet.topology.depth(); ++level) {
    if (in_group(a, bounds, level, runs)) return true;
  }
  return false;
}

bool fills_nodes(const Query& q, const Bounds& bounds, const Runs& runs) {
  if (q.fleet.topology.named() == 0) return false;
  return std::all_of(runs.begin(), runs.end(), [&](const Run& r) {
    const PodShape& pod = *r.pods->shape;
    if (pod.kind != GpuKind::kWhole) return false;
    const Index& x = r.index;
    const auto two = [&](std::uint32_t number) {
      const GpuState& s = q.fleet.states[state_of_alike(number)];
      return q.within(bounds, x, s) && x.all(s) >= 2 * pod.gpus;
    };
    return std::none_of(x.live().begin(), x.live().end(), two);
  });
}

}  // namespace subak
