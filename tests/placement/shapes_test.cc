#include <gtest/gtest.h>

#include "builders.h"
#include "placement/fleet/queries.h"

namespace subak {
namespace {

using namespace build;

TEST(Shapes, EqualRequestsShareAnId) {
  Site f;
  const ShapeId a = f.intern(kCluster, gang(1, 8)), b = f.intern(kCluster, gang(2, 8));
  EXPECT_EQ(a, ShapeId(1));
  EXPECT_EQ(b, ShapeId(2));
  EXPECT_EQ(f.intern(kCluster, gang(1, 8)), a);
  EXPECT_NE(f.intern(ClusterId(2), gang(1, 8)), a);
  EXPECT_EQ(f.shapes().in_use(), 3u);
  EXPECT_EQ(f.request(b), gang(2, 8));
  EXPECT_EQ(f.cluster_of(ShapeId(3)), ClusterId(2));
}

TEST(Shapes, AreForgottenWithTheirLastUse) {
  Fleet f;
  add(f, 1, node(1, 8));
  Search search(f);
  ShapeUse first = f.use(kCluster, gang(1, 8));
  const std::uint64_t serial = f.shapes().serial(first);
  const ShapeUse second = f.use(kCluster, gang(1, 2));
  EXPECT_TRUE(search.find(FleetView(f), first));
  EXPECT_TRUE(search.find(FleetView(f), second));
  EXPECT_EQ(search.filters(), 1u);  // both may use the same nodes
  {
    const ShapeUse more = first.share();
    first = ShapeUse();
    EXPECT_EQ(f.shapes().in_use(), 2u);
  }
  EXPECT_EQ(f.shapes().in_use(), 1u);
  EXPECT_FALSE(f.shapes().find(kCluster, gang(1, 8)));
  EXPECT_EQ(search.filters(), 1u);
  // Its number is another's now, of whom nothing is known yet.
  GangRequest big = gang(1, 16);
  big.groups[0].shape.node_selector = {{"a", "b"}};
  const ShapeUse third = f.use(kCluster, big);
  EXPECT_EQ(third.id(), ShapeId(1));
  EXPECT_NE(f.shapes().serial(third), serial);
  EXPECT_FALSE(search.find(FleetView(f), third));
  EXPECT_EQ(search.filters(), 2u);
  search.check_invariants();
}

TEST(Shapes, WhatFailedSaysNothingOfTheNextWithItsNumber) {
  Fleet f;
  add(f, 1, node(1, 8));
  Search search(f);
  {
    const ShapeUse large = f.use(kCluster, gang(1, 16));
    EXPECT_FALSE(search.find(FleetView(f), large));
    EXPECT_FALSE(search.fits_empty_fleet(large));
  }
  const ShapeUse small = f.use(kCluster, gang(1, 4));
  EXPECT_EQ(small.id(), ShapeId(1));
  EXPECT_TRUE(search.find(FleetView(f), small));
  EXPECT_TRUE(search.fits_empty_fleet(small));
}

TEST(Shapes, EveryFieldCounts) {
  Site f;
  GangRequest r = gang(1, 8);
  std::size_t n = 0;
  const auto is_new = [&] { return f.intern(kCluster, r).value == ++n; };
  EXPECT_TRUE(is_new());
  r.terms.topology = Topology::kNode;
  EXPECT_TRUE(is_new());
  r.terms.prefer = true;
  EXPECT_TRUE(is_new());
  r.groups[0].shape.tolerations = {{"a", "", "b", ""}};
  EXPECT_TRUE(is_new());
  r.groups[0].shape.tolerations = {{"a", "", "", "b"}};
  EXPECT_TRUE(is_new());
  r.groups[0].shape.affinity = {{{{"k", "In", {"v"}}}}};
  EXPECT_TRUE(is_new());
  r.groups[0].shape.affinity = {{{{"k", "In", {"v"}}}}, {}};
  EXPECT_TRUE(is_new());
}

TEST(Shapes, CostsBeforeAndAfterThePlaceIsKnown) {
  Site f;
  NodeSpec shared = node(1, 4);
  shared.replicas = 3;
  add(f, 1, shared);
  NodeSpec cut = node(2, 4);
  cut.mig_gpus = 4;
  cut.mig = {{"3g.40gb", 8}};
  add(f, 2, cut);
  const auto least = [&](const GangRequest& r) { return f.least_milligpu(f.intern(kCluster, r)); };
  EXPECT_EQ(least(gang(3, 2)), 6000);
  EXPECT_EQ(least(gang(3, 0)), 0);
  GangRequest r = gang(2, 1);
  r.groups[0].shape.kind = GpuKind::kShared;
  EXPECT_EQ(least(r), 666);
  EXPECT_EQ(slot_milligpu(f, f.intern(kCluster, r), 1, NodeId(1)), 333);
  r.groups[0].shape.kind = GpuKind::kMig;
  r.groups[0].shape.profile = "3g.40gb";
  EXPECT_EQ(least(r), 1000);
  EXPECT_EQ(slot_milligpu(f, f.intern(kCluster, r), 0, NodeId(2)), 500);
  r.groups[0].shape.kind = GpuKind::kFraction;
  r.groups[0].shape.milligpu = 125;
  EXPECT_EQ(least(r), 250);
}

// Whatever was asked before: nothing is remembered that could be out of date.
TEST(Shapes, TheLeastCostFollowsNodesAndProducts) {
  Site f;
  GangRequest r = gang(1, 1);
  r.groups[0].shape.kind = GpuKind::kMig;
  r.groups[0].shape.profile = "1g.10gb";
  const ShapeId slice = f.intern(kCluster, r);
  EXPECT_EQ(f.least_milligpu(slice), 0);
  f.intern_product("NVIDIA-A100-SXM4-40GB");
  EXPECT_EQ(f.least_milligpu(slice), 250);
  f.intern_product("NVIDIA-H100-80GB-HBM3");
  EXPECT_EQ(f.least_milligpu(slice), 125);
  r.groups[0].shape.profile = "1g.5gb+me";  // as the device plugin may spell it
  EXPECT_EQ(f.least_milligpu(f.intern(kCluster, r)), 125);

  r.groups[0].shape.kind = GpuKind::kShared;
  const ShapeId replica = f.intern(kCluster, r);
  EXPECT_EQ(f.least_milligpu(replica), 1000);
  NodeSpec shared = node(1, 4);
  for (const std::int64_t ways : {2, 8, 4}) {
    shared.replicas = ways;
    add(f, 1, shared);
    EXPECT_EQ(f.least_milligpu(replica), 1000 / ways);
    f.check_invariants();
  }
  f.remove_node(NodeId(1), 0);
  EXPECT_EQ(f.least_milligpu(replica), 1000);
  f.check_invariants();
}

}  // namespace
}  // namespace subak
