#include <gtest/gtest.h>

#include <algorithm>

#include "builders.h"

namespace subak {
namespace {

using namespace build;

std::vector<Reason> explain(Site& f, const GangRequest& r, JobId owner = JobId()) {
  return f.search.explain(f.now(), f.intern(kCluster, r), owner);
}

const Reason* with(const std::vector<Reason>& reasons, ReasonToken token) {
  const auto it = std::find_if(reasons.begin(), reasons.end(),
                               [&](const Reason& r) { return r.token == token; });
  return it == reasons.end() ? nullptr : &*it;
}

using Names = std::vector<std::string>;

TEST(Explain, NothingWhenItWouldStart) {
  Site f;
  add(f, 1, node(1, 8));
  EXPECT_TRUE(explain(f, gang(1, 8)).empty());
}

TEST(Explain, CapacityNamesTheHolders) {
  Site f;
  add(f, 1, node(1, 8));
  start(f, 41, gang(1, 2));
  start(f, 42, gang(1, 4));
  const auto reasons = explain(f, gang(1, 4));
  const Reason* r = with(reasons, ReasonToken::kWaitingForCapacity);
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->need, 4000);
  EXPECT_EQ(r->have, 2000);
  EXPECT_EQ(r->subject, "gpu");
  EXPECT_EQ(r->blockers, (Names{"1-42", "1-41"}));
}

TEST(Explain, EnoughButNotTogether) {
  Site f;
  for (std::uint32_t i = 1; i <= 2; ++i) add(f, i, node(i, 8));
  start(f, 1, gang(1, 5));
  start(f, 2, gang(1, 5));
  const auto reasons = explain(f, gang(2, 3, Topology::kNode));
  const Reason* r = with(reasons, ReasonToken::kTopologyPlacementFailed);
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->subject, "node");
  EXPECT_EQ(r->need, 6000);
  EXPECT_EQ(r->have, 3000);
  EXPECT_EQ(with(reasons, ReasonToken::kWaitingForCapacity), nullptr);
  EXPECT_NE(with(explain(f, gang(1, 6)), ReasonToken::kTopologyPlacementFailed), nullptr);
}

TEST(Explain, ResourcesBesideTheGpus) {
  Site f;
  NodeSpec s = node(1, 8);
  s.cpu_milli = 16'000;
  s.memory_bytes = 1000;
  add(f, 1, s);
  GangRequest r = gang(1, 1);
  r.groups[0].shape.cpu_milli = 10'000;
  start(f, 1, r);
  auto reasons = explain(f, r);
  const Reason* cpu = with(reasons, ReasonToken::kNodeResources);
  ASSERT_NE(cpu, nullptr);
  EXPECT_EQ(cpu->subject, "cpu");
  EXPECT_EQ(cpu->need, 10'000);
  EXPECT_EQ(cpu->have, 6'000);
  EXPECT_EQ(cpu->blockers, Names{"n1"});
  GangRequest ports = gang(1, 1);
  ports.groups[0].shape.host_ports = {{80, "", ""}};
  start(f, 2, ports);
  reasons = explain(f, ports);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].token, ReasonToken::kNodeResources);
  EXPECT_EQ(reasons[0].subject, "host-ports");
  ports.groups[0].shape.host_ports = {{80, "", ""}, {1, "anti-affinity/7", ""}};
  reasons = explain(f, ports);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].subject, "nodes without pods of its anti-affinity");
}

