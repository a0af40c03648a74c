// Small fleets in which every placement of a gang with rules about other pods can be tried. The
// search finds a placement if and only if there is one, and a scheduler that checks pod by pod, as
// kube-scheduler does, accepts it in every order. SUBAK_STATES sets the number of fleets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "naive_fleet.h"
#include "placement/gpus/eligibility.h"
#include "random_world.h"
#include "tests/placement/builders.h"

namespace subak {
namespace {

constexpr const char* kHost = "host";
constexpr const char* kZone = "zone";
constexpr std::int64_t kGroup = 7;

struct Bound {
  std::uint32_t node = 0;
  const PodShape* pod = nullptr;
};

class SmallWorld {
 public:
  explicit SmallWorld(std::uint64_t seed) : dice_(seed) {
    const auto nodes = static_cast<std::uint32_t>(2 + dice_.below(4));
    for (std::uint32_t id = 1; id <= nodes; ++id) add_node(id);
    for (std::int64_t i = dice_.below(4); i > 0; --i) start_other();
    request_ = random_request();
  }

  const GangRequest& request() const { return request_; }

  std::optional<Placement> find() {
    return site_.find(site_.intern(build::kCluster, request_), build::job(100));
  }
  std::vector<Reason> explain() {
    return site_.search.explain(site_.now(), site_.intern(build::kCluster, request_));
  }

  // True if some assignment of the pods to nodes meets all rules.
  bool possible() {
    std::vector<std::uint32_t> nodes;
    return put(nodes);
  }

  // True if the nodes, by rank, have room and meet all rules.
  bool good(const std::vector<std::uint32_t>& nodes) const {
    std::map<std::uint32_t, std::int64_t> gpus = free_;
    std::vector<Bound> all = others_;
    for (std::uint32_t rank = 0; rank < nodes.size(); ++rank) {
      if (!eligibility::matches(pod(rank), specs_.at(nodes[rank]))) return false;
      if ((gpus[nodes[rank]] -= pod(rank).gpus) < 0) return false;
      all.push_back({nodes[rank], &pod(rank)});
    }
    if (!together(nodes)) return false;
    for (std::uint32_t rank = 0; rank < nodes.size(); ++rank) {
      for (const TopologySpread& rule : pod(rank).spread) {
        if (!even(rule, pod(rank), nodes[rank], all)) return false;
      }
      for (const PodAffinity& term : pod(rank).near) {
        const std::string* const here = label(nodes[rank], term.key);
        if (here == nullptr) return false;
        for (std::uint32_t other = 0; other < nodes.size(); ++other) {
          const auto& terms = pod(other).near;
          if (std::find(terms.begin(), terms.end(), term) == terms.end()) continue;
          const std::string* const there = label(nodes[other], term.key);
          if (there == nullptr || *there != *here) return false;
        }
      }
    }
    return true;
  }

  std::int64_t any_node_rules() const {
    std::int64_t rules = 0;
    for (const PodGroup& g : request_.groups) {
      for (const TopologySpread& rule : g.shape.spread) rules += rule.any_node ? 1 : 0;
    }
    return rules;
  }

  // Binds the pods in a random order, as a scheduler does to which each pod's affinity names one
  // node. A pod that is refused comes again once another pod is bound. Returns false if some pod
  // is never bound.
  bool bind_all(const std::vector<std::uint32_t>& nodes) {
    std::vector<std::uint32_t> waiting;
    for (std::uint32_t rank = 0; rank < nodes.size(); ++rank)
      waiting.insert(waiting.begin() + dice_.below(static_cast<std::int64_t>(rank) + 1), rank);
    std::vector<Bound> bound = others_;
    for (bool moved = true; moved && !waiting.empty();) {
      moved = false;
      for (std::size_t i = 0; i < waiting.size();) {
        const std::uint32_t rank = waiting[i];
        if (!scheduler_takes(pod(rank), nodes[rank], bound)) {
          ++i;
          continue;
        }
        bound.push_back({nodes[rank], &pod(rank)});
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
        moved = true;
      }
    }
    return waiting.empty();
  }

 private:
  void add_node(std::uint32_t id) {
    NodeSpec spec = build::node(id, 1 + dice_.below(4));
    spec.labels = {{kHost, spec.name}, {"pool", dice_.chance(80) ? "a" : "b"}};
    if (!dice_.chance(10)) spec.labels.push_back({kZone, std::string(1, "xyz"[dice_.below(3)])});
    std::sort(spec.labels.begin(), spec.labels.end());
    if (dice_.chance(10)) spec.taints = {{"t", "", "NoSchedule"}};
    spec.set_levels({dice_.chance(50) ? "r" : "q"});
    build::add(site_, id, spec);
    specs_[id] = spec;
    free_[id] = spec.gpus;
  }

