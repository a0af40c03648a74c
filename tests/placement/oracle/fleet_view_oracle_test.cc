// Whatever is asked of a picture is answered as a real fleet would answer to which the same was
// really done. The second fleet is made anew each time, from the list of all that was done to the
// first, and asked with a search that has seen nothing yet.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "naive_fleet.h"
#include "placement/search/search.h"
#include "random_world.h"
#include "tests/placement/keeping_fleet.h"

namespace subak {
namespace {

using naive::Dice;

constexpr std::uint32_t kNodes = 40;
constexpr int kSteps = 500;
const ClusterId kCluster(1);
const JobId kOwner(kCluster, 999'999), kOther(kCluster, 999'998);

// A fleet made by doing to it what was done to another.
using Deed = std::function<void(KeepingFleet&)>;

struct Second {
  KeepingFleet fleet;
  ReservedNodes kept;
  std::unique_ptr<Search> search = std::make_unique<Search>(fleet);
  FleetView now() const { return FleetView(fleet, kept); }
};

class Pair {
 public:
  explicit Pair(std::uint64_t seed) : dice_(seed), depth_(seed % 4) {
    for (std::uint32_t id = 1; id <= kNodes; ++id) set_node(id);
    if (seed > 4) do_it([](Fleet& f) { f.set_gpu_headroom({3000, std::int64_t{1} << 30}); });
    set_rules();
  }

  void step(int n) {
    ++now_;
    const std::int64_t what = dice_.below(100);
    if (what < 62) {
      submit();
    } else if (what < 90) {
      if (!running_.empty()) end_one();
    } else if (what < 91) {
      set_rules();
    } else if (what < 97) {
      set_node(static_cast<std::uint32_t>(1 + dice_.below(kNodes)));
    } else {
      const NodeId id(static_cast<std::uint32_t>(1 + dice_.below(kNodes)));
      do_it([id, now = now_](Fleet& f) { f.remove_node(id, now); });
    }
    if (n % 5 == 0) as_it_is();
    if (n % 5 == 1) with_allocations_gone();
    if (n % 5 == 2) with_kept_cliques();
    if (n % 5 == 3) side_by_side();
  }

  int found = 0, found_by_going = 0;

 private:
  void do_it(Deed deed) {
    deed(fleet_);
    deeds_.push_back(std::move(deed));
  }

  void set_node(std::uint32_t id) {
    const NodeSpec spec = naive::random_node(dice_, id, depth_);
    const bool drained = dice_.chance(4);
    const ClusterId cluster(id % 7 == 0 ? 2 : 1);
    do_it([=, now = now_](Fleet& f) { f.set_node(NodeId(id), cluster, spec, drained, now); });
  }

  void set_rules() {
    const DomainRules rules{static_cast<std::uint32_t>(dice_.below(3)),
                            static_cast<std::uint32_t>(dice_.below(3))};
    rules_ = rules;
    do_it([rules](Fleet& f) { f.set_domain_rules(rules); });
  }

  ShapeId intern(const GangRequest& request) {
    ShapeId id;
    do_it([&id, request](KeepingFleet& f) { id = f.intern(kCluster, request); });
    deeds_.back() = [request](KeepingFleet& f) { f.intern(kCluster, request); };
    return id;
  }

  // Now and then a gang that wants a clique of several nodes for itself, which chance seldom makes.
  ShapeId random_shape() {
    if (!dice_.chance(8)) return intern(naive::random_request(dice_, dice_.chance(20)));
    GangRequest r;
    r.groups.emplace_back();
    r.groups[0].count = static_cast<std::uint32_t>(2 + dice_.below(2));
    r.groups[0].shape.kind = GpuKind::kWhole;
    r.groups[0].shape.gpus = 3 + dice_.below(2);
    r.terms.topology = Topology::kNvlinkExclusive;
    return intern(r);
  }

  void submit() {
    const ShapeId shape = random_shape();
    const auto placement = search_.find(FleetView(fleet_), shape);
    if (!placement) return;
    const JobId job(kCluster, ++jobs_);
    for (std::uint32_t rank = 0; rank < placement->slots.size(); ++rank) {
      const Allocation a{shape, rank, placement->slots[rank], job};
      do_it([a, now = now_](Fleet& f) { f.take(a.shape, a.rank, a.slot, a.owner, now); });
      running_.push_back(a);
    }
  }

