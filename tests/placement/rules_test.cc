// Rules about what a gang may be put together on.
#include <gtest/gtest.h>

#include <algorithm>

#include "builders.h"

namespace subak {
namespace {

using namespace build;
using Ids = std::vector<std::uint32_t>;

constexpr Topology kAlone = Topology::kNvlinkExclusive;

NodeSpec of(std::uint32_t id, std::int64_t gpus, const char* product) {
  NodeSpec s = node(id, gpus);
  s.product = product;
  return s;
}

TEST(Rules, NvlinkStaysInsideAHalf) {
  Site f;
  NodeSpec box = node(1, 8);
  box.gpus_per_domain = 4;
  add(f, 1, box);
  EXPECT_EQ(where(f, gang(1, 4, Topology::kNvlink)), Ids{1});
  EXPECT_EQ(where(f, gang(1, 8, Topology::kNvlink)), Ids{});
  EXPECT_EQ(where(f, gang(2, 3, Topology::kNvlink)), Ids{});
  EXPECT_EQ(where(f, gang(1, 8, kAlone)), Ids{});
  EXPECT_EQ(where(f, gang(1, 8)), Ids{1});
  GangRequest wish = gang(1, 8, Topology::kNvlink);
  wish.terms.prefer = true;
  EXPECT_EQ(where(f, wish), Ids{1});
}

TEST(Rules, NvlinkIsNeverOnAProductWithoutIt) {
  Site f;
  add(f, 1, of(1, 8, "NVIDIA-L40S"));
  EXPECT_EQ(where(f, gang(2, 2, Topology::kNvlink)), Ids{});
  EXPECT_EQ(where(f, gang(4, 2, Topology::kAny, 2)), Ids{});  // nor a segment of it
  EXPECT_EQ(where(f, gang(1, 8, kAlone)), Ids{});
  EXPECT_EQ(where(f, gang(2, 2, Topology::kNode)), (Ids{1, 1}));
  const auto reasons = f.search.explain(f.now(), f.intern(kCluster, gang(2, 2, Topology::kNvlink)));
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].token, ReasonToken::kNoMatchingFlavor);
  EXPECT_EQ(reasons[0].subject, "nvlink");
  GangRequest wish = gang(2, 2, Topology::kNvlink);
  wish.terms.prefer = true;
  EXPECT_EQ(where(f, wish), (Ids{1, 1}));
  add(f, 2, node(2, 8));
  EXPECT_EQ(where(f, wish), (Ids{2, 2}));  // where it can be had, the wish is granted
}

TEST(Rules, NvlinkIsNeverOnCardsThatNothingJoins) {
  Site f;
  NodeSpec box = of(1, 8, "NVIDIA-H100-PCIe");
  box.gpus_per_domain = 1;
  add(f, 1, box);
  EXPECT_EQ(where(f, gang(2, 2, Topology::kNvlink)), Ids{});
  EXPECT_EQ(where(f, gang(4, 2, Topology::kAny, 2)), Ids{});
  EXPECT_EQ(where(f, gang(1, 8, kAlone)), Ids{});
  EXPECT_EQ(where(f, gang(2, 2, Topology::kNode)), (Ids{1, 1}));
  EXPECT_EQ(where(f, gang(1, 8)), Ids{1});
  const auto reasons = f.search.explain(f.now(), f.intern(kCluster, gang(2, 2, Topology::kNvlink)));
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].token, ReasonToken::kNoMatchingFlavor);
  EXPECT_EQ(reasons[0].subject, "nvlink");
  box.clique = "a.1";  // which says that they are
  add(f, 1, box);
  EXPECT_EQ(where(f, gang(2, 2, Topology::kNvlink)), (Ids{1, 1}));
}

