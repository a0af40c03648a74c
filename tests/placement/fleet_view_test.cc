// Pictures by hand: what without() takes away, what it refuses, and how long a picture is good.
#include <gtest/gtest.h>

#include <thread>

#include "builders.h"
#include "core/limits.h"

namespace subak {
namespace {

using namespace build;
using Ids = std::vector<std::uint32_t>;

std::vector<Allocation> allocations(KeepingFleet& f, std::uint64_t id, const GangRequest& r,
                                    const std::vector<PodSlot>& slots) {
  std::vector<Allocation> out;
  const ShapeId shape = f.intern(kCluster, r);
  for (std::uint32_t rank = 0; rank < slots.size(); ++rank) {
    out.push_back({shape, rank, slots[rank], job(id)});
  }
  return out;
}

Ids where_in(Site& f, const FleetView& fleet_view, const GangRequest& r) {
  const auto placement = f.search.find(fleet_view, f.intern(kCluster, r));
  return placement ? nodes_of(placement->slots) : Ids{};
}

TEST(FleetView, WithoutAnAllocationItsPlaceIsFree) {
  Site f;
  for (std::uint32_t i = 1; i <= 2; ++i) add(f, i, node(i, 8));
  const auto first = start(f, 1, gang(1, 8)), second = start(f, 2, gang(1, 8));
  const auto gone = allocations(f, 2, gang(1, 8), second);
  const auto without = f.now().without(gone);
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(where_in(f, *without, gang(1, 8)), Ids{2});
  EXPECT_EQ(where_in(f, *without, gang(2, 8)), Ids{});
  EXPECT_EQ(where_in(f, f.now(), gang(1, 8)), Ids{});
  const auto neither = without->without(allocations(f, 1, gang(1, 8), first));
  ASSERT_TRUE(neither.ok());
  EXPECT_EQ(where_in(f, *neither, gang(2, 8)), (Ids{1, 2}));
  EXPECT_EQ(f.levels(NodeId(2)).allocated, 8000);
}

TEST(FleetView, NodesBeforeThoseThatDifferAreAsTheyAre) {
  Site f;
  for (std::uint32_t i = 1; i <= 3; ++i) add(f, i, node(i, 8));
  const auto first = start(f, 1, gang(1, 8));
  start(f, 2, gang(1, 8));
  const auto third = start(f, 3, gang(1, 8));
  stop(f, 1, gang(1, 8), first);
  const auto without = f.now().without(allocations(f, 3, gang(1, 8), third));
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(where_in(f, *without, gang(2, 8)), (Ids{1, 3}));
  EXPECT_EQ(where_in(f, *without, gang(3, 8)), Ids{});
}

// What is held on a node that does not differ is held in the picture.
TEST(FleetView, GpusOfOtherNodesAreTakenAsTheyAre) {
  Site f;
  for (std::uint32_t i = 1; i <= 2; ++i) add(f, i, node(i, 8));
  const auto half = start(f, 1, gang(1, 4)), all = start(f, 2, gang(1, 8));
  ASSERT_EQ(nodes_of(half), Ids{1});
  ASSERT_EQ(nodes_of(all), Ids{2});
  const auto without = f.now().without(allocations(f, 2, gang(1, 8), all));
  ASSERT_TRUE(without.ok());
  const auto place = f.search.find(*without, f.intern(kCluster, gang(1, 4)));
  ASSERT_TRUE(place);
  EXPECT_EQ(nodes_of(place->slots), Ids{1}) << "the fragment";
  EXPECT_EQ(place->slots[0].gpu_mask & half[0].gpu_mask, 0u);
}

TEST(FleetView, ACliqueBeforeOneThatDiffersIsAsItIs) {
  Site f;
  for (std::uint32_t i = 1; i <= 6; ++i) add(f, i, node(i, 4, i <= 3 ? "a" : "b"));
  const GangRequest alone = gang(2, 4, Topology::kNvlinkExclusive);
  const auto one = start(f, 1, alone), other = start(f, 2, alone);
  ASSERT_FALSE(one.empty() || other.empty());
  EXPECT_EQ(where_in(f, f.now(), gang(1, 4)), Ids{}) << "both cliques are kept";
  const bool a_goes = nodes_of(one)[0] <= 3;
  const auto gone = allocations(f, a_goes ? 2 : 1, alone, a_goes ? other : one);  // that in b
  const auto without = f.now().without(gone);
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(where_in(f, *without, gang(3, 4)), (Ids{4, 5, 6}));
  EXPECT_EQ(where_in(f, *without, gang(4, 4)), Ids{});
}

// Of gangs with a ComputeDomain one is in a clique.
TEST(FleetView, AComputeDomainIsGoneWithItsGang) {
  Site f;
  for (std::uint32_t i = 1; i <= 4; ++i) add(f, i, node(i, 4, "a"));
  GangRequest computes = gang(2, 4, Topology::kNvlink);
  computes.terms.compute_domain = true;
  const auto slots = start(f, 1, computes);
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(where_in(f, f.now(), computes), Ids{});
  EXPECT_EQ(where_in(f, f.now(), gang(2, 4)).size(), 2u);
  const auto half = f.now().without(std::vector{allocations(f, 1, computes, slots)[0]});
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(where_in(f, *half, computes), Ids{});
  const auto without = f.now().without(allocations(f, 1, computes, slots));
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(where_in(f, *without, computes), (Ids{1, 2}));
}

// The gang in the first clique is still there, though that in the second is gone.
TEST(FleetView, AComputeDomainElsewhereStays) {
  Site f;
  for (std::uint32_t i = 1; i <= 8; ++i) add(f, i, node(i, 4, i <= 4 ? "a" : "b"));
  GangRequest computes = gang(2, 4, Topology::kNvlink);
  computes.terms.compute_domain = true;
  const auto one = start(f, 1, computes), other = start(f, 2, computes);
  ASSERT_FALSE(one.empty() || other.empty());
  EXPECT_EQ(where_in(f, f.now(), computes), Ids{});
  const bool is_in_a = nodes_of(one)[0] <= 4;
  const auto gone = allocations(f, is_in_a ? 2 : 1, computes, is_in_a ? other : one);  // that in b
  const auto without = f.now().without(gone);
  ASSERT_TRUE(without.ok());
  const Ids place = where_in(f, *without, computes);
  ASSERT_EQ(place.size(), 2u);
  EXPECT_GE(place[0], 5u);
  EXPECT_GE(place[1], 5u);
}

// What has failed in the fleet as it is says nothing of a picture, and the other way about.
TEST(FleetView, WhatFailedInOneIsTriedInAnother) {
  Site f;
  add(f, 1, node(1, 8));
  const auto slots = start(f, 1, gang(1, 8));
  const auto gone = allocations(f, 1, gang(1, 8), slots);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(where_in(f, f.now(), gang(1, 4)), Ids{});
    EXPECT_EQ(where_in(f, *f.now().without(gone), gang(1, 4)), Ids{1});
    EXPECT_EQ(where_in(f, *f.now().without(gone), gang(1, 9)), Ids{});
  }
}

// A clique that becomes empty in a picture is left to gangs there, as one that is empty in the fleet.
TEST(FleetView, ACliqueThatIsEmptiedIsLeftToGangs) {
  Site f;
  DomainRules rules;
  rules.keep_whole = 1;
  f.set_domain_rules(rules);
  for (std::uint32_t i = 1; i <= 4; ++i) add(f, i, node(i, 8, i <= 2 ? "a" : "b"));
  const GangRequest pair = gang(2, 8, Topology::kNvlink);
  const auto in_b =
      start(f, 1, pair);  // the clique whose first node has the highest id stays whole
  const auto first = start(f, 2, gang(1, 8)), second = start(f, 3, gang(1, 8));
  ASSERT_EQ(nodes_of(in_b), (Ids{1, 2}));
  ASSERT_TRUE(first.empty()) << "the other clique is left to gangs";
  const auto there = start(f, 4, pair);
  ASSERT_EQ(nodes_of(there), (Ids{3, 4}));
  const auto one = f.now().without(allocations(f, 1, pair, in_b));
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(where_in(f, *one, gang(1, 8)), Ids{}) << "its clique is left to gangs";
  EXPECT_EQ(where_in(f, *one, pair), (Ids{1, 2}));
  const auto both = one->without(allocations(f, 4, pair, there));
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(where_in(f, *both, gang(1, 8)), Ids{1}) << "one clique is left to gangs, not both";
  const auto half = f.now().without(std::vector{allocations(f, 1, pair, in_b)[0]});
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(where_in(f, *half, gang(1, 8)), Ids{1}) << "it is not empty";
}

// A third of what the clique holds is gone, and what is left on that node is as much.
TEST(FleetView, ACliqueThatStillHoldsSomethingIsNotLeftToGangs) {
  Site f;
  for (std::uint32_t i = 1; i <= 2; ++i) add(f, i, node(i, 8, "a"));
  const auto first = start(f, 1, gang(1, 4)), second = start(f, 2, gang(1, 4));
  ASSERT_EQ(nodes_of(first), nodes_of(second));
  const auto third = start(f, 3, gang(1, 4));
  DomainRules rules;
  rules.keep_whole = 1;
  f.set_domain_rules(rules);
  const auto without = f.now().without(allocations(f, 1, gang(1, 4), first));
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(where_in(f, *without, gang(2, 4)).size(), 2u);
  EXPECT_EQ(where_in(f, *without, gang(1, 4)).size(), 1u);
  const auto none = without->without(allocations(f, 2, gang(1, 4), second))
                        ->without(allocations(f, 3, gang(1, 4), third));
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(where_in(f, *none, gang(1, 4)), Ids{}) << "it is empty";
}

TEST(FleetView, NodesToSpareAreChosenAnewInIt) {
  Site f;
  for (std::uint32_t i = 1; i <= 4; ++i) add(f, i, node(i, 4, "a"));
  GangRequest r = gang(2, 4, Topology::kNvlink);
  r.terms.spare = 1;
  const auto reserved_for = start(f, 1, r);
  const auto headroom = start(f, 2, gang(1, 4));
  EXPECT_EQ(where_in(f, f.now(), gang(1, 1)), Ids{});
  const auto without = f.now().without(allocations(f, 2, gang(1, 4), headroom));
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(where_in(f, *without, gang(1, 4)), Ids{3});
  EXPECT_EQ(where_in(f, *without, gang(2, 4)), Ids{});
  const auto neither = without->without(allocations(f, 1, r, reserved_for));
  ASSERT_TRUE(neither.ok());
  EXPECT_EQ(where_in(f, *neither, gang(4, 4)), (Ids{1, 2, 3, 4}));
}

TEST(FleetView, AnExclusiveDomainIsFreeWhenAllOfItsGangIsGone) {
  Site f;
  for (std::uint32_t i = 1; i <= 3; ++i) add(f, i, node(i, 4, "a"));
  const GangRequest alone = gang(2, 4, Topology::kNvlinkExclusive);
  const auto all = allocations(f, 1, alone, start(f, 1, alone));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(where_in(f, *f.now().without(std::span(all).first(1)), gang(1, 4)), Ids{});
  EXPECT_EQ(where_in(f, *f.now().without(all), gang(3, 4)), (Ids{1, 2, 3}));
  // Also for another gang that wants the clique for itself.
  EXPECT_EQ(where_in(f, f.now(), alone), Ids{});
  EXPECT_EQ(where_in(f, *f.now().without(std::span(all).last(1)), alone), Ids{});
  EXPECT_EQ(where_in(f, *f.now().without(all), alone), (Ids{1, 2}));
}

TEST(FleetView, KeptNodesStayKept) {
  Site f;
  add(f, 1, node(1, 8));
  const auto gone = allocations(f, 1, gang(1, 8), start(f, 1, gang(1, 8)));
  const std::vector<NodeId> nodes = {NodeId(1)};
  f.reserved.reserve(nodes, job(7));
  const auto without = f.now().without(gone);
  EXPECT_EQ(where_in(f, *without, gang(1, 8)), Ids{});
  const ShapeId shape = f.intern(kCluster, gang(1, 8));
  EXPECT_TRUE(f.search.find(*without, shape, job(7)));
  const auto reasons = f.search.explain(*without, shape, job(8));
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons.back().token, ReasonToken::kReservedForOther);
  EXPECT_EQ(reasons.back().blockers, std::vector<std::string>{"1-7"});
}