// What one pod asks for and no node has is the one reason, with its name and amounts.
TEST(Explain, WhatNoNodeHasIsNamed) {
  Site f;
  NodeSpec s = node(1, 8);
  s.cpu_milli = 64'000;
  s.memory_bytes = std::int64_t{512} << 30;
  s.extended = {{"rdma/ib0", 2}};
  add(f, 1, s);
  const auto only = [&](const auto& ask) {
    GangRequest r = gang(1, 1);
    ask(r.groups[0].shape);
    const auto reasons = explain(f, r);
    EXPECT_EQ(reasons.size(), 1u);
    EXPECT_EQ(reasons[0].token, ReasonToken::kExceedsFleet);
    return reasons[0];
  };
  const Reason none = only([](PodShape& pod) {
    pod.extended = {{"rdma/ib0", 1}, {"rdma/shared_mlx5", 1}};
  });
  EXPECT_EQ(none.subject, "rdma/shared_mlx5");
  EXPECT_EQ(none.detail, "no node has rdma/shared_mlx5");
  EXPECT_EQ(none.need, 1);
  EXPECT_EQ(none.have, 0);
  const Reason few = only([](PodShape& pod) { pod.extended = {{"rdma/ib0", 3}}; });
  EXPECT_EQ(few.detail, "a pod asks for 3 rdma/ib0, and the largest node has 2 rdma/ib0");
  const Reason cpu = only([](PodShape& pod) { pod.cpu_milli = 500'000; });
  EXPECT_EQ(cpu.subject, "cpu");
  EXPECT_EQ(cpu.detail, "a pod asks for 500 CPUs, and the largest node has 64 CPUs");
  const Reason memory = only([](PodShape& pod) { pod.memory_bytes = std::int64_t{9} << 40; });
  EXPECT_EQ(memory.subject, "memory");
  EXPECT_EQ(memory.detail,
            "a pod asks for 9216 GiB of memory, and the largest node has 512 GiB of memory");
  // Another node has it, and no GPUs as asked.
  NodeSpec other = node(2, 4);
  other.product = "B200";
  other.extended = {{"rdma/shared_mlx5", 1}};
  add(f, 2, other);
  const Reason elsewhere = only([&](PodShape& pod) {
    pod.extended = {{"rdma/shared_mlx5", 1}};
    pod.products = {s.product};
  });
  EXPECT_EQ(elsewhere.detail, "no node that matches has rdma/shared_mlx5");
}

// There is some, and others have it.
TEST(Explain, WhatIsInUseIsNamed) {
  Site f;
  NodeSpec s = node(1, 8);
  s.extended = {{"rdma/ib0", 2}, {"rdma/ib1", 8}};
  add(f, 1, s);
  GangRequest r = gang(1, 1);
  r.groups[0].shape.extended = {{"rdma/ib0", 2}, {"rdma/ib1", 1}};
  start(f, 1, r);
  const auto reasons = explain(f, r);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].token, ReasonToken::kNodeResources);
  EXPECT_EQ(reasons[0].subject, "rdma/ib0");
  EXPECT_EQ(reasons[0].need, 2);
  EXPECT_EQ(reasons[0].have, 0);
  EXPECT_EQ(reasons[0].blockers, Names{"n1"});
  EXPECT_EQ(
      reasons[0].detail,
      "GPUs are free, but the nodes that have them lack rdma/ib0: a pod asks for 2, at most 0 "
      "are left on one");
}

TEST(Explain, ConditionsNameTheNodes) {
  Site f;
  NodeSpec s = node(1, 8);
  s.ready = false;
  add(f, 1, s);
  f.set_node(NodeId(2), kCluster, node(2, 8), /*drained=*/true, 0);
  add(f, 3, node(3, 4));
  const auto reasons = explain(f, gang(1, 8));
  const Reason* r = with(reasons, ReasonToken::kNodeConditions);
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->blockers, (Names{"n1", "n2"}));
}

TEST(Explain, WhyANodeIsNotFitIsQuoted) {
  Site f;
  NodeSpec s = node(1, 8);
  s.unfit = "nvidia.com/mig.config.state is pending";
  add(f, 1, s);
  s = node(2, 8);
  s.unfit = "condition GpuNvlinkWatch";
  add(f, 2, s);
  f.set_node(NodeId(3), kCluster, node(3, 8), /*drained=*/true, 0);
  const auto reasons = explain(f, gang(1, 8));
  const Reason* r = with(reasons, ReasonToken::kNodeConditions);
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->blockers, (Names{"n1", "n2", "n3"}));
  EXPECT_EQ(r->have, 0);
  EXPECT_EQ(r->detail,
            "of the matching nodes with room 1 are not ready, cordoned or drained, 2 are not fit "
            "(n1: nvidia.com/mig.config.state is pending)");
}

TEST(Explain, KeptNodesNameTheirOwner) {
  Site f;
  add(f, 1, node(1, 8));
  const std::vector<NodeId> reserved = {NodeId(1)};
  f.reserved.reserve(reserved, job(7));
  const auto reasons = explain(f, gang(1, 8), job(8));
  const Reason* r = with(reasons, ReasonToken::kReservedForOther);
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->blockers, Names{"1-7"});
  EXPECT_EQ(r->have, 8000);
}