TEST(Rules, SmallPodsTakeFragmentsBeforeWholeNodes) {
  Site f;
  for (std::uint32_t i = 1; i <= 4; ++i) add(f, i, node(i, 8));
  start(f, 1, gang(1, 6));
  f.take(f.intern(kCluster, gang(1, 5)), 0, {NodeId(2), 0x1f, 5000}, job(2), 0);
  EXPECT_EQ(where(f, gang(5, 1)), (Ids{1, 1, 2, 2, 2}));
  EXPECT_EQ(where(f, gang(2, 2)), (Ids{1, 2}));
  // Five do not hold six: one whole node does.
  EXPECT_EQ(where(f, gang(6, 1)), (Ids{3, 3, 3, 3, 3, 3}));
  // One node is broken into and filled, no second one.
  EXPECT_EQ(where(f, gang(12, 1)), (Ids{1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3}));
}

TEST(Rules, AGangThatMayHasSeveralProductsWhereOneHasTooFew) {
  Site f;
  add(f, 1, of(1, 8, "NVIDIA-A100-SXM4-80GB"));
  add(f, 2, node(2, 8));
  add(f, 3, node(3, 8));
  GangRequest r = gang(2, 8);
  r.terms.mixed_products = true;
  EXPECT_EQ(where(f, r), (Ids{2, 3}));  // one is enough
  r = gang(3, 8);
  EXPECT_EQ(where(f, r), Ids{});
  r.terms.mixed_products = true;
  EXPECT_EQ(where(f, r), (Ids{1, 2, 3}));
  r = gang(4, 8);
  r.terms.mixed_products = true;
  const auto reasons = f.search.explain(f.now(), f.intern(kCluster, r));
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons[0].token, ReasonToken::kExceedsFleet);
  EXPECT_EQ(reasons[0].have, 24'000);
}

TEST(Rules, ABalancedGangIsSplitEvenly) {
  Site f;
  for (std::uint32_t i = 1; i <= 36; ++i) add(f, i, node(i, 4, i <= 18 ? "a" : "b"));
  GangRequest r = gang(24, 4, Topology::kNvlink);
  EXPECT_EQ(where(f, r), Ids{});  // no clique has as many nodes
  r.terms.balanced = true;
  const Ids halves = where(f, r);
  ASSERT_EQ(halves.size(), 24u);
  EXPECT_EQ(std::count_if(halves.begin(), halves.end(), [](auto id) { return id <= 18; }), 12);
  EXPECT_EQ(std::count_if(halves.begin(), halves.begin() + 12, [](auto id) { return id <= 18; }),
            12);
  r.groups[0].count = 18;
  EXPECT_EQ(where(f, r).back(), 18u);  // one domain is enough
  r.groups[0].count = 25;
  const Ids odd = where(f, r);
  EXPECT_EQ(std::count_if(odd.begin(), odd.end(), [](auto id) { return id <= 18; }), 13);
  r.groups[0].count = 24;
  r.terms.segment = 8;  // three, of which one domain has two
  const Ids segments = where(f, r);
  EXPECT_EQ(std::count_if(segments.begin(), segments.end(), [](auto id) { return id <= 18; }), 16);
  r.terms.segment = 0;
  r.groups[0].count = 37;
  EXPECT_EQ(where(f, r), Ids{});
  for (std::uint32_t i = 1; i <= 10; ++i) {
    f.take(f.intern(kCluster, gang(1, 4)), 0, {NodeId(i), 0xf, 4000}, job(i), 0);
  }
  r.groups[0].count = 24;  // 18 and 6 would do, 12 and 12 do not
  EXPECT_EQ(where(f, r), Ids{});
  r.terms.prefer = true;
  EXPECT_EQ(where(f, r).size(), 24u);  // a wish: uneven then
}