  // One pod, or the whole job.
  void end_one() {
    const JobId job = running_[some()].owner;
    const bool whole = dice_.chance(80);
    std::vector<Allocation> gone;
    for (const Allocation& a : running_) {
      if (a.owner == job && (whole || gone.empty())) gone.push_back(a);
    }
    for (const Allocation& a : gone) {
      std::erase(running_, a);
      do_it([a, now = now_](Fleet& f) { give(f, a, now); });
    }
  }

  static void give(Fleet& f, const Allocation& a, TimeMs now) {
    f.give(a.shape, a.rank, a.slot, a.owner, now);
  }

  std::size_t some() {
    return static_cast<std::size_t>(dice_.below(static_cast<std::int64_t>(running_.size())));
  }

  std::unique_ptr<Second> second() const {
    auto out = std::make_unique<Second>();
    for (const Deed& deed : deeds_) deed(out->fleet);
    return out;
  }

  // What no question may change: the version, and the books of a moment later, which say what is
  // held now.
  std::pair<std::uint64_t, std::vector<NodeBooks>> state() {
    fleet_.check_invariants();
    search_.check_invariants();
    std::vector<NodeBooks> books;
    for (std::uint32_t id = 1; id <= kNodes; ++id)
      books.push_back(fleet_.books(NodeId(id), now_ + 1));
    return {fleet_.version(), std::move(books)};
  }

  // All questions, in both.
  void same(Search& search, const FleetView& fleet_view, Second& second, ShapeId shape,
            JobId owner) {
    const auto before = state();
    const FleetView now = second.now();
    const std::string asked = to_text(fleet_.request(shape));
    const auto placement = search.find(fleet_view, shape, owner);
    ASSERT_EQ(placement, second.search->find(now, shape, owner)) << asked;
    ASSERT_EQ(search.explain(fleet_view, shape, owner), second.search->explain(now, shape, owner))
        << asked;
    ASSERT_EQ(search.drain_set(fleet_view, shape), second.search->drain_set(now, shape)) << asked;
    ASSERT_EQ(search.fits_empty_fleet(shape), second.search->fits_empty_fleet(shape)) << asked;
    ASSERT_EQ(fleet_.least_milligpu(shape), second.fleet.least_milligpu(shape)) << asked;
    ASSERT_TRUE(state() == before) << asked;
    found += placement.has_value();
  }

  // What was asked before, and what came of it, decides nothing.
  void as_it_is() {
    const ShapeId shape = random_shape();
    const auto other = second();
    same(search_, FleetView(fleet_), *other, shape, kOther);
    same(search_, FleetView(fleet_), *other, shape, kOther);
  }

  std::vector<Allocation> some_running() {
    std::vector<Allocation> gone, pool = running_;
    const std::int64_t jobs = 1 + dice_.below(6);
    for (std::int64_t i = 0; i < jobs && !pool.empty(); ++i) {
      const auto at = static_cast<std::size_t>(dice_.below(static_cast<std::int64_t>(pool.size())));
      const JobId job = pool[at].owner;
      const bool whole = dice_.chance(70);
      for (const Allocation& a : pool) {
        if (a.owner == job && (whole || a == pool[at])) gone.push_back(a);
      }
      std::erase_if(pool, [&](const Allocation& a) { return a.owner == job; });
    }
    return gone;
  }

  void with_allocations_gone() {
    const std::vector<Allocation> gone = some_running();
    std::vector<ShapeId> shapes;
    for (int i = 0; i < 4; ++i) shapes.push_back(random_shape());
    if (!gone.empty()) shapes.push_back(gone.front().shape);
    const auto other = second();
    for (const Allocation& a : gone) give(other->fleet, a, now_);
    // At once, or one after the other.
    auto fleet_view = FleetView(fleet_).without(gone);
    if (dice_.chance(50)) {
      fleet_view = FleetView(fleet_);
      for (const Allocation& a : gone) fleet_view = fleet_view->without(std::span(&a, 1));
    }
    ASSERT_TRUE(fleet_view.ok()) << fleet_view.error().message();
    for (const ShapeId shape : shapes) {
      const bool now = search_.find(FleetView(fleet_), shape).has_value();
      ASSERT_NO_FATAL_FAILURE(same(search_, *fleet_view, *other, shape, kOther));
      const bool then = search_.find(*fleet_view, shape).has_value();
      found_by_going += !now && then;
      // The question of another picture has not spoiled the answer of this one.
      ASSERT_EQ(search_.find(FleetView(fleet_), shape).has_value(), now);
    }
  }

