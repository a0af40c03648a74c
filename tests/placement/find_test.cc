#include <gtest/gtest.h>

#include <random>

#include "builders.h"

namespace subak {
namespace {

using namespace build;
using Ids = std::vector<std::uint32_t>;

TEST(Find, BestFitThenLowestId) {
  Site f;
  for (std::uint32_t i = 1; i <= 3; ++i) add(f, i, node(i, 8));
  EXPECT_EQ(where(f, gang(1, 2)), Ids{1});
  start(f, 1, gang(1, 4));                  // node 1: 4 free
  EXPECT_EQ(where(f, gang(1, 2)), Ids{1});  // the fullest that fits
  EXPECT_EQ(where(f, gang(1, 5)), Ids{2});
  EXPECT_EQ(where(f, gang(1, 9)), Ids{});
}

TEST(Find, SmallJobsKeepWholeCliquesWhole) {
  Site f;
  for (std::uint32_t i = 1; i <= 4; ++i) add(f, i, node(i, 4, i <= 2 ? "a" : "b"));
  start(f, 1, gang(1, 4));                  // node 1 of clique a is full
  EXPECT_EQ(where(f, gang(1, 1)), Ids{2});  // not a node of clique b, which is whole
  EXPECT_EQ(where(f, gang(2, 4, Topology::kNvlink)), (Ids{3, 4}));
}

TEST(Find, CpuDecidesAmongNodesWithGpus) {
  Site f;
  NodeSpec small = node(1, 8), large = node(2, 8);
  small.cpu_milli = 4000;
  large.cpu_milli = 64'000;
  add(f, 1, small);
  add(f, 2, large);
  GangRequest r = gang(1, 1);
  r.groups[0].shape.cpu_milli = 8000;
  EXPECT_EQ(where(f, r), Ids{2});
}

NodeSpec with_cpu(std::uint32_t id, std::int64_t gpus, std::int64_t cpus) {
  NodeSpec n = node(id, gpus, "");
  n.cpu_milli = cpus * 1000;
  return n;
}

GangRequest asking(std::int64_t gpus, std::int64_t cpus) {
  GangRequest r = gang(1, gpus);
  r.groups[0].shape.cpu_milli = cpus * 1000;
  return r;
}

// A pod takes CPU where that leaves enough for the GPUs beside its own, and there the least.
TEST(Find, OfAsManyFreeGpusTheLeastCpuThatIsEnoughForAll) {
  Site f;
  add(f, 1, with_cpu(1, 8, 128));
  add(f, 2, with_cpu(2, 8, 64));
  add(f, 3, with_cpu(3, 8, 96));
  EXPECT_EQ(where(f, asking(1, 8)), Ids{2});
  EXPECT_EQ(where(f, asking(1, 9)), Ids{3});
  EXPECT_EQ(where(f, asking(2, 25)), Ids{1});
  EXPECT_EQ(where(f, asking(1, 0)), Ids{2});
  EXPECT_EQ(where(f, asking(1, 20)), Ids{2}) << "for none it is enough: the least that holds it";
  EXPECT_EQ(where(f, asking(1, 70)), Ids{3});
  EXPECT_EQ(where(f, asking(1, 129)), Ids{});
  f.check_invariants();
}

TEST(Find, CpuOnlyDecidesAmongAsManyFreeGpus) {
  Site f;
  add(f, 1, with_cpu(1, 8, 96));
  add(f, 2, with_cpu(2, 4, 24));
  add(f, 3, node(3, 4));  // declares no CPU: never the constraint
  EXPECT_EQ(where(f, asking(1, 6)), Ids{2});
  EXPECT_EQ(where(f, asking(1, 7)), Ids{3});
  EXPECT_EQ(where(f, asking(4, 24)), Ids{2});
  EXPECT_EQ(where(f, asking(5, 6)), Ids{1});
  f.check_invariants();
}

TEST(Find, CpuThatOthersTakeCounts) {
  Site f;
  add(f, 1, with_cpu(1, 8, 64));
  add(f, 2, with_cpu(2, 8, 80));
  EXPECT_EQ(where(f, asking(1, 8)), Ids{1});
  NodeUse light;
  light.cpu_milli = 10'000;
  f.set_others(NodeId(1), light);
  EXPECT_EQ(where(f, asking(1, 8)), Ids{2});
  f.check_invariants();
}

TEST(Find, PodsWithoutGpuStayOffGpuNodes) {
  Site f;
  add(f, 1, node(1, 8));
  add(f, 2, node(2, 4));
  NodeSpec cpu = node(3, 0);
  cpu.pod_slots = 1;
  add(f, 3, cpu);
  EXPECT_EQ(start(f, 1, gang(1, 0))[0].node, NodeId(3));
  EXPECT_EQ(where(f, gang(1, 0)), Ids{2});  // the fullest GPU node
}

TEST(Find, WholeGangOrNothing) {
  Site f;
  add(f, 1, node(1, 8));
  add(f, 2, node(2, 8));
  EXPECT_EQ(where(f, gang(2, 8)), (Ids{1, 2}));
  EXPECT_EQ(where(f, gang(3, 8)), Ids{});
  EXPECT_EQ(where(f, gang(5, 3)), Ids{});
  EXPECT_EQ(where(f, gang(4, 3)), (Ids{1, 1, 2, 2}));
}

TEST(Find, GangsUseFewNodes) {
  Site f;
  for (std::uint32_t i = 1; i <= 4; ++i) add(f, i, node(i, 8));
  start(f, 1, gang(1, 5));  // node 1: 3 free
  // 8 on one empty node, and the last three where they leave nothing.
  EXPECT_EQ(where(f, gang(11, 1)), (Ids{1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2}));
}

TEST(Find, GangsUseFewNodesOfADomain) {
  Site f;
  for (std::uint32_t i = 1; i <= 3; ++i) add(f, i, node(i, 4, "a"));
  const ShapeId three = f.intern(kCluster, gang(1, 3)), one = f.intern(kCluster, gang(1, 1));
  f.take(three, 0, {NodeId(1), 0x7, 3000}, job(1), 0);
  f.take(one, 0, {NodeId(2), 0x1, 1000}, job(2), 0);
  // Free are 1, 3 and 4: the whole node, then the one that is left with nothing.
  EXPECT_EQ(where(f, gang(5, 1, Topology::kNvlink)), (Ids{1, 3, 3, 3, 3}));
}

TEST(Find, OwnPodsCount) {
  Site f;
  add(f, 1, node(1, 8));
  add(f, 2, node(2, 8));
  GangRequest r = gang(2, 1);
  r.groups[0].shape.host_ports = {{8080, "", ""}};
  EXPECT_EQ(where(f, r), (Ids{1, 2}));
  r.groups[0].count = 3;
  EXPECT_EQ(where(f, r), Ids{});
}

TEST(Find, OneNodeTopology) {
  Site f;
  for (std::uint32_t i = 1; i <= 2; ++i) add(f, i, node(i, 8));
  start(f, 1, gang(1, 4));
  EXPECT_EQ(where(f, gang(2, 4, Topology::kNode)), (Ids{2, 2}));
  EXPECT_EQ(where(f, gang(3, 4, Topology::kNode)), Ids{});
  GangRequest wish = gang(3, 4, Topology::kNode);
  wish.terms.prefer = true;
  EXPECT_EQ(where(f, wish).size(), 3u);
}

TEST(Find, NvlinkInsideTheNode) {
  Site f;
  NodeSpec box = node(1, 8);
  box.gpus_per_domain = 4;
  add(f, 1, box);
  add(f, 2, box);
  start(f, 1, gang(1, 2));
  const auto four = f.find(f.intern(kCluster, gang(2, 2, Topology::kNvlink)));
  ASSERT_TRUE(four);
  EXPECT_EQ(four->slots[0].gpu_mask | four->slots[1].gpu_mask, 0xf0u);
  EXPECT_EQ(where(f, gang(2, 3, Topology::kNvlink)), Ids{});  // no half is enough
  EXPECT_EQ(where(f, gang(3, 4, Topology::kNvlink)), Ids{});
}

TEST(Find, NvlinkAcrossNodesOfOneClique) {
  Site f;
  for (std::uint32_t i = 1; i <= 6; ++i) add(f, i, node(i, 4, i <= 3 ? "a" : "b"));
  start(f, 1, gang(1, 4));
  EXPECT_EQ(where(f, gang(2, 4, Topology::kNvlink)), (Ids{2, 3}));
  EXPECT_EQ(where(f, gang(3, 4, Topology::kNvlink)), (Ids{4, 5, 6}));
  EXPECT_EQ(where(f, gang(4, 4, Topology::kNvlink)), Ids{});
  EXPECT_EQ(where(f, gang(4, 4)), (Ids{2, 4, 5, 6}));
}

TEST(Find, Racks) {
  Site f;
  for (std::uint32_t i = 1; i <= 4; ++i) {
    NodeSpec s = node(i, 8);
    s.levels = {i <= 2 ? "r1" : "r2"};
    add(f, i, s);
  }
  add(f, 5, node(5, 8));  // in no rack: one of its own
  start(f, 1, gang(1, 8));
  EXPECT_EQ(where(f, gang(2, 8, Topology::kRack)), (Ids{3, 4}));
  EXPECT_EQ(where(f, gang(3, 8, Topology::kRack)), Ids{});
  EXPECT_EQ(where(f, gang(1, 8, Topology::kRack)), Ids{2});
}

TEST(Find, SegmentsMayBeApart) {
  Site f;
  for (std::uint32_t i = 1; i <= 6; ++i) add(f, i, node(i, 4, i <= 3 ? "a" : "b"));
  const auto at = where(f, gang(4, 4, Topology::kNvlink, 2));
  EXPECT_EQ(at, (Ids{1, 2, 4, 5}));
  EXPECT_EQ(where(f, gang(6, 4, Topology::kNvlink, 2)), Ids{});
  EXPECT_EQ(where(f, gang(4, 4, Topology::kAny, 2)), at);  // a segment means NVLink
}

TEST(Find, LaunchersWithoutGpuNeedNotBeInTheDomain) {
  Site f;
  for (std::uint32_t i = 1; i <= 2; ++i) add(f, i, node(i, 4, "a"));
  NodeSpec cpu = node(3, 0);
  cpu.labels = {{"role", "cpu"}};
  add(f, 3, cpu);
  GangRequest r = gang(2, 4, Topology::kNvlink);
  PodGroup launcher;
  launcher.shape.node_selector = {{"role", "cpu"}};
  r.groups.insert(r.groups.begin(), launcher);
  EXPECT_EQ(where(f, r), (Ids{3, 1, 2}));
}

TEST(Find, MixedGangsSeeTheirOwnEarlierPods) {
  Site f;
  add(f, 1, node(1, 8));
  add(f, 2, node(2, 4));
  GangRequest r = gang(1, 4);
  r.groups.push_back(gang(2, 4).groups[0]);
  r.groups[1].shape.cpu_milli = 1;
  EXPECT_EQ(where(f, r).size(), 3u);
  r.groups[1].count = 3;
  EXPECT_EQ(where(f, r), Ids{});
}

TEST(Find, FailureIsRememberedUntilSomethingHelps) {
  Site f;
  add(f, 1, node(1, 8));
  add(f, 2, node(2, 8));
  const auto one = start(f, 1, gang(1, 8)), two = start(f, 2, gang(1, 8));
  EXPECT_EQ(where(f, gang(2, 8)), Ids{});
  EXPECT_EQ(where(f, gang(1, 1)), Ids{});
  EXPECT_EQ(where(f, gang(1, 1)), Ids{});
  stop(f, 1, gang(1, 8), one);
  EXPECT_EQ(where(f, gang(1, 1)), Ids{1});
  EXPECT_EQ(where(f, gang(2, 8)), Ids{});
  stop(f, 2, gang(1, 8), two);
  EXPECT_EQ(where(f, gang(2, 8)), (Ids{1, 2}));
}

TEST(Find, TheEmptyFleetAndWhatToWaitFor) {
  Site f;
  for (std::uint32_t i = 1; i <= 3; ++i) add(f, i, node(i, 8));
  start(f, 1, gang(1, 8));
  start(f, 2, gang(1, 6));
  start(f, 3, gang(1, 5));
  const auto drain = [&](const GangRequest& r) {
    return f.search.drain_set(f.now(), f.intern(kCluster, r));
  };
  EXPECT_TRUE(f.search.fits_empty_fleet(f.intern(kCluster, gang(3, 8))));
  EXPECT_FALSE(f.search.fits_empty_fleet(f.intern(kCluster, gang(4, 8))));
  EXPECT_EQ(drain(gang(1, 8)), std::vector<NodeId>{NodeId(3)});
  EXPECT_EQ(drain(gang(2, 8)), (std::vector<NodeId>{NodeId(2), NodeId(3)}));
  EXPECT_TRUE(drain(gang(4, 8)).empty());
  NodeSpec away = node(3, 8);
  away.ready = false;
  add(f, 3, away);
  EXPECT_TRUE(f.search.fits_empty_fleet(f.intern(kCluster, gang(3, 8))));
  EXPECT_TRUE(drain(gang(3, 8)).empty());
  EXPECT_EQ(drain(gang(1, 8)), std::vector<NodeId>{NodeId(2)});
}

// Where each node is a domain by itself it is asked in another way. Two joined nodes that nobody may
// use must not change what is to be drained.
TEST(Find, WhatToWaitForIsTheSameBesideJoinedNodes) {
  std::mt19937 random(11);
  const auto up_to = [&random](std::uint32_t most) {
    return static_cast<std::uint32_t>(1 + random() % most);
  };
  for (int round = 0; round < 200; ++round) {
    Site apart, joined;
    const std::uint32_t nodes = 2 + up_to(12);
    for (std::uint32_t i = 1; i <= nodes; ++i) {
      NodeSpec spec = node(i, up_to(8));
      spec.unhealthy_gpus = up_to(4) == 1 ? 1 : 0;
      add(apart, i, spec);
      add(joined, i, spec);
    }
    for (std::uint32_t i = 101; i <= 102; ++i) {
      NodeSpec spec = node(i, 8);
      spec.clique = "q";
      spec.ready = false;
      add(joined, i, spec);
    }
    for (std::uint64_t job = 1; job <= 6; ++job) {
      const GangRequest r = gang(up_to(3), up_to(4));
      if (where(apart, r).empty()) continue;
      start(apart, job, r);
      start(joined, job, r);
    }
    for (int asked = 0; asked < 12; ++asked) {
      const GangRequest r = gang(up_to(12), up_to(8));
      ASSERT_EQ(apart.search.drain_set(apart.now(), apart.intern(kCluster, r)),
                joined.search.drain_set(joined.now(), joined.intern(kCluster, r)))
          << "round " << round;
    }
  }
}

TEST(FindMixed, ThoseWithFewerNodesToChooseFromGoFirst) {
  Site f;
  NodeSpec tainted = node(2, 4);
  tainted.taints = {{"dedicated", "x", "NoSchedule"}};
  add(f, 1, node(1, 4));
  add(f, 2, tainted);
  GangRequest r = gang(2, 2);
  r.groups.push_back(gang(2, 2).groups[0]);
  r.groups[0].shape.tolerations = {{"dedicated", "Exists", "", ""}};  // could go to either
  EXPECT_EQ(where(f, r), (Ids{2, 2, 1, 1}));
  r.groups.push_back(gang(1, 2).groups[0]);
  EXPECT_TRUE(where(f, r).empty());
}

}  // namespace
}  // namespace subak
