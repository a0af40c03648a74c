#include <gtest/gtest.h>

#include "builders.h"

namespace subak {
namespace {

using namespace build;

void expect_closed(const NodeBooks& b) {
  EXPECT_EQ(b.installed + b.overcommitted, b.allocated + b.idle + b.stranded + b.unusable);
}

TEST(Books, LevelsIntegrateOverTime) {
  Site f;
  add(f, 1, node(1, 2), 100);
  const auto slots = start(f, 1, gang(1, 1), 110);
  stop(f, 1, gang(1, 1), slots, 140);
  const NodeBooks b = f.books(NodeId(1), 200);
  EXPECT_EQ(b.installed, GpuTime::of(2000, 100));
  EXPECT_EQ(b.allocated, GpuTime::of(1000, 30));
  EXPECT_EQ(b.idle, GpuTime::of(2000, 100) - GpuTime::of(1000, 30));
  expect_closed(b);
  EXPECT_EQ(f.books(NodeId(9), 200), NodeBooks{});
}

TEST(Books, StrandedByCutsAndShares) {
  Site f;
  NodeSpec s = node(1, 4);
  s.mig_gpus = 1;
  s.mig = {{"1g.10gb", 7}};
  add(f, 1, s);
  EXPECT_EQ(f.levels(NodeId(1)).stranded, 125);
  NodeSpec t = node(2, 2);
  t.replicas = 3;
  add(f, 2, t);
  EXPECT_EQ(f.levels(NodeId(2)).stranded, 2);
  EXPECT_EQ(f.levels(NodeId(2)).idle, 1998);
  f.check_invariants();
}

TEST(Books, UnusableOnClosedNodes) {
  Site f;
  NodeSpec s = node(1, 8);
  add(f, 1, s);
  start(f, 1, gang(1, 3));
  s.unschedulable = true;
  add(f, 1, s, 10);
  EXPECT_EQ(f.levels(NodeId(1)).unusable, 5000);
  EXPECT_EQ(f.levels(NodeId(1)).idle, 0);
  s.unschedulable = false;
  f.set_node(NodeId(1), kCluster, s, /*drained=*/true, 20);
  EXPECT_EQ(f.levels(NodeId(1)).unusable, 5000);
  expect_closed(f.books(NodeId(1), 30));
}

TEST(Books, LostNodesKeepTheIdentity) {
  Site f;
  add(f, 1, node(1, 8));
  const auto slots = start(f, 1, gang(1, 8));
  f.remove_node(NodeId(1), 10);
  EXPECT_EQ(f.levels(NodeId(1)).installed, 0);
  EXPECT_EQ(f.levels(NodeId(1)).unusable, 0);
  EXPECT_EQ(f.levels(NodeId(1)).overcommitted, 8000);
  stop(f, 1, gang(1, 8), slots, 30);
  const NodeBooks b = f.books(NodeId(1), 50);
  EXPECT_EQ(b.installed, GpuTime::of(8000, 10));
  EXPECT_EQ(b.allocated, GpuTime::of(8000, 30));
  EXPECT_EQ(b.unusable, GpuTime());
  EXPECT_EQ(b.overcommitted, GpuTime::of(8000, 20));
  expect_closed(b);
}

TEST(Books, ContinueFromACheckpoint) {
  Fleet a, b;
  add(a, 1, node(1, 8), 0);
  b.restore_books(NodeId(1), a.books(NodeId(1), 50), 50);
  add(b, 1, node(1, 8), 50);
  EXPECT_EQ(a.books(NodeId(1), 80), b.books(NodeId(1), 80));
}

TEST(Books, TotalsByProduct) {
  Site f;
  add(f, 1, node(1, 8));
  add(f, 2, node(2, 8));
  NodeSpec s = node(3, 4);
  s.product = "NVIDIA-A30";
  add(f, 3, s);
  add(f, 4, node(4, 0));
  start(f, 1, gang(1, 8));
  auto t = f.totals();
  ASSERT_EQ(t.size(), 2u);
  EXPECT_EQ(t[0].product, "NVIDIA-A30");
  EXPECT_EQ(t[1].nodes, 2);
  EXPECT_EQ(t[1].milligpu.installed, 16'000);
  EXPECT_EQ(t[0].milligpu.allocated + t[1].milligpu.allocated, 8000);
  f.remove_node(NodeId(3), 10);
  f.check_invariants();
  t = f.totals();
  ASSERT_FALSE(t.empty());
  EXPECT_EQ(t.back().product, "NVIDIA-H100-80GB-HBM3");
}

}  // namespace
}  // namespace subak