TEST(Rules, AGangLeavesNodesToSpareAndKeepsThem) {
  Site f;
  for (std::uint32_t i = 1; i <= 12; ++i) add(f, i, node(i, 4, i <= 6 ? "a" : "b"));
  GangRequest r = gang(5, 4, Topology::kNvlink);
  r.terms.spare = 2;
  EXPECT_EQ(where(f, r), Ids{});  // four of the six in either
  const auto detail = [&](const GangRequest& asked) {
    return f.search.explain(f.now(), f.intern(kCluster, asked))[0].detail;
  };
  EXPECT_NE(detail(r).find("(topology nvlink, 2 nodes to spare)"), std::string::npos);
  r.groups[0].count = 4;
  const auto held = start(f, 1, r);
  EXPECT_EQ(where(f, gang(6, 4, Topology::kNvlink)), (Ids{7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(where(f, gang(6, 4)), (Ids{7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(where(f, gang(7, 4)), Ids{});  // nobody has those that are left
  EXPECT_EQ(where(f, gang(1, 1)), Ids{7});
  f.check_invariants();
  f.take(f.intern(kCluster, gang(1, 1)), 0, {NodeId(12), 1, 1000}, job(9), 0);
  EXPECT_NE(detail(r).find("with 2 whole nodes of the domain to spare"), std::string::npos);
  f.give(f.intern(kCluster, gang(1, 1)), 0, {NodeId(12), 1, 1000}, job(9), 0);
  // One of them breaks: no other is free.
  NodeSpec broken = node(6, 4, "a");
  broken.ready = false;
  add(f, 6, broken);
  EXPECT_EQ(where(f, gang(7, 4)), Ids{});
  // The gang comes back: a node that does not work was one of the two.
  stop(f, 1, r, held);
  EXPECT_EQ(where(f, r), (Ids{7, 8, 9, 10}));  // two that work, where there are any
  const auto other = start(f, 2, gang(3, 4, Topology::kNvlink));
  EXPECT_EQ(other[0].node.value, 1u);
  stop(f, 2, gang(3, 4, Topology::kNvlink), other);
  f.take(f.intern(kCluster, gang(1, 1)), 0, {NodeId(7), 1, 1000}, job(3), 0);
  EXPECT_EQ(where(f, r), (Ids{1, 2, 3, 4}));
}

TEST(Rules, NodesToSpareFollowWhatIsFree) {
  Site f;
  for (std::uint32_t i = 1; i <= 4; ++i) add(f, i, node(i, 4, "a"));
  GangRequest r = gang(2, 4, Topology::kNvlink);
  r.terms.spare = 1;
  EXPECT_EQ(where(f, r), (Ids{1, 2}));
  const auto held = start(f, 1, r);
  EXPECT_EQ(where(f, gang(2, 4)), Ids{});
  EXPECT_EQ(where(f, gang(1, 4)), Ids{3});  // the last is kept
  EXPECT_NE(f.search.explain(f.now(), f.intern(kCluster, gang(2, 4)))[0].detail.find(
                "4 on nodes that gangs keep for replacements"),
            std::string::npos);
  EXPECT_EQ(f.search.drain_set(f.now(), f.intern(kCluster, gang(1, 4))), std::vector{NodeId(3)});
  EXPECT_EQ(f.search.drain_set(f.now(), f.intern(kCluster, gang(4, 4))), std::vector<NodeId>{});
  // A pod comes without us: another is.
  const ShapeId shape = f.intern(kCluster, gang(1, 4));
  f.take(shape, 0, {NodeId(4), 0xf, 4000}, job(2), 0);
  EXPECT_EQ(where(f, gang(1, 4)), Ids{});
  f.give(shape, 0, {NodeId(4), 0xf, 4000}, job(2), 0);
  EXPECT_EQ(where(f, gang(1, 4)), Ids{3});
  stop(f, 1, r, held);
  EXPECT_EQ(where(f, gang(4, 4)), (Ids{1, 2, 3, 4}));
  // A wish leaves them and keeps nobody out.
  r.terms.prefer = true;
  start(f, 3, r);
  EXPECT_EQ(where(f, gang(2, 4)), (Ids{3, 4}));
  // A domain of one node has none to spare.
  Site lone;
  add(lone, 1, node(1, 8));
  r = gang(2, 4, Topology::kNvlink);
  r.terms.spare = 1;
  EXPECT_EQ(where(lone, r), (Ids{1, 1}));
}

TEST(Rules, AGangTakesOneProduct) {
  Site f;
  add(f, 1, of(1, 8, "NVIDIA-A100-SXM4-80GB"));
  add(f, 2, node(2, 8));
  add(f, 3, node(3, 8));
  EXPECT_EQ(where(f, gang(2, 8)), (Ids{2, 3}));
  EXPECT_EQ(where(f, gang(3, 8)), Ids{});
  start(f, 1, gang(1, 8));  // the A100s
  start(f, 2, gang(1, 8));
  add(f, 4, of(4, 8, "NVIDIA-A100-SXM4-80GB"));
  EXPECT_EQ(where(f, gang(2, 8)), Ids{});
  const auto reasons = f.search.explain(f.now(), f.intern(kCluster, gang(2, 8)));
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons[0].token, ReasonToken::kWaitingForCapacity);
  EXPECT_EQ(reasons[0].have, 8000);  // of either product, not of both
}

TEST(Rules, PodsThatNameDifferentProductsGetThem) {
  Site f;
  add(f, 1, of(1, 8, "NVIDIA-A100-SXM4-80GB"));
  add(f, 2, node(2, 8));
  GangRequest r = gang(1, 8);
  r.groups.push_back(r.groups[0]);
  r.groups[0].shape.products = {"NVIDIA-A100-SXM4-80GB"};
  r.groups[1].shape.products = {"NVIDIA-H100-80GB-HBM3"};
  EXPECT_EQ(where(f, r), (Ids{1, 2}));
}

TEST(Rules, ALostLabelGivesAnExclusiveDomainToNobodyElse) {
  Site f;
  for (std::uint32_t i = 1; i <= 3; ++i) add(f, i, node(i, 4, "a"));
  const GangRequest alone = gang(2, 4, kAlone);
  const auto slots = start(f, 1, alone);
  ASSERT_EQ(nodes_of(slots), (Ids{1, 2}));
  NodeSpec lost = node(3, 4);
  lost.former_clique = "a";
  add(f, 3, lost);
  EXPECT_EQ(where(f, gang(1, 4)), Ids{});  // still kept for job 1
  f.check_invariants();
  stop(f, 1, alone, slots);
  EXPECT_EQ(where(f, gang(1, 4)), Ids{3});
  EXPECT_EQ(where(f, gang(1, 4, kAlone)), Ids{1});  // not 3: its wires are joined to 1 and 2
  start(f, 2, gang(1, 4));
  EXPECT_EQ(where(f, gang(1, 4, kAlone)), Ids{1});  // one node is enough for it alone
  EXPECT_EQ(where(f, alone), Ids{});                // and the clique is in use at node 3
  add(f, 3, node(3, 4, "a"));
  f.check_invariants();
}

TEST(Rules, PlainGpusOfSlicesOnlyWhereThePodNamesThem) {
  Site f;
  NodeSpec s = node(1, 1);
  s.mig_gpus = 1;
  s.mig = {{"1g.10gb", 7}};
  add(f, 1, s);
  EXPECT_EQ(where(f, gang(1, 1)), Ids{});
  GangRequest r = gang(1, 1);
  r.groups[0].shape.products = {"NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"};
  EXPECT_EQ(start(f, 1, r), (std::vector<PodSlot>{{NodeId(1), 0, 125}}));
  EXPECT_EQ(f.least_milligpu(f.intern(kCluster, r)), 125);
  NodeSpec shared = of(2, 2, "NVIDIA-A10");
  shared.replicas = 4;
  add(f, 2, shared);
  EXPECT_EQ(where(f, gang(1, 1)), Ids{});
  r.groups[0].shape.products = {"NVIDIA-A10-SHARED"};
  EXPECT_EQ(start(f, 2, r), (std::vector<PodSlot>{{NodeId(2), 1, 250}}));
  f.check_invariants();
}

TEST(Rules, ANodeThatTurnedAPodAwayIsLeftOut) {
  Site f;
  add(f, 1, node(1, 8));
  add(f, 2, node(2, 8));
  const GangRequest r = gang(1, 2);
  const PodShape pod = r.groups[0].shape;
  f.back_off(NodeId(1), pod);
  f.back_off(NodeId(1), pod);
  EXPECT_EQ(where(f, r), Ids{2});
  EXPECT_EQ(where(f, gang(1, 3)), Ids{1});  // other pods
  f.back_off(NodeId(2), pod);
  EXPECT_EQ(where(f, r), Ids{});
  EXPECT_TRUE(f.search.fits_empty_fleet(f.intern(kCluster, r)));
  EXPECT_TRUE(f.search.drain_set(f.now(), f.intern(kCluster, r)).empty());
  const auto reasons = f.search.explain(f.now(), f.intern(kCluster, r));
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons.back().token, ReasonToken::kNodeConditions);
  EXPECT_EQ(reasons.back().blockers, (std::vector<std::string>{"n1", "n2"}));
  f.end_backoff(NodeId(2), pod);
  EXPECT_EQ(where(f, r), Ids{2});
  f.end_backoff(NodeId(1), pod);
  EXPECT_FALSE(f.is_backed_off(NodeId(1), pod));
  EXPECT_EQ(where(f, r), Ids{1});
}

TEST(Rules, FreeMeansFreeForThisJob) {
  Site f;
  NodeSpec tainted = node(1, 8);
  tainted.taints = {{"dedicated", "x", "NoSchedule"}};
  add(f, 1, tainted);
  f.set_node(NodeId(2), kCluster, node(2, 8), /*drained=*/true, 0);
  add(f, 3, node(3, 8));
  f.reserved.reserve(std::vector<NodeId>{NodeId(3)}, job(7));
  add(f, 4, node(4, 4));
  const auto reasons = f.search.explain(f.now(), f.intern(kCluster, gang(4, 8)), job(8));
  ASSERT_FALSE(reasons.empty());
  const auto capacity = std::find_if(reasons.begin(), reasons.end(), [](const Reason& why) {
    return why.token == ReasonToken::kWaitingForCapacity;
  });
  ASSERT_NE(capacity, reasons.end());
  EXPECT_EQ(capacity->have, 4000);
  for (const char* named : {"8 on nodes with taints", "8 on nodes that are not ready, cordoned",
                            "8 reserved for 1-7"}) {
    EXPECT_NE(capacity->detail.find(named), std::string::npos) << capacity->detail;
  }
}

TEST(Rules, WhatKeptNodesBlockIsToldSoAlone) {
  Site f;
  add(f, 1, node(1, 8));
  f.reserved.reserve(std::vector<NodeId>{NodeId(1)}, job(7));
  const auto reasons = f.search.explain(f.now(), f.intern(kCluster, gang(1, 8)), job(8));
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].token, ReasonToken::kReservedForOther);
  EXPECT_EQ(reasons[0].blockers, std::vector<std::string>{"1-7"});
}

TEST(Rules, SlicesAreCountedAsSlices) {
  Site f;
  NodeSpec s = node(1, 1);
  s.mig_gpus = 1;
  s.mig = {{"1g.10gb", 3}};
  add(f, 1, s);
  GangRequest r = gang(2, 1);
  r.groups[0].shape.kind = GpuKind::kMig;
  r.groups[0].shape.profile = "1g.10gb";
  start(f, 1, r);
  const auto reasons = f.search.explain(f.now(), f.intern(kCluster, r));
  ASSERT_FALSE(reasons.empty());
  EXPECT_EQ(reasons[0].token, ReasonToken::kWaitingForCapacity);
  EXPECT_EQ(reasons[0].need, 2);
  EXPECT_EQ(reasons[0].have, 1);
  EXPECT_NE(reasons[0].detail.find("2 slices of 1g.10gb"), std::string::npos);
}

TEST(Rules, NobodyWaitsForANodeThatCannotServe) {
  Site f;
  NodeSpec broken = node(1, 8);
  broken.unhealthy_gpus = 1;
  add(f, 1, broken);
  add(f, 2, node(2, 8));
  start(f, 1, gang(1, 7));
  start(f, 2, gang(1, 8));
  const auto drain = [&] { return f.search.drain_set(f.now(), f.intern(kCluster, gang(1, 8))); };
  EXPECT_EQ(drain(), std::vector<NodeId>{NodeId(2)});
  NodeSpec cordoned = node(2, 8);
  cordoned.unschedulable = true;
  add(f, 2, cordoned);
  EXPECT_TRUE(drain().empty());
  EXPECT_TRUE(f.search.fits_empty_fleet(f.intern(kCluster, gang(1, 8))));
}

}  // namespace
}  // namespace subak