  // Starts a pod of an earlier job on a random node.
  void start_other() {
    const auto id =
        static_cast<std::uint32_t>(1 + dice_.below(static_cast<std::int64_t>(specs_.size())));
    GangRequest one = build::gang(1, 1);
    one.groups[0].shape.node_selector = {{kHost, specs_[id].name}};
    one.groups[0].shape.tolerations = {{"t", "Exists", "", ""}};
    if (free_[id] == 0) return;
    const auto slots = build::start(site_, others_.size() + 1, one);
    ASSERT_EQ(slots.size(), 1U);
    // The pod counts in the group; its own constraint is about a node that it has already.
    build::stop(site_, others_.size() + 1, one, slots);
    if (dice_.chance(70)) one.groups[0].shape.spread = {{kHost, 9, 0, false, false, kGroup}};
    const ShapeId shape = site_.intern(build::kCluster, one);
    site_.take(shape, 0, slots[0], build::job(others_.size() + 1), 0);
    kept_.push_back(std::make_unique<PodShape>(one.groups[0].shape));
    others_.push_back({id, kept_.back().get()});
    --free_[id];
  }

  PodShape random_rules(PodShape pod) {
    const auto skew = [&] { return 1 + dice_.below(2); };
    const auto rule = [&](const char* key) {
      return TopologySpread{key,
                            skew(),
                            dice_.chance(25) ? 1 + dice_.below(4) : 0,
                            dice_.chance(20),
                            dice_.chance(25),
                            kGroup};
    };
    if (dice_.chance(55)) pod.spread.push_back(rule(kZone));
    if (dice_.chance(55)) pod.spread.push_back(rule(kHost));
    if (pod.spread.size() == 2)
      pod.spread[1].any_node = pod.spread[1].any_node && !pod.spread[0].any_node;
    if (dice_.chance(20)) pod.near.push_back({dice_.chance(70) ? kZone : kHost, kGroup});
    if (dice_.chance(15)) pod.node_selector = {{"pool", "a"}};
    if (dice_.chance(50)) pod.tolerations = {{"t", "Exists", "", ""}};
    return pod;
  }

  GangRequest random_request() {
    GangRequest r;
    const bool two = dice_.chance(30);
    for (int g = 0; g < (two ? 2 : 1); ++g) {
      PodGroup group;
      group.count = static_cast<std::uint32_t>(1 + dice_.below(two ? 3 : 6));
      group.shape.kind = GpuKind::kWhole;
      group.shape.gpus = 1 + (dice_.chance(25) ? 1 : 0);
      group.shape = random_rules(group.shape);
      r.groups.push_back(group);
    }
    if (dice_.chance(20)) r.terms.topology = dice_.chance(60) ? Topology::kRack : Topology::kNode;
    const auto step = static_cast<std::uint32_t>(1 + dice_.below(3));
    if (r.terms.topology != Topology::kAny && dice_.chance(50) && r.pods() % step == 0)
      r.terms.segment = step;
    return r;
  }

  const PodShape& pod(std::uint32_t rank) const {
    std::uint32_t first = 0;
    for (const PodGroup& g : request_.groups) {
      if (rank < first + g.count) return g.shape;
      first += g.count;
    }
    std::abort();
  }

  const std::string* label(std::uint32_t id, const std::string& key) const {
    return eligibility::label(specs_.at(id), key);
  }

  bool together(const std::vector<std::uint32_t>& nodes) const {
    const std::size_t size = request_.terms.segment > 0 ? request_.terms.segment : nodes.size();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::uint32_t first = nodes[i / size * size];
      if (request_.terms.topology == Topology::kNode && nodes[i] != first) return false;
      if (request_.terms.topology == Topology::kRack &&
          specs_.at(nodes[i]).level(0) != specs_.at(first).level(0))
        return false;
    }
    return true;
  }

  static bool in_group(const PodShape& pod, std::int64_t group) {
    return std::any_of(pod.spread.begin(), pod.spread.end(),
                       [&](const TopologySpread& rule) { return rule.group == group; });
  }

  // The pods that the constraint counts, by domain. `only`: the pod's affinity names this node.
  std::map<std::string, std::int64_t> domains(const TopologySpread& rule, const PodShape& pod,
                                              const std::vector<Bound>& all,
                                              std::uint32_t only = 0) const {
    std::map<std::string, std::int64_t> out;
    for (const auto& [id, spec] : specs_) {
      bool counts = std::all_of(pod.spread.begin(), pod.spread.end(), [&](const TopologySpread& r) {
        return label(id, r.key) != nullptr;
      });
      if (!rule.any_node) {
        counts = counts && eligibility::matches_selector(pod.node_selector, spec) &&
                 (only == 0 || only == id);
      }
      if (rule.only_tolerated)
        counts = counts && eligibility::tolerates_all(pod.tolerations, spec.taints);
      if (!counts) continue;
      std::int64_t& pods = out[*label(id, rule.key)];
      for (const Bound& b : all) pods += b.node == id && in_group(*b.pod, rule.group) ? 1 : 0;
    }
    return out;
  }

