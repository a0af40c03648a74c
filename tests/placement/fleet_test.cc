#include "placement/fleet/fleet.h"

#include <gtest/gtest.h>

#include "builders.h"
#include "placement/fleet/queries.h"
#include "placement/search/pod_room.h"

namespace subak {
namespace {

using namespace build;
using Ids = std::vector<std::uint32_t>;

TEST(FleetNodes, SeenChangedAndGone) {
  Site f;
  EXPECT_EQ(f.node(NodeId(1)), nullptr);
  add(f, 1, node(1, 8));
  add(f, 3, node(3, 4));
  f.set_node(NodeId(2), ClusterId(2), node(2, 8), true, 0);
  ASSERT_NE(f.node(NodeId(1)), nullptr);
  EXPECT_EQ(f.node(NodeId(1))->gpus, 8);
  EXPECT_EQ(f.nodes(kCluster), (std::vector<NodeId>{NodeId(1), NodeId(3)}));
  EXPECT_EQ(f.cluster_of(NodeId(2)), ClusterId(2));
  EXPECT_TRUE(f.drained(NodeId(2)));
  EXPECT_FALSE(f.drained(NodeId(9)));
  f.remove_node(NodeId(1), 5);
  f.remove_node(NodeId(9), 5);
  EXPECT_EQ(f.node(NodeId(1)), nullptr);
  EXPECT_EQ(f.products().name(f.product_of(NodeId(1))), "NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(f.nodes(kCluster), std::vector<NodeId>{NodeId(3)});
  f.check_invariants();
}

TEST(FleetNodes, ProductsAreInterned) {
  Site f;
  EXPECT_EQ(f.intern_product(""), ProductId());
  EXPECT_EQ(f.intern_product("gpu"), ProductId());
  const ProductId a = f.intern_product("A"), b = f.intern_product("B");
  EXPECT_NE(a, b);
  EXPECT_EQ(f.intern_product("A"), a);
  EXPECT_EQ(f.products().name(b), "B");
  EXPECT_EQ(f.products().name(ProductId()), "gpu");
}

TEST(FleetNodes, FreedVersionMovesWhenSomethingMayFit) {
  Site f;
  const auto v0 = f.freed_version();
  add(f, 1, node(1, 8));
  const auto v1 = f.freed_version();
  EXPECT_GT(v1, v0);
  add(f, 1, node(1, 8));  // nothing changed
  EXPECT_EQ(f.freed_version(), v1);
  const auto slots = start(f, 1, gang(1, 2));
  EXPECT_EQ(f.freed_version(), v1);
  stop(f, 1, gang(1, 2), slots);
  EXPECT_GT(f.freed_version(), v1);
}

TEST(FleetNodes, ShrinkingWorldIsOverAllocatedNotNegative) {
  Site f;
  add(f, 1, node(1, 8));
  const auto slots = start(f, 1, gang(1, 6));
  EXPECT_FALSE(over_allocated(f, NodeId(1)));
  add(f, 1, node(1, 4), 10);
  EXPECT_TRUE(over_allocated(f, NodeId(1)));
  EXPECT_EQ(f.levels(NodeId(1)).idle, 0);
  EXPECT_EQ(f.levels(NodeId(1)).unusable, 0);
  EXPECT_EQ(f.levels(NodeId(1)).overcommitted, 2000);
  EXPECT_EQ(f.totals().front().milligpu.overcommitted, 2000);
  EXPECT_EQ(f.totals().front().milligpu.unusable, 0);
  EXPECT_TRUE(where(f, gang(1, 1)).empty());
  f.check_invariants();
  stop(f, 1, gang(1, 6), slots, 20);
  EXPECT_FALSE(over_allocated(f, NodeId(1)));
  EXPECT_EQ(where(f, gang(1, 4)), Ids{1});
}

TEST(FleetNodes, SlotsOutliveTheirNode) {
  Site f;
  add(f, 1, node(1, 8));
  const auto slots = start(f, 1, gang(2, 4));
  f.remove_node(NodeId(1), 10);
  EXPECT_TRUE(over_allocated(f, NodeId(1)));
  f.check_invariants();
  stop(f, 1, gang(2, 4), slots, 20);
  EXPECT_EQ(f.levels(NodeId(1)).allocated, 0);
  EXPECT_FALSE(over_allocated(f, NodeId(1)));
}

// One pod, placed.
Allocation held_by(Site& f, std::uint64_t id, std::int64_t gpus) {
  const std::vector<PodSlot> slots = start(f, id, gang(1, gpus));
  return {f.shapes().find(kCluster, gang(1, gpus)), 0, slots.front(), job(id)};
}

TEST(FleetHolds, WhoseRoomAnotherTook) {
  Site f;
  add(f, 1, node(1, 8));
  const Allocation first = held_by(f, 1, 4);
  const Allocation second = held_by(f, 2, 2);
  EXPECT_TRUE(has_room_there(f, first));
  f.take(first.shape, 0, adopt_slot(f, first.shape, 0, NodeId(1)), job(3), 0);
  EXPECT_FALSE(has_room_there(f, first));
  EXPECT_FALSE(has_room_there(f, second));
  f.give(second.shape, 0, second.slot, second.owner, 0);
  EXPECT_TRUE(has_room_there(f, first));
}

// Which GPUs went nobody says, so it is all the same who was said to be on them.
TEST(FleetHolds, WhoseGpusWent) {
  Site f;
  add(f, 1, node(1, 8));
  const Allocation low = held_by(f, 1, 4);
  const Allocation high = held_by(f, 2, 4);
  add(f, 1, node(1, 4), 10);
  EXPECT_FALSE(has_room_there(f, low));
  EXPECT_FALSE(has_room_there(f, high));
  f.give(high.shape, 0, high.slot, high.owner, 20);
  EXPECT_TRUE(has_room_there(f, low));
}

TEST(FleetHolds, ForeignPodsMayOvercommit) {
  Site f;
  add(f, 1, node(1, 2));
  const ShapeId two = f.intern(kCluster, gang(1, 2));
  start(f, 1, gang(1, 1));
  EXPECT_TRUE(where(f, gang(1, 2)).empty());
  const PodSlot slot = adopt_slot(f, two, 0, NodeId(1));
  EXPECT_EQ(slot, (PodSlot{NodeId(1), 0x2, 2000}));  // one GPU is known, the other is not
  f.take(two, 0, slot, job(2), 0);
  EXPECT_TRUE(over_allocated(f, NodeId(1)));
  f.check_invariants();
  f.give(two, 0, slot, job(2), 0);
  EXPECT_FALSE(over_allocated(f, NodeId(1)));
  EXPECT_EQ(where(f, gang(1, 1)), Ids{1});
  f.check_invariants();
}

TEST(FleetHolds, GpusHeldWithoutAnIndexAreNotGivenOut) {
  Site f;
  add(f, 1, node(1, 4));
  const ShapeId three = f.intern(kCluster, gang(1, 3));
  f.take(three, 0, {NodeId(1), 0, 3000}, job(1), 0);
  EXPECT_EQ(where(f, gang(1, 1)), Ids{1});
  EXPECT_TRUE(where(f, gang(1, 2)).empty());
  EXPECT_EQ(f.levels(NodeId(1)).idle, 1000);
  f.check_invariants();
}

TEST(FleetHolds, AdoptingIsNeverRefused) {
  Site f;
  NodeSpec s = node(1, 8);
  add(f, 1, s);
  const ShapeId one = f.intern(kCluster, gang(1, 1));
  EXPECT_EQ(adopt_slot(f, one, 0, NodeId(1)), (PodSlot{NodeId(1), 0x1, 1000}));
  EXPECT_EQ(adopt_slot(f, one, 0, NodeId(2)), (PodSlot{NodeId(2), 0, 0}));
  s.unschedulable = true;
  add(f, 1, s);
  EXPECT_TRUE(where(f, gang(1, 1)).empty());
  EXPECT_EQ(adopt_slot(f, one, 0, NodeId(1)), (PodSlot{NodeId(1), 0x1, 1000}));
}

TEST(FleetHolds, UnhealthyGpusAreNotGivenOut) {
  Site f;
  NodeSpec s = node(1, 8);
  s.unhealthy_gpus = 2;
  add(f, 1, s);
  EXPECT_TRUE(where(f, gang(1, 7)).empty());
  const auto slots = start(f, 1, gang(1, 6));
  ASSERT_EQ(slots.size(), 1u);
  EXPECT_EQ(slots[0].gpu_mask, 0x3fu);
  EXPECT_EQ(f.levels(NodeId(1)).unusable, 2000);
  // As the kubelet counts: 8 - 2 - 6 = 0 whichever GPU it was.
  s.unhealthy_gpus = 3;
  add(f, 1, s);
  EXPECT_EQ(f.levels(NodeId(1)).unusable, 2000);
  EXPECT_EQ(f.levels(NodeId(1)).idle, 0);
}

GangRequest fraction(MilliGpu milligpu) {
  GangRequest r = gang(1, 1);
  r.groups[0].shape.kind = GpuKind::kFraction;
  r.groups[0].shape.milligpu = milligpu;
  return r;
}

// 700 + 700 on two GPUs, one of which is then unhealthy: nobody knows which. The scheduler sees an
// allocatable of 1000 with 1400 requested, and binds nothing more there; so nothing is put there.
TEST(FleetHolds, WhoIsOnAnUnhealthyGpuCountsAgainstTheHealthyOnes) {
  Site f;
  NodeSpec s = node(1, 2);
  add(f, 1, s);
  ASSERT_EQ(start(f, 1, fraction(700)).size(), 1u);
  ASSERT_EQ(start(f, 2, fraction(700)).size(), 1u);
  s.unhealthy_gpus = 1;
  add(f, 1, s);
  EXPECT_TRUE(where(f, fraction(200)).empty());
  EXPECT_EQ(f.levels(NodeId(1)).unusable, 600);
  EXPECT_EQ(f.levels(NodeId(1)).idle, 0);
  s.gpus = 3;
  add(f, 1, s);
  EXPECT_EQ(where(f, fraction(300)), Ids{1});
  EXPECT_TRUE(where(f, gang(1, 1)).empty());
  EXPECT_EQ(f.levels(NodeId(1)).unusable, 1000);
  EXPECT_EQ(f.levels(NodeId(1)).idle, 600);
}

TEST(FleetKeptNodes, AreForOneOwner) {
  Site f;
  add(f, 1, node(1, 8));
  add(f, 2, node(2, 8));
  const std::vector<NodeId> reserved = {NodeId(1)};
  f.reserved.reserve(reserved, job(7));
  EXPECT_EQ(where(f, gang(1, 8), job(8)), Ids{2});
  EXPECT_EQ(where(f, gang(1, 8), job(7)), Ids{1});
  EXPECT_TRUE(where(f, gang(2, 8), job(8)).empty());
  EXPECT_EQ(where(f, gang(2, 8), job(7)), (Ids{1, 2}));
  f.reserved.clear();
  EXPECT_EQ(where(f, gang(2, 8), job(8)), (Ids{1, 2}));
}

}  // namespace
}  // namespace subak