TEST(Explain, NoNodeMatches) {
  Site f;
  const auto subject = [&](const GangRequest& r) {
    const auto reasons = explain(f, r);
    return reasons.size() == 1 && reasons[0].token == ReasonToken::kNoMatchingFlavor
               ? reasons[0].subject
               : "?";
  };
  EXPECT_EQ(subject(gang(1, 1)), "nodes");
  NodeSpec s = node(1, 8);
  s.taints = {{"dedicated", "x", "NoSchedule"}};
  add(f, 1, s);
  EXPECT_EQ(subject(gang(1, 1)), "taints");
  GangRequest r = gang(1, 1);
  r.groups[0].shape.node_selector = {{"a", "b"}};
  EXPECT_EQ(subject(r), "labels");
  r.groups[0].shape.products = {"NVIDIA-B200"};
  EXPECT_EQ(subject(r), "NVIDIA-B200");
  r = gang(1, 1);
  r.groups[0].shape.kind = GpuKind::kShared;
  EXPECT_EQ(subject(r), "gpu");
}

TEST(Explain, MoreThanTheFleet) {
  Site f;
  add(f, 1, node(1, 8));
  const auto reasons = explain(f, gang(2, 8));
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons[0].token, ReasonToken::kExceedsFleet);  // structural ones come first
  EXPECT_EQ(reasons[0].need, 16'000);
  EXPECT_EQ(reasons[0].have, 8'000);
}

TEST(Explain, MigGeometry) {
  Site f;
  NodeSpec s = node(1, 1);
  s.mig_gpus = 1;
  s.mig = {{"1g.10gb", 2}, {"3g.40gb", 1}};
  add(f, 1, s);
  GangRequest r = gang(1, 2);
  r.groups[0].shape.kind = GpuKind::kMig;
  r.groups[0].shape.profile = "1g.10gb";
  start(f, 1, r);
  auto reasons = explain(f, r);
  const Reason* cut = with(reasons, ReasonToken::kMigGeometry);
  ASSERT_NE(cut, nullptr);  // 3g.40gb is free, which is memory enough
  EXPECT_EQ(cut->subject, "mig-1g.10gb");
  EXPECT_EQ(cut->need, 2);
  EXPECT_EQ(cut->have, 0);
  r.groups[0].shape.profile = "2g.20gb";
  reasons = explain(f, r);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].token, ReasonToken::kMigGeometry);
  s.product = "Card-Of-Tomorrow";
  add(f, 1, s);
  reasons = explain(f, r);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_NE(reasons[0].detail.find("Card-Of-Tomorrow"), std::string::npos);
}

// A pod that asks for several slices gets all of them on one node.
TEST(Explain, TheMostSlicesOfOneNode) {
  Site f;
  const auto cut_node = [&](std::uint32_t id, std::int64_t slices) {
    NodeSpec s = node(id, 1);
    s.mig_gpus = 1;
    s.mig = {{"1g.10gb", slices}};
    add(f, id, s);
  };
  const auto slices = [](std::int64_t each) {
    GangRequest r = gang(1, each);
    r.groups[0].shape.kind = GpuKind::kMig;
    r.groups[0].shape.profile = "1g.10gb";
    return r;
  };
  cut_node(1, 4);
  start(f, 1, slices(2));
  cut_node(2, 2);
  auto reasons = explain(f, slices(5));
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons[0].token, ReasonToken::kExceedsFleet);
  EXPECT_EQ(reasons[0].subject, "mig-1g.10gb");
  EXPECT_EQ(reasons[0].need, 5);
  EXPECT_EQ(reasons[0].have, 4);
  EXPECT_EQ(reasons[0].detail,
            "a pod asks for 5 slices of 1g.10gb, and the largest node has 4 slices of 1g.10gb");

  reasons = explain(f, slices(3));  // two are free on each node
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].token, ReasonToken::kTopologyPlacementFailed);
  EXPECT_EQ(reasons[0].subject, "mig-1g.10gb");
  EXPECT_EQ(reasons[0].need, 3);
  EXPECT_EQ(reasons[0].have, 2);
  EXPECT_EQ(reasons[0].detail,
            "enough slices are free, but a pod needs 3 slices of 1g.10gb on one node, where at "
            "most 2 are free; the largest node has 4");
  EXPECT_EQ(reasons[0].blockers, Names{"1-1"});

  start(f, 2, slices(1));
  reasons = explain(f, slices(4));
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].token, ReasonToken::kWaitingForCapacity);
  EXPECT_EQ(reasons[0].detail,
            "4 slices of 1g.10gb are needed, 3 are free for it; a pod needs 4 on one node, and the "
            "largest node has 4");
}