  static std::int64_t fewest(const TopologySpread& rule,
                             const std::map<std::string, std::int64_t>& pods) {
    if (pods.empty() || std::cmp_less(pods.size(), rule.min_domains)) return 0;
    return std::min_element(pods.begin(), pods.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->second;
  }

  bool even(const TopologySpread& rule, const PodShape& pod, std::uint32_t node,
            const std::vector<Bound>& all) const {
    const auto pods = domains(rule, pod, all);
    const std::string* const here = label(node, rule.key);
    if (here == nullptr || !pods.contains(*here)) return false;
    if (pods.at(*here) > fewest(rule, pods) + rule.max_skew) return false;
    // What the scheduler sees of it once the node is fixed.
    const auto seen = domains(rule, pod, all, node);
    return rule.any_node || seen.at(*here) <= fewest(rule, seen) + rule.max_skew;
  }

  bool scheduler_takes(const PodShape& pod, std::uint32_t node,
                       const std::vector<Bound>& bound) const {
    return std::all_of(pod.spread.begin(), pod.spread.end(), [&](const TopologySpread& rule) {
      const std::string* const here = label(node, rule.key);
      if (here == nullptr) return false;
      const auto pods = domains(rule, pod, bound, node);
      const auto found = pods.find(*here);
      const std::int64_t there = found == pods.end() ? 0 : found->second;
      return there + 1 - fewest(rule, pods) <= rule.max_skew;
    });
  }

  bool put(std::vector<std::uint32_t>& nodes) {
    if (nodes.size() == request_.pods()) return good(nodes);
    const auto rank = static_cast<std::uint32_t>(nodes.size());
    for (const auto& [id, spec] : specs_) {
      // Pods that are alike may be in the order of their nodes.
      const bool alike = rank > 0 && request_.terms.segment == 0 && pod(rank) == pod(rank - 1);
      if (alike && id < nodes.back()) continue;
      std::int64_t used = 0;
      for (std::uint32_t r = 0; r < rank; ++r) used += nodes[r] == id ? pod(r).gpus : 0;
      if (used + pod(rank).gpus > free_.at(id)) continue;
      nodes.push_back(id);
      if (put(nodes)) return true;
      nodes.pop_back();
    }
    return false;
  }

  naive::Dice dice_;
  build::Site site_;
  std::map<std::uint32_t, NodeSpec> specs_;
  std::map<std::uint32_t, std::int64_t> free_;  // GPUs
  std::vector<Bound> others_;
  std::vector<std::unique_ptr<PodShape>> kept_;
  GangRequest request_;
};

TEST(PodRules, SmallFleets) {
  const char* const states = std::getenv("SUBAK_STATES");
  const std::uint64_t count = states == nullptr ? 20'000 : std::strtoull(states, nullptr, 10);
  std::uint64_t placed = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    SmallWorld world(seed);
    if (HasFatalFailure()) return;
    const auto found = world.find();
    if (!found) {
      ASSERT_FALSE(world.possible()) << "seed " << seed << ": " << to_text(world.request());
      ASSERT_FALSE(world.explain().empty());
      ++refused;
      continue;
    }
    const std::vector<std::uint32_t> nodes = build::nodes_of(found->slots);
    ++placed;
    ASSERT_TRUE(world.good(nodes)) << "seed " << seed << ": " << to_text(world.request());
    // If kinds of pods count all nodes for different constraints, some orders may suit neither.
    if (world.any_node_rules() > 1) continue;
    ASSERT_TRUE(world.bind_all(nodes)) << "seed " << seed << ": " << to_text(world.request());
  }
  EXPECT_GT(placed, count / 4);
  EXPECT_GT(refused, count / 10);
}

// A search that tries all nodes would give up here: only an even spread finds these placements.
TEST(PodRules, LargeGangs) {
  build::Site site;
  std::map<std::uint32_t, char> zone;
  for (std::uint32_t id = 1; id <= 300; ++id) {
    NodeSpec spec = build::node(id, 8);
    zone[id] = "xxyyyz"[id % 6];  // 100, 150 and 50 nodes
    spec.labels = {{kHost, spec.name}, {kZone, std::string(1, zone[id])}};
    build::add(site, id, spec);
  }
  GangRequest request = build::gang(900, 1);
  request.groups[0].shape.spread = {{kZone, 1, 0, false, false, kGroup},
                                    {kHost, 6, 0, false, false, kGroup}};
  std::map<std::uint32_t, std::int64_t> on_node;
  std::map<char, std::int64_t> in_zone;
  for (std::uint64_t job = 1; job <= 2; ++job) {
    const bool fits = job == 1;
    // Zone z has 400 GPUs. The first gang takes 300 of each zone, and 100 are left there.
    if (!fits) request.groups[0].count = 303;
    const auto slots = build::start(site, job, request);
    ASSERT_EQ(slots.size(), fits ? 900U : 0U) << job;
    for (const PodSlot& slot : slots) ++on_node[slot.node.value], ++in_zone[zone[slot.node.value]];
  }
  EXPECT_EQ(in_zone, (std::map<char, std::int64_t>{{'x', 300}, {'y', 300}, {'z', 300}}));
  for (const auto& [node, pods] : on_node) EXPECT_LE(pods, 6 + 2);
  request.groups[0].count = 300;
  EXPECT_EQ(build::start(site, 3, request).size(), 300U);
}

}  // namespace
}  // namespace subak
