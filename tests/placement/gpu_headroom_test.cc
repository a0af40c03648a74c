// CPU and memory that are kept from pods without GPUs beside free GPUs, and what such pods take of nodes with GPUs.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "builders.h"
#include "placement/fleet/views.h"
#include "placement/gpus/room.h"

namespace subak {
namespace {

using namespace build;
using Ids = std::vector<std::uint32_t>;

NodeSpec with_cpu(std::uint32_t id, std::int64_t gpus, std::int64_t cpus, std::string clique = "") {
  NodeSpec n = node(id, gpus, std::move(clique));
  n.cpu_milli = cpus * 1000;
  return n;
}

GangRequest asking(std::uint32_t pods, std::int64_t gpus, std::int64_t cpus) {
  GangRequest r = gang(pods, gpus);
  r.groups[0].shape.cpu_milli = cpus * 1000;
  return r;
}

// One launcher, which has the first rank, then workers.
GangRequest led(std::int64_t launcher_cpus, std::uint32_t workers, std::int64_t gpus,
                std::int64_t cpus, Topology topology = Topology::kAny) {
  GangRequest r = asking(1, 0, launcher_cpus);
  r.groups.push_back(asking(workers, gpus, cpus).groups[0]);
  r.terms.topology = topology;
  return r;
}

const Reason* resources(Site& f, const GangRequest& r) {
  static std::vector<Reason> reasons;
  reasons = f.search.explain(f.now(), f.intern(kCluster, r), JobId());
  const auto it = std::find_if(reasons.begin(), reasons.end(), [](const Reason& why) {
    return why.token == ReasonToken::kNodeResources;
  });
  return it == reasons.end() ? nullptr : &*it;
}

TEST(Beside, APodWithoutGpusLeavesWhatIsKept) {
  Site f;
  add(f, 1, with_cpu(1, 8, 64));
  EXPECT_EQ(where(f, asking(1, 0, 60)), Ids{1});
  f.set_gpu_headroom({7000, 0});
  EXPECT_EQ(where(f, asking(1, 0, 8)), Ids{1});  // 56 are kept
  EXPECT_EQ(where(f, asking(1, 0, 9)), Ids{});
  EXPECT_EQ(where(f, asking(2, 0, 5)), Ids{});
  EXPECT_EQ(where(f, asking(1, 0, 0)), Ids{1});
  EXPECT_EQ(where(f, asking(1, 1, 64)), Ids{1});  // with a GPU all of it
  add(f, 2, with_cpu(2, 0, 16));
  EXPECT_EQ(where(f, asking(1, 0, 16)), Ids{2});  // a node without GPUs keeps nothing
  f.set_gpu_headroom({});
  EXPECT_EQ(where(f, asking(1, 0, 60)), Ids{1});
  f.check_invariants();
}

TEST(Beside, MemoryLikeCpu) {
  Site f;
  NodeSpec n = node(1, 4);
  n.memory_bytes = 100;
  add(f, 1, n);
  f.set_gpu_headroom({50'000, 20});  // of CPU the node says nothing
  GangRequest r = asking(1, 0, 1);
  r.groups[0].shape.memory_bytes = 20;
  EXPECT_EQ(where(f, r), Ids{1});
  r.groups[0].shape.memory_bytes = 21;
  EXPECT_EQ(where(f, r), Ids{});
}

// For GPUs that are held nothing is kept: also not what their pods do not ask for.
TEST(Beside, OnlyForGpusThatAreFree) {
  Site f;
  add(f, 1, with_cpu(1, 8, 64));
  f.set_gpu_headroom({8000, 0});
  const ShapeId light = f.intern(kCluster, asking(1, 0, 10));
  EXPECT_FALSE(f.find(light));
  const auto before = f.freed_version(light);
  const auto of_gpus = f.freed_version(f.intern(kCluster, gang(1, 8)));
  const auto slots = start(f, 1, asking(1, 4, 4));
  EXPECT_TRUE(f.find(light));  // 60 left, 32 of them kept
  EXPECT_NE(f.freed_version(light), before) << "starts may give pods without GPUs room";
  EXPECT_EQ(f.freed_version(f.intern(kCluster, gang(1, 8))), of_gpus) << "and nobody else";
  EXPECT_FALSE(f.find(f.intern(kCluster, asking(1, 0, 29))));
  stop(f, 1, asking(1, 4, 4), slots);
  EXPECT_FALSE(f.find(light));
  f.check_invariants();
}

TEST(Beside, PartsSlicesAndGpusThatDoNotWork) {
  Site f;
  NodeSpec n = with_cpu(1, 8, 8);
  n.unhealthy_gpus = 2;
  add(f, 1, n);
  f.set_gpu_headroom({1000, 0});
  EXPECT_EQ(where(f, asking(1, 0, 2)), Ids{1});  // 6 work
  GangRequest part = gang(1, 1);
  part.groups[0].shape = {};
  part.groups[0].shape.kind = GpuKind::kFraction;
  part.groups[0].shape.milligpu = 500;
  start(f, 1, part);
  EXPECT_EQ(where(f, asking(1, 0, 3)), Ids{});  // half of that GPU is free
  start(f, 2, part);
  EXPECT_EQ(where(f, asking(1, 0, 3)), Ids{1});

  Site cut;
  NodeSpec cards = with_cpu(1, 2, 8);
  cards.product = "NVIDIA-A100-SXM4-80GB";
  cards.mig_gpus = 2;
  cards.mig = {{"1g.10gb", 2}, {"3g.40gb", 1}};
  add(cut, 1, cards);
  cut.set_gpu_headroom({2000, 0});
  EXPECT_EQ(where(cut, asking(1, 0, 4)), Ids{1});  // two cards, whatever slices they have
  EXPECT_EQ(where(cut, asking(1, 0, 5)), Ids{});
  GangRequest slice = gang(1, 2);
  slice.groups[0].shape.kind = GpuKind::kMig;
  slice.groups[0].shape.profile = "1g.10gb";
  start(cut, 1, slice);
  EXPECT_EQ(where(cut, asking(1, 0, 6)), Ids{1});  // one slice is left, which is on one of them
}

// Free GPUs that a gang keeps for itself are free to all when it ends.
TEST(Beside, ForGpusThatAGangKeeps) {
  Site f;
  add(f, 1, with_cpu(1, 4, 32, "c"));
  add(f, 2, with_cpu(2, 4, 32, "c"));
  f.set_gpu_headroom({7000, 0});
  GangRequest alone = gang(5, 1, Topology::kNvlinkExclusive);
  ASSERT_FALSE(start(f, 1, alone).empty());
  EXPECT_EQ(where(f, gang(1, 1)), Ids{});
  ASSERT_EQ(nodes_of(start(f, 2, asking(1, 0, 32))), Ids{1}) << "all of its GPUs are held";
  EXPECT_EQ(where(f, asking(1, 0, 11)), Ids{2}) << "21 of 32 are kept there";
  EXPECT_EQ(where(f, asking(1, 0, 12)), Ids{});
  f.check_invariants();
}

// The whole gang counts: where it is, its own GPUs are not free.
TEST(Beside, ALauncherIsJudgedWithItsWorkers) {
  Site f;
  add(f, 1, with_cpu(1, 8, 96));
  f.set_gpu_headroom({12'000, 0});
  EXPECT_EQ(where(f, led(1, 8, 1, 10)), (Ids{1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(where(f, led(16, 8, 1, 10, Topology::kNode)).size(), 9u);
  EXPECT_TRUE(where(f, led(17, 8, 1, 10)).empty());
  EXPECT_EQ(where(f, led(8, 4, 1, 10)).size(), 5u);  // 48 of 96 are kept
  EXPECT_TRUE(where(f, led(9, 4, 1, 10)).empty());
  // Workers that ask for more than is kept take that of others too, but no launcher may.
  EXPECT_EQ(where(f, asking(4, 1, 20)).size(), 4u);
  EXPECT_TRUE(where(f, led(1, 4, 1, 20)).empty());
}

// The best place for the worker alone leaves none for the launcher.
TEST(Beside, AWorkerGoesWhereItsLauncherCanBe) {
  Site f;
  add(f, 1, with_cpu(1, 2, 2));
  NodeSpec n = with_cpu(2, 4, 16);
  n.labels = {{"head", "yes"}};
  add(f, 2, n);
  f.set_gpu_headroom({4000, 0});
  GangRequest r = led(3, 1, 1, 1);
  r.groups[0].shape.node_selector = {{"head", "yes"}};
  EXPECT_EQ(where(f, gang(1, 1)), Ids{1});
  EXPECT_EQ(where(f, r), (Ids{2, 2}));
  r.groups[0].shape.cpu_milli = 4000;
  EXPECT_EQ(where(f, r), Ids{});
}

TEST(Beside, SegmentsAndPartsComeBeforeTheirLaunchers) {
  Site f;
  for (std::uint32_t i = 1; i <= 2; ++i) add(f, i, with_cpu(i, 4, 36));
  f.set_gpu_headroom({8000, 0});
  GangRequest r = led(4, 7, 1, 8);
  r.terms.segment = 4;
  EXPECT_EQ(where(f, r).size(), 8u)
      << "5 of 36 are left on the node with 3 workers when all are there";
  r.groups[0].shape.cpu_milli = 5000;
  EXPECT_TRUE(where(f, r).empty());
}

// What could ever fit does not depend on the policy; what is waited for does.
TEST(Beside, TheEmptyFleetKeepsNothing) {
  Site f;
  add(f, 1, with_cpu(1, 8, 64));
  f.set_gpu_headroom({8000, 0});
  const ShapeId light = f.intern(kCluster, asking(1, 0, 4));
  EXPECT_TRUE(f.search.fits_empty_fleet(light));
  EXPECT_FALSE(f.find(light));
  EXPECT_TRUE(f.search.drain_set(f.now(), light).empty());
  const Reason* const r = resources(f, asking(1, 0, 4));
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->subject, "cpu");
  EXPECT_EQ(r->need, 4000);
  EXPECT_EQ(r->have, 0);
  EXPECT_EQ(r->blockers, std::vector<std::string>{"n1"});
  EXPECT_EQ(r->detail,
            "its pods without GPUs would fit, but what is left of cpu is reserved for free GPUs "
            "(cpuPerGpu)");
}

TEST(Beside, ALauncherWithoutPlaceSaysWhy) {
  Site f;
  add(f, 1, with_cpu(1, 8, 96));
  f.set_gpu_headroom({12'000, 0});
  const Reason* r = resources(f, led(17, 8, 1, 10));
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->detail.find("cpuPerGpu"), std::string::npos)
      << "there is no CPU for it: " << r->detail;
  r = resources(f, led(9, 4, 1, 10));
  ASSERT_NE(r, nullptr);
  EXPECT_NE(r->detail.find("(cpuPerGpu)"), std::string::npos) << r->detail;
}

// Work that nobody holds for, and ours.
TEST(Beside, WhatPodsWithoutGpusTakeIsSaid) {
  Site f;
  for (std::uint32_t i = 1; i <= 3; ++i) add(f, i, with_cpu(i, 8, 64));
  f.set_others(NodeId(1), {50'000, 0, 5, {}, {}});
  f.set_others(NodeId(2), {30'500, 0, 2, {}, {}});
  f.set_others(NodeId(3), {1000, 0, 1, {}, {}});
  start(f, 1, asking(1, 4, 62));  // on node 3, which has no CPU for others then
  GangRequest r = asking(1, 1, 34);
  const Reason* why = resources(f, r);
  ASSERT_NE(why, nullptr);
  EXPECT_EQ(why->have, 33'500);
  EXPECT_EQ(
      why->detail,
      "GPUs are free, but the nodes that have them lack cpu: a pod asks for 34 CPUs, at most 33.5 "
      "CPUs are left on one; 16 GPUs are free on 2 nodes whose CPU pods without GPUs take (80.5 of "
      "128 CPUs)");
  start(f, 2, asking(1, 0, 3));
  EXPECT_EQ(non_gpu_use(f, kCluster).cpu_milli, 84'500);
  EXPECT_EQ(resources(f, asking(1, 1, 65)), nullptr) << "no node has that much without them";
}

TEST(Beside, MemoryIsSaidInGibibytes) {
  Site f;
  NodeSpec n = node(1, 1);
  n.memory_bytes = std::int64_t{64} << 30;
  add(f, 1, n);
  f.set_others(NodeId(1), {0, std::int64_t{60} << 30, 1, {}, {}});
  GangRequest r = gang(1, 1);
  r.groups[0].shape.memory_bytes = std::int64_t{8} << 30;
  const Reason* why = resources(f, r);
  ASSERT_NE(why, nullptr);
  EXPECT_EQ(
      why->detail,
      "GPUs are free, but the nodes that have them lack memory: a pod asks for 8 GiB of memory, "
      "at most 4 GiB of memory are left on one; 1 GPU is free on 1 node whose memory pods "
      "without GPUs take (60 of 64 GiB)");
}

// Half of what a node has for each GPU, where nobody says what is kept.
TEST(NonGpuUse, BreaksNodesWhoseFreeGpusAreShort) {
  Site f;
  add(f, 1, with_cpu(1, 4, 32, "c"));
  add(f, 2, with_cpu(2, 4, 32, "c"));
  add(f, 3, with_cpu(3, 8, 64));
  add(f, 4, with_cpu(4, 0, 64));
  EXPECT_EQ(non_gpu_use(f, kCluster).short_gpus, 0);
  f.set_others(NodeId(1), {16'000, 10, 3, {}, {}});
  f.set_others(NodeId(4), {64'000, 0, 9, {}, {}});
  NonGpuUse l = non_gpu_use(f, kCluster);
  EXPECT_EQ(l.pods, 3);  // not those on nodes without GPUs
  EXPECT_EQ(l.cpu_milli, 16'000);
  EXPECT_EQ(l.memory_bytes, 10);
  EXPECT_EQ(l.broken_nodes, 0);  // 4 for each GPU are left
  f.set_others(NodeId(1), {16'001, 10, 3, {}, {}});
  f.set_others(NodeId(3), {62'000, 0, 2, {}, {}});
  l = non_gpu_use(f, kCluster);
  EXPECT_EQ(l.broken_nodes, 2);
  EXPECT_EQ(l.broken_domains, 2);
  EXPECT_EQ(l.broken_free_gpus, 12);
  EXPECT_EQ(l.short_gpus, 1 + 8);
  EXPECT_EQ(l.broken_pods, 5);
  EXPECT_TRUE(l.short_of_cpu && !l.short_of_memory);
  EXPECT_EQ(l.largest, "n3");
  EXPECT_EQ(l.largest_short_gpus, 8);
  // What other pods with GPUs take is not their doing.
  f.set_others(NodeId(3), {});
  start(f, 2, asking(1, 7, 63));
  l = non_gpu_use(f, kCluster);
  EXPECT_EQ(l.broken_nodes, 1) << "node 1 alone";
  EXPECT_EQ(l.largest, "c");
  // At what is kept, where that is said.
  f.set_gpu_headroom({1000, 0});
  EXPECT_EQ(non_gpu_use(f, kCluster).broken_nodes, 0);
  NodeSpec cordoned = with_cpu(1, 4, 32, "c");
  cordoned.unschedulable = true;
  f.set_gpu_headroom({8000, 0});
  EXPECT_EQ(non_gpu_use(f, kCluster).broken_nodes, 1);
  add(f, 1, cordoned);
  EXPECT_EQ(non_gpu_use(f, kCluster).broken_nodes, 0) << "nothing is put there anyway";
}

}  // namespace
}  // namespace subak