TEST(FleetView, WhatIsNotHeldCannotBeGone) {
  Site f;
  add(f, 1, node(1, 8));
  const auto held = allocations(f, 1, gang(1, 4), start(f, 1, gang(1, 4)));
  const auto refused = [&](const std::vector<Allocation>& gone) {
    const auto p = f.now().without(gone);
    return p.ok() ? "" : p.error().field;
  };
  EXPECT_EQ(refused(held), "");
  EXPECT_EQ(refused({held[0], held[0]}), "gone[1]");
  EXPECT_FALSE(f.now().without(held)->without(held).ok());
  Allocation other = held[0];
  other.owner = job(2);
  EXPECT_EQ(refused({other}), "gone[0]");
  other = held[0];
  other.rank = 1;
  EXPECT_EQ(refused({other}), "gone[0]");
  other = held[0];
  other.slot.node = NodeId(99);
  EXPECT_EQ(refused({other}), "gone[0]");
  EXPECT_EQ(f.now().without(std::vector{other}).error().code, ErrorCode::kNotFound);
}

TEST(FleetView, IsBounded) {
  Site f;
  const auto most = static_cast<std::uint32_t>(limits::kMaxFleetViewNodes);
  const ShapeId shape = f.intern(kCluster, gang(1, 1));
  std::vector<Allocation> gone;
  for (std::uint32_t i = 1; i <= most + 1; ++i) {
    add(f, i, node(i, 1));
    gone.push_back({shape, 0, {NodeId(i), 1, 1000}, job(i)});
    f.take(shape, 0, gone.back().slot, job(i), 0);
  }
  const auto at = f.now().without(std::span(gone).first(most));
  ASSERT_TRUE(at.ok());
  EXPECT_EQ(where_in(f, *at, gang(1, 1)), Ids{1});
  const auto beyond = f.now().without(gone);
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(at->without(std::span(gone).last(1)).error().code, ErrorCode::kExhausted);
}

