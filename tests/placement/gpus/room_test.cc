#include "placement/gpus/room.h"

#include <gtest/gtest.h>

namespace subak {
namespace {

NodeSpec gpus(std::int64_t n) {
  NodeSpec s;
  s.name = "n";
  s.product = "NVIDIA-H100-80GB-HBM3";
  s.gpus = n;
  return s;
}

PodShape pod(GpuKind kind, std::int64_t count, MilliGpu milli = 0) {
  PodShape p;
  p.kind = kind;
  p.gpus = count;
  p.milligpu = milli;
  return p;
}

GpuMask chosen(const NodeSpec& s, const Room& r, const PodShape& p, GpuMask allowed = kAllGpus) {
  const auto slot = choose(NodeId(1), s, r, p, allowed);
  return slot ? slot->gpu_mask : 0;
}

TEST(Room, EmptyNodeOffersItsUncutGpus) {
  NodeSpec s = gpus(8);
  s.mig_gpus = 2;
  s.mig = {{"1g.10gb", 14}};
  const Room r = empty_room(s);
  EXPECT_EQ(r.whole, 0x3fu);
  EXPECT_EQ(r.mig_free, std::vector<std::int64_t>{14});
  EXPECT_EQ(r.cpu_milli, kUnlimited);
  NodeSpec most = gpus(64);
  EXPECT_EQ(empty_room(most).whole, kAllGpus);
}

TEST(Room, WholeGpusTakeTheTightestInnerDomain) {
  NodeSpec s = gpus(8);
  s.gpus_per_domain = 4;
  Room r = empty_room(s);
  consume(s, r, pod(GpuKind::kWhole, 1), {NodeId(1), 0x01, 1000});
  EXPECT_EQ(chosen(s, r, pod(GpuKind::kWhole, 2)), 0x06u);  // the half that is broken already
  EXPECT_EQ(chosen(s, r, pod(GpuKind::kWhole, 4)), 0xf0u);  // the half that is whole
  EXPECT_EQ(chosen(s, r, pod(GpuKind::kWhole, 5)), 0xf2u);  // no half is enough
  EXPECT_EQ(chosen(s, r, pod(GpuKind::kWhole, 8)), 0u);
}

TEST(Room, FractionsFillTheTightestGpu) {
  const NodeSpec s = gpus(3);
  Room r = empty_room(s);
  consume(s, r, pod(GpuKind::kFraction, 0, 500), {NodeId(1), 0x2, 500});
  EXPECT_EQ(r.whole, 0x5u);
  EXPECT_EQ(chosen(s, r, pod(GpuKind::kFraction, 0, 500)), 0x2u);
  EXPECT_EQ(chosen(s, r, pod(GpuKind::kFraction, 0, 600)), 0x1u);
  EXPECT_EQ(chosen(s, r, pod(GpuKind::kWhole, 3)), 0u);
  EXPECT_EQ(pods_that_fit(s, r, pod(GpuKind::kFraction, 0, 300), kAllGpus, 100), 7);
  EXPECT_EQ(tightest_gpu(s, r, pod(GpuKind::kFraction, 0, 501)), 1000);
}

TEST(Room, SharedGpusGiveReplicasAndStrandTheRest) {
  NodeSpec s = gpus(2);
  s.replicas = 3;
  const Room r = empty_room(s);
  EXPECT_EQ(gpu_capacity(s), 999);
  EXPECT_EQ(r.whole, 0u);
  EXPECT_EQ(pod_milligpu(s, pod(GpuKind::kShared, 1)), 333);
  EXPECT_EQ(pods_that_fit(s, r, pod(GpuKind::kShared, 1), kAllGpus, 100), 6);
  EXPECT_EQ(pods_that_fit(s, r, pod(GpuKind::kWhole, 1), kAllGpus, 100), 0);
}

TEST(Room, SeveralReplicasOfOnePodSpreadEvenly) {
  NodeSpec s = gpus(2);
  s.replicas = 4;
  Room r = empty_room(s);
  const PodShape five = pod(GpuKind::kShared, 5);
  const auto slot = choose(NodeId(1), s, r, five, kAllGpus);
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot->gpu_mask, 0x3u);
  EXPECT_EQ(slot->milligpu, 1250);
  consume(s, r, five, *slot);
  EXPECT_EQ(r.gpu_free, (std::vector<std::int32_t>{250, 500}));
  release(s, r, five, *slot);
  EXPECT_EQ(r, empty_room(s));
  EXPECT_EQ(pods_that_fit(s, r, pod(GpuKind::kShared, 9), kAllGpus, 1), 0);
}

TEST(Room, MigSlicesAreCounts) {
  NodeSpec s = gpus(1);
  s.mig_gpus = 1;
  s.mig = {{"1g.10gb", 2}, {"3g.40gb", 1}};
  Room r = empty_room(s);
  PodShape p = pod(GpuKind::kMig, 2);
  p.profile = "1g.10gb";
  const auto slot = choose(NodeId(1), s, r, p, kAllGpus);
  ASSERT_TRUE(slot);
  EXPECT_EQ(*slot, (PodSlot{NodeId(1), 0, 250}));
  consume(s, r, p, *slot);
  EXPECT_FALSE(fits(s, r, p, kAllGpus));
  p.profile = "2g.20gb";
  EXPECT_FALSE(fits(s, r, p, kAllGpus));
}

TEST(Room, OtherResourcesBound) {
  NodeSpec s = gpus(8);
  s.cpu_milli = 10'000;
  s.memory_bytes = 100;
  s.pod_slots = 6;
  s.extended = {{"rdma/hca", 4}};
  const Room r = empty_room(s);
  PodShape p = pod(GpuKind::kWhole, 1);
  EXPECT_EQ(pods_that_fit(s, r, p, kAllGpus, 100), 6);
  p.extended = {{"rdma/hca", 1}};
  EXPECT_EQ(pods_that_fit(s, r, p, kAllGpus, 100), 4);
  p.cpu_milli = 3'000;
  EXPECT_EQ(pods_that_fit(s, r, p, kAllGpus, 100), 3);
  p.memory_bytes = 50;
  EXPECT_EQ(pods_that_fit(s, r, p, kAllGpus, 100), 2);
  p.host_ports = {{80, "", ""}};
  EXPECT_EQ(pods_that_fit(s, r, p, kAllGpus, 100), 1);
  p.extended = {{"other", 1}};
  EXPECT_EQ(pods_that_fit(s, r, p, kAllGpus, 100), 0);
  EXPECT_EQ(pods_that_fit(s, r, p, kAllGpus, 100, Ignore{false, false, false, true, false}), 1);
}

TEST(Room, ConsumeAndReleaseAreInverse) {
  NodeSpec s = gpus(8);
  s.cpu_milli = 1000;
  s.extended = {{"x", 3}};
  Room r = empty_room(s);
  PodShape p = pod(GpuKind::kWhole, 2);
  p.cpu_milli = 100;
  p.extended = {{"x", 2}};
  p.host_ports = {{80, "", ""}, {81, "", ""}};
  const auto slot = choose(NodeId(1), s, r, p, kAllGpus);
  consume(s, r, p, *slot);
  EXPECT_NE(r, empty_room(s));
  EXPECT_FALSE(fits(s, r, p, kAllGpus));
  release(s, r, p, *slot);
  EXPECT_EQ(r, empty_room(s));
}

}  // namespace
}  // namespace subak
