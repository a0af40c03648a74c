// What is claimed: no search gives it out, and claim_state() says when the claimant can take it.
#include <gtest/gtest.h>

#include "builders.h"
#include "placement/fleet/queries.h"

namespace subak {
namespace {

using build::add;
using build::gang;
using build::job;
using build::node;

class ClaimsTest : public testing::Test {
 protected:
  // The claim of one pod with `gpus` GPUs on node 1: those of the mask.
  NodeClaim claim(std::uint64_t claimant, std::int64_t gpus, std::uint64_t mask,
                  std::vector<JobId> victims) {
    const ShapeId shape = site.intern(build::kCluster, gang(1, gpus));
    return {job(claimant), shape, {{0, {NodeId(1), mask, gpus * kMilliPerGpu}}}, victims};
  }
  std::int64_t free_gpus() {
    std::int64_t free = 0;
    for (std::int64_t gpus = 1; gpus <= 8; ++gpus) {
      if (site.find(site.intern(build::kCluster, gang(1, gpus)))) free = gpus;
    }
    return free;
  }
  ClaimState state(std::uint64_t claimant) {
    const NodeId nodes[] = {NodeId(1)};
    return claim_state(site, job(claimant), nodes);
  }

  build::Site site;
};

TEST_F(ClaimsTest, WhatAVictimHoldsCountsOnceAndWhatItGaveBackIsSetAside) {
  add(site, 1, node(1, 8));
  const auto slots = build::start(site, 1, gang(1, 6));
  ASSERT_EQ(slots.size(), 1u);
  const std::uint64_t held = slots[0].gpu_mask;
  EXPECT_EQ(free_gpus(), 2);
  site.set_claims(NodeId(1), {claim(9, 6, held, {job(1)})});
  EXPECT_EQ(free_gpus(), 2);
  EXPECT_EQ(state(9), ClaimState::kWaits);
  site.give(site.intern(build::kCluster, gang(1, 6)), 0, slots[0], job(1), 0);
  EXPECT_EQ(free_gpus(), 2);
  EXPECT_EQ(state(9), ClaimState::kFree);
  EXPECT_EQ(site.levels(NodeId(1)).idle, 8 * kMilliPerGpu);
  site.check_invariants();
  site.set_claims(NodeId(1), {});
  EXPECT_EQ(free_gpus(), 8);
}

TEST_F(ClaimsTest, FreeGpusOfAClaimAreSetAsideAtOnce) {
  add(site, 1, node(1, 8));
  site.set_claims(NodeId(1), {claim(9, 3, 0b111, {})});
  EXPECT_EQ(free_gpus(), 5);
  EXPECT_EQ(state(9), ClaimState::kFree);
}

TEST_F(ClaimsTest, ClaimsOfOneNodeDoNotShareTheirGpus) {
  add(site, 1, node(1, 8));
  const auto first = build::start(site, 1, gang(1, 4)), second = build::start(site, 2, gang(1, 4));
  ASSERT_EQ(second.size(), 1u);
  site.set_claims(NodeId(1), {claim(8, 4, first[0].gpu_mask, {job(1)}),
                              claim(9, 2, second[0].gpu_mask & 0b110000, {job(2)})});
  site.give(site.intern(build::kCluster, gang(1, 4)), 0, first[0], job(1), 0);
  EXPECT_EQ(free_gpus(), 0);
  EXPECT_EQ(state(8), ClaimState::kFree);
  EXPECT_EQ(state(9), ClaimState::kWaits);
  site.give(site.intern(build::kCluster, gang(1, 4)), 0, second[0], job(2), 0);
  EXPECT_EQ(free_gpus(), 2);
  EXPECT_EQ(state(9), ClaimState::kFree);
}

TEST_F(ClaimsTest, AClaimIsLostIfItsNodeClosesOrAnotherJobHoldsItsGpus) {
  add(site, 1, node(1, 8));
  site.set_claims(NodeId(1), {claim(9, 8, 0xff, {job(1)})});
  const auto other = site.intern(build::kCluster, gang(1, 2));
  site.take(other, 0, {NodeId(1), 0b11, 2 * kMilliPerGpu}, job(7), 0);
  EXPECT_EQ(state(9), ClaimState::kLost);
  site.give(other, 0, {NodeId(1), 0b11, 2 * kMilliPerGpu}, job(7), 0);
  EXPECT_EQ(state(9), ClaimState::kFree);
  NodeSpec closed = node(1, 8);
  closed.unschedulable = true;
  add(site, 1, closed);
  EXPECT_EQ(state(9), ClaimState::kLost);
}

TEST_F(ClaimsTest, CpuOfTheClaimantIsSetAsideWithItsGpus) {
  NodeSpec spec = node(1, 8);
  spec.cpu_milli = 16'000;
  add(site, 1, spec);
  GangRequest wants = gang(1, 2);
  wants.groups[0].shape.cpu_milli = 12'000;
  const ShapeId shape = site.intern(build::kCluster, wants);
  site.set_claims(NodeId(1), {{job(9), shape, {{0, {NodeId(1), 0b11, 2 * kMilliPerGpu}}}, {}}});
  GangRequest other = gang(1, 1);
  other.groups[0].shape.cpu_milli = 5'000;
  EXPECT_FALSE(site.find(site.intern(build::kCluster, other)));
  other.groups[0].shape.cpu_milli = 4'000;
  EXPECT_TRUE(site.find(site.intern(build::kCluster, other)));
}

TEST_F(ClaimsTest, ASnapshotWithoutTheVictimsStillSetsTheClaimAside) {
  add(site, 1, node(1, 8));
  const auto slots = build::start(site, 1, gang(1, 8));
  const ShapeId eight = site.intern(build::kCluster, gang(1, 8));
  site.set_claims(NodeId(1), {claim(9, 4, 0b1111, {job(1)})});
  const Allocation gone[] = {{eight, 0, slots[0], job(1)}};
  const auto then = site.now().without(gone);
  ASSERT_TRUE(then.ok());
  EXPECT_TRUE(site.search.find(*then, site.intern(build::kCluster, gang(1, 4)), JobId()));
  EXPECT_FALSE(site.search.find(*then, site.intern(build::kCluster, gang(1, 5)), JobId()));
}

}  // namespace
}  // namespace subak