TEST(FleetView, IsStaleOnceAnythingChanges) {
  Site f;
  add(f, 1, node(1, 8));
  const FleetView before = f.now();
  EXPECT_TRUE(before.current());
  f.intern(kCluster, gang(1, 1));
  EXPECT_TRUE(before.current());
  const std::vector<NodeId> nodes = {NodeId(1)};
  f.reserved.reserve(nodes, job(7));
  EXPECT_FALSE(before.current());
  const FleetView after = f.now();
  start(f, 7, gang(1, 1));
  EXPECT_FALSE(after.current());
  EXPECT_TRUE(f.now().current());
}

TEST(FleetView, ThreadsMayReadOneFleet) {
  Site f;
  for (std::uint32_t i = 1; i <= 50; ++i) add(f, i, node(i, 8, "c" + std::to_string(i / 4)));
  for (std::uint64_t j = 1; j <= 30; ++j) start(f, j, gang(1, 1 + static_cast<int>(j % 8)));
  const ShapeId shape = f.intern(kCluster, gang(6, 4, Topology::kNvlink, 2));
  const auto want = f.find(shape);
  ASSERT_TRUE(want);
  const auto read = [&f, shape, &want] {
    Search search(f);
    for (int i = 0; i < 200; ++i) ASSERT_EQ(search.find(FleetView(f), shape), want);
  };
  std::thread one(read), two(read);
  one.join();
  two.join();
}

}  // namespace
}  // namespace subak
