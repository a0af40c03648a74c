#include "engine/state/allocations.h"

#include <gtest/gtest.h>

#include "fixture.h"

namespace subak::state {
namespace {

MilliGpu held(const Small& s) { return s.tree.node(s.ml).holdings.held(); }
MilliGpu running(const Small& s) { return s.tree.node(s.ml).holdings.running(); }
MilliGpu on_fleet(const Small& s, NodeId node) { return s.fleet.levels(node).allocated; }

TEST(Allocations, TakeMovesFleetTreeAndIndexTogether) {
  Small s;
  Job& job = s.submit(1, Small::gpus(1, 2));
  s.reserve(job, s.n1, 10);
  EXPECT_EQ(held(s), 2000);
  EXPECT_EQ(on_fleet(s, s.n1), 2000);
  ASSERT_FALSE(s.allocations.on(s.n1).empty());
  EXPECT_EQ(s.allocations.on(s.n1).size(), 2u);
  EXPECT_EQ(job.pods[1].since_ms, 10);
  EXPECT_EQ(job.pods[1].state, PodState::kHeld);
  s.check();
}

TEST(Allocations, BindMakesTheHoldAMeter) {
  Small s;
  Job& job = s.submit(1, Small::gpus(1, 2));
  s.reserve(job, s.n1, 10);
  s.allocations.bind(job, 0, 20);
  job.pods[0].state = PodState::kBound;
  EXPECT_EQ(held(s), 1000);
  EXPECT_EQ(running(s), 1000);
  s.check();
}

TEST(Allocations, GiveLeavesNothingBehind) {
  Small s;
  Job& job = s.submit(1, Small::gpus(1, 1));
  s.reserve(job, s.n1, 10);
  s.allocations.bind(job, 0, 20);
  job.pods[0].state = PodState::kBound;
  s.allocations.give(job, 0, 25, 30);  // reported late
  s.jobs.end_pod(job, 0);
  EXPECT_EQ(held(s) + running(s), 0);
  EXPECT_EQ(on_fleet(s, s.n1), 0);
  EXPECT_TRUE(s.allocations.on(s.n1).empty());
  EXPECT_EQ(job.pods[0].slot, PodSlot());
  EXPECT_EQ(s.tree.usage_undecayed(s.ml, 30), GpuTime::of(1000, 15));
  s.check();
}

TEST(Allocations, MoveKeepsTheTimeOfTheHold) {
  Small s;
  Job& job = s.submit(1, Small::gpus(1, 1));
  s.reserve(job, s.n1, 10);
  s.allocations.move(job, 0, Small::slot(s.n2, 3), 50);
  EXPECT_EQ(job.pods[0].since_ms, 10);
  EXPECT_TRUE(s.allocations.on(s.n1).empty());
  EXPECT_EQ(on_fleet(s, s.n1), 0);
  EXPECT_EQ(on_fleet(s, s.n2), 1000);
  EXPECT_EQ(held(s), 1000);
  s.check();
}

TEST(Allocations, ANodeThatChangesItsProductTakesItsPodsAlong) {
  Small s;
  Job& job = s.submit(1, Small::gpus(1, 2));
  s.reserve(job, s.n1, 10);
  s.allocations.bind(job, 0, 20);
  job.pods[0].state = PodState::kBound;
  const ProductId before = s.fleet.product_of(s.n1);
  NodeSpec renamed = Small::node("n1");
  renamed.product = "H200";
  s.fleet.set_node(s.n1, s.cluster, renamed, false, 30);
  s.allocations.relabel(s.n1, before, s.jobs, 30);
  const ProductId after = s.fleet.product_of(s.n1);
  ASSERT_NE(before, after);
  for (const ProductLevel& level : s.tree.node(s.ml).holdings.levels()) {
    EXPECT_EQ(level.total(), level.product == after ? 2000 : 0);
  }
  EXPECT_EQ(held(s), 1000);
  EXPECT_EQ(running(s), 1000);
  s.check();
}

TEST(Allocations, WhatBelongsToNobodyTakesCapacityAndNoShare) {
  Small s;
  Job& job = s.submit(1, Small::gpus(1, 1));
  s.jobs.set_state(job, JobState::kPaused);  // out of the queue, whose tree has no such leaf
  job.leaf = kUnassigned;
  job.make_run();
  job.pods.resize(1);
  complete_gang(s.fleet, job, job.shape.share());
  s.allocations.take(job, 0, Small::slot(s.n1, 0), 10);
  EXPECT_EQ(s.tree.node(kRootAccount).holdings.held(), 0);
  EXPECT_EQ(on_fleet(s, s.n1), 1000);
}

TEST(AllocationsDeath, ASlotIsTakenAndGivenOnce) {
  Small s;
  Job& job = s.submit(1, Small::gpus(1, 1));
  s.reserve(job, s.n1, 10);
  EXPECT_DEATH(s.allocations.take(job, 0, Small::slot(s.n1, 0), 20), "takes one slot");
  s.allocations.give(job, 0, 20, 20);
  job.pods[0].state = PodState::kWaiting;
  EXPECT_DEATH(s.allocations.give(job, 0, 30, 30), "was taken before");
}

TEST(AllocationsDeath, CheckFindsWhatTheIndexLacks) {
  Small s;
  Job& job = s.submit(1, Small::gpus(1, 1));
  s.reserve(job, s.n1, 10);
  job.pods[0].state = PodState::kWaiting;
  EXPECT_DEATH(s.allocations.check(s.jobs), "belongs to one pod");
}

}  // namespace
}  // namespace subak::state