TEST(Explain, OneNumaNodeIsTooSmall) {
  Site f;
  for (std::uint32_t i = 1; i <= 2; ++i) {
    NodeSpec n = node(i, 8);
    n.numa_gpus = 4;
    add(f, i, n);
  }
  EXPECT_TRUE(explain(f, gang(2, 4)).empty());
  auto reasons = explain(f, gang(1, 8));
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].token, ReasonToken::kExceedsFleet);
  EXPECT_EQ(reasons[0].subject, "numa");
  EXPECT_EQ(reasons[0].need, 8);
  EXPECT_EQ(reasons[0].have, 4);
  EXPECT_EQ(
      reasons[0].detail,
      "a container asks for 8 GPUs, and the kubelet of each matching node takes them from one "
      "NUMA node, which has at most 4");
  GangRequest two = gang(1, 8);
  two.groups[0].shape.container_gpus = 4;
  EXPECT_TRUE(explain(f, two).empty()) << "each container has its NUMA node";
  NodeSpec loose = node(2, 8);
  add(f, 2, loose);
  EXPECT_EQ(where(f, gang(1, 8)), std::vector<std::uint32_t>{2});
  start(f, 7, gang(1, 8));
  reasons = explain(f, gang(1, 8));
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(with(reasons, ReasonToken::kExceedsFleet), nullptr) << "node 2 only has to be free";
  EXPECT_EQ(reasons[0].blockers, Names{"1-7"});
}

TEST(Explain, ReplicasDoNotAddUpToCards) {
  Site f;
  NodeSpec n = node(1, 4);
  n.replicas = 4;
  n.one_replica = true;
  add(f, 1, n);
  GangRequest r = gang(1, 2);
  r.groups[0].shape.kind = GpuKind::kShared;
  auto reasons = explain(f, r);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].token, ReasonToken::kExceedsFleet);
  EXPECT_EQ(reasons[0].subject, "nvidia.com/gpu.shared");
  EXPECT_EQ(
      reasons[0].detail,
      "a container asks for 2 replicas of shared GPUs, and the device plugin of each matching "
      "node gives it at most 1; replicas do not add up to cards");
  r.groups[0].shape.container_gpus = 1;
  EXPECT_TRUE(explain(f, r).empty()) << "two containers with one replica each";
}

TEST(Explain, FabricThatIsTooSmall) {
  Site f;
  for (std::uint32_t i = 1; i <= 4; ++i) {
    NodeSpec n = node(i, 8);
    n.fabric = i <= 2 ? "ib-a" : "ib-b";
    n.extended = {{"rdma/hca", 8}};
    add(f, i, n);
  }
  GangRequest r = gang(3, 8);
  EXPECT_EQ(where(f, r), (std::vector<std::uint32_t>{1, 2, 3})) << "without RDMA";
  r.groups[0].shape.extended = {{"rdma/hca", 1}};
  auto reasons = explain(f, r);
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons[0].token, ReasonToken::kExceedsFleet);
  EXPECT_EQ(reasons[0].have, 16'000);
  EXPECT_EQ(
      reasons[0].detail,
      "even the empty fleet could not hold 3 pods with 24 GPUs as asked (topology any, in one "
      "RDMA fabric)");
  r.groups[0].count = 2;
  EXPECT_EQ(where(f, r), (std::vector<std::uint32_t>{1, 2}));
  start(f, 1, gang(1, 2));
  EXPECT_EQ(where(f, r), (std::vector<std::uint32_t>{3, 4}));
  GangRequest on_b = gang(1, 2);
  on_b.groups[0].shape.affinity = {{{{"metadata.name", "In", {"n3"}}}}};
  start(f, 2, on_b);
  reasons = explain(f, r);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].token, ReasonToken::kTopologyPlacementFailed);
  EXPECT_EQ(reasons[0].subject, "fabric");
  EXPECT_EQ(reasons[0].need, 16'000);
  EXPECT_EQ(reasons[0].have, 14'000);
  EXPECT_EQ(reasons[0].detail,
            "the gang asks for RDMA, and enough GPUs are free, but on nodes of 2 RDMA fabrics; at "
            "most 14 are free in one, ib-a");
}

TEST(Explain, AtMostEightBlockers) {
  Site f;
  add(f, 1, node(1, 12));
  for (std::uint64_t i = 1; i <= 12; ++i) start(f, i, gang(1, 1));
  const auto reasons = explain(f, gang(1, 1));
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons[0].blockers.size(), 8u);
}

}  // namespace
}  // namespace subak