  // Whole cliques and lone nodes, as a cordoned node counts no more for how full its clique is, and
  // a kept one does. The second fleet has cordoned them, but not for the owner.
  void with_kept_cliques() {
    if (rules_.keep_whole > 0) return;  // cordoned, others are left to gangs
    ReservedNodes kept;
    std::vector<NodeId> nodes;
    for (const NodeId id : fleet_.nodes(kCluster)) {
      if (dice_.chance(15)) nodes.push_back(id);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string clique = fleet_.node(nodes[i])->clique;
      for (const NodeId id : fleet_.nodes(kCluster)) {
        const bool known = std::find(nodes.begin(), nodes.end(), id) != nodes.end();
        if (!clique.empty() && fleet_.node(id)->clique == clique && !known) nodes.push_back(id);
      }
    }
    kept.reserve(nodes, kOwner);
    const ShapeId shape = random_shape();
    const auto cordoned = second(), open = second();
    for (const NodeId id : nodes) {
      const NodeSpec spec = *cordoned->fleet.node(id);
      cordoned->fleet.set_node(id, kCluster, spec, /*drained=*/true, now_);
    }
    const std::string asked = to_text(fleet_.request(shape));
    const FleetView fleet_view(fleet_, kept);
    ASSERT_EQ(search_.find(fleet_view, shape, kOther),
              cordoned->search->find(cordoned->now(), shape, kOther))
        << asked;
    ASSERT_EQ(search_.find(fleet_view, shape, kOwner),
              open->search->find(open->now(), shape, kOwner))
        << asked;
    ASSERT_EQ(search_.drain_set(fleet_view, shape),
              cordoned->search->drain_set(cordoned->now(), shape))
        << asked;
    // Once nothing is kept any more, it is as if nothing ever was.
    ASSERT_EQ(search_.find(FleetView(fleet_), shape, kOther),
              open->search->find(open->now(), shape, kOther))
        << asked;
  }

  // Two searches in turn, one with nothing to remember, on two pictures.
  void side_by_side() {
    const std::vector<Allocation> gone = some_running();
    const ShapeId a = random_shape(), b = random_shape();
    const auto now = second(), then = second();
    for (const Allocation& g : gone) give(then->fleet, g, now_);
    const auto fleet_view = FleetView(fleet_).without(gone);
    Search beside(fleet_);
    for (const ShapeId shape : {a, b, a}) {
      ASSERT_NO_FATAL_FAILURE(same(search_, FleetView(fleet_), *now, shape, kOther));
      ASSERT_NO_FATAL_FAILURE(same(beside, *fleet_view, *then, shape, kOther));
      ASSERT_NO_FATAL_FAILURE(same(search_, *fleet_view, *then, shape, kOther));
      ASSERT_NO_FATAL_FAILURE(same(beside, FleetView(fleet_), *now, shape, kOther));
    }
  }

  Dice dice_;
  const std::size_t depth_;  // levels that nodes may name
  KeepingFleet fleet_;
  DomainRules rules_;  // of fleet_
  Search search_{fleet_};
  TimeMs now_ = 0;
  std::uint64_t jobs_ = 0;
  std::vector<Deed> deeds_;
  std::vector<Allocation> running_;
};

class FleetViewOracle : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(FleetViewOracle, AnswersAsTheRealFleetWould) {
  Pair pair(GetParam());
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_NO_FATAL_FAILURE(pair.step(step)) << "seed " << GetParam() << " step " << step;
  }
  EXPECT_GT(pair.found, kSteps / 5);
  EXPECT_GT(pair.found_by_going, kSteps / 50);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FleetViewOracle, ::testing::Values(1, 2, 3, 4, 5));

}  // namespace
}  // namespace subak
