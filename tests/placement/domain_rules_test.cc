// What an operator says of NVLink domains of several nodes: those that are left to gangs, and how many ComputeDomains
// may be in one.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "builders.h"
#include "placement/fleet/queries.h"

namespace subak {
namespace {

using namespace build;
using Ids = std::vector<std::uint32_t>;

// Two cliques of three nodes.
void add_cliques(Site& f) {
  for (std::uint32_t i = 1; i <= 6; ++i) add(f, i, node(i, 4, i <= 3 ? "a" : "b"));
}

TEST(DomainRules, EmptyCliquesAreLeftToGangsThatNeedOne) {
  Site f;
  add_cliques(f);
  EXPECT_EQ(where(f, gang(4, 4)).size(), 4u);
  f.set_domain_rules({.keep_whole = 1});
  EXPECT_EQ(reserved_domains_milligpu(f, kCluster), 12'000);
  EXPECT_EQ(where(f, gang(1, 1)), Ids{1});
  EXPECT_EQ(where(f, gang(3, 4)), (Ids{1, 2, 3}));
  EXPECT_EQ(where(f, gang(4, 4)), Ids{});
  const auto first = start(f, 1, gang(3, 4, Topology::kNvlink));
  EXPECT_EQ(nodes_of(first), (Ids{1, 2, 3}));
  // The other is not for small ones, be they linked, or for whom it would only be nice to have.
  EXPECT_EQ(where(f, gang(1, 1)), Ids{});
  EXPECT_EQ(where(f, gang(2, 2, Topology::kNvlink)), Ids{});
  GangRequest wish = gang(2, 4, Topology::kNvlink);
  wish.terms.prefer = true;
  EXPECT_EQ(where(f, wish), Ids{});
  EXPECT_EQ(where(f, gang(4, 4, Topology::kNvlink, 2)), Ids{});
  EXPECT_EQ(where(f, gang(2, 4, Topology::kAny, 2)), (Ids{4, 5}));
  EXPECT_EQ(where(f, gang(2, 4, Topology::kNvlinkExclusive)), (Ids{4, 5}));
  const auto reasons = f.search.explain(f.now(), f.intern(kCluster, gang(1, 1)));
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].token, ReasonToken::kReservedForOther);
  EXPECT_EQ(reasons[0].detail,
            "12 free GPUs are on 1 empty NVLink domain that keepWhole leaves to gangs");
  EXPECT_EQ(std::pair(reasons[0].need, reasons[0].have), std::pair(1000L, 12'000L));
  EXPECT_NE(f.search.explain(f.now(), f.intern(kCluster, gang(4, 4)))[0].detail.find(
                "0 are free for it; free, but not for it: 12 on 1 empty NVLink domain"),
            std::string::npos);
  // It is in use: what is left of it is anybody's, and who found no place looks again.
  const auto freed = f.freed_version();
  const auto second = start(f, 2, gang(2, 4, Topology::kNvlink));
  EXPECT_EQ(nodes_of(second), (Ids{4, 5}));
  EXPECT_GT(f.freed_version(), freed);
  EXPECT_EQ(where(f, gang(1, 1)), Ids{6});
  f.check_invariants();
  stop(f, 2, gang(2, 4, Topology::kNvlink), second);
  EXPECT_EQ(where(f, gang(1, 1)), Ids{});
  // Of two that are empty it is the other.
  stop(f, 1, gang(3, 4, Topology::kNvlink), first);
  EXPECT_EQ(where(f, gang(1, 1)), Ids{1});
  f.set_domain_rules({});
  EXPECT_EQ(where(f, gang(6, 4)).size(), 6u);
  EXPECT_EQ(reserved_domains_milligpu(f, kCluster), 0);
}

TEST(DomainRules, WhichCliquesAreLeftFollowsFromTheNodes) {
  Site f;
  add_cliques(f);
  f.set_domain_rules({.keep_whole = 1});
  NodeSpec broken = node(6, 4, "b");
  broken.unhealthy_gpus = 1;
  add(f, 6, broken);  // the one with most that works
  EXPECT_EQ(where(f, gang(1, 1)), Ids{6});
  add(f, 6, node(6, 4, "b"));
  EXPECT_EQ(where(f, gang(1, 1)), Ids{1});
  // Nobody can use several nodes of what has one.
  broken.ready = false;
  add(f, 6, broken);
  broken.name = "n5";
  add(f, 5, broken);
  f.set_domain_rules({.keep_whole = 2});
  EXPECT_EQ(where(f, gang(1, 1)), Ids{4});
  EXPECT_EQ(reserved_domains_milligpu(f, kCluster), 12'000);
  // A node that loses its label is wired to it all the same.
  add_cliques(f);
  EXPECT_EQ(where(f, gang(1, 1)), Ids{});
  NodeSpec stray = node(3, 4);
  stray.former_clique = "a";
  add(f, 3, stray);
  EXPECT_EQ(where(f, gang(1, 1)), Ids{});
  f.take(f.intern(kCluster, gang(1, 1)), 0, {NodeId(3), 1, 1000}, job(1), 0);
  EXPECT_EQ(where(f, gang(3, 4)), Ids{});
  EXPECT_EQ(where(f, gang(2, 4)), (Ids{1, 2}));
  // Another product is counted by itself.
  for (std::uint32_t i = 7; i <= 8; ++i) {
    NodeSpec other = node(i, 4, "c");
    other.product = "NVIDIA-GB200";
    add(f, i, other);
  }
  EXPECT_EQ(reserved_domains_milligpu(f, kCluster), 20'000);
  f.remove_node(NodeId(8), 0);
  EXPECT_EQ(reserved_domains_milligpu(f, kCluster), 12'000);
  f.check_invariants();
}

TEST(DomainRules, WhatIsPromisedIsNotLeftToGangs) {
  Site f;
  add_cliques(f);
  f.set_domain_rules({.keep_whole = 2});
  const NodeId promised(4);
  f.reserved.reserve({&promised, 1}, job(7));
  EXPECT_EQ(where(f, gang(1, 1), job(7)), Ids{4});
  EXPECT_EQ(where(f, gang(1, 1), job(8)), Ids{});
  EXPECT_EQ(where(f, gang(2, 4), job(7)), Ids{});
  // With nothing held they are left, too; of the empty fleet nothing is left to anybody.
  EXPECT_TRUE(f.search.drain_set(f.now(), f.intern(kCluster, gang(1, 1))).empty());
  EXPECT_TRUE(f.search.fits_empty_fleet(f.intern(kCluster, gang(6, 4))));
}

GangRequest computing(std::uint32_t pods, std::int64_t gpus, Topology topology = Topology::kAny) {
  GangRequest r = gang(pods, gpus, topology);
  r.terms.compute_domain = true;
  return r;
}

TEST(DomainRules, OfGangsWithAComputeDomainOneIsInAClique) {
  Site f;
  add_cliques(f);
  const auto first = start(f, 1, computing(2, 3));
  EXPECT_EQ(nodes_of(first), (Ids{1, 2}));
  add(f, 7, node(7, 8));
  EXPECT_EQ(where(f, gang(1, 1)), Ids{1});  // others may be beside it
  EXPECT_EQ(where(f, computing(1, 1)), Ids{7});
  EXPECT_EQ(where(f, computing(1, 1), job(1)), Ids{1});  // its own
  EXPECT_EQ(where(f, computing(2, 4, Topology::kNvlink)), (Ids{7, 7}));
  const auto alone = start(f, 2, computing(1, 2));
  EXPECT_EQ(nodes_of(alone), Ids{7});  // one node takes part in one
  EXPECT_EQ(where(f, computing(3, 2)), (Ids{4, 4, 5}));
  const auto other = start(f, 3, computing(3, 4));
  EXPECT_EQ(nodes_of(other), (Ids{4, 5, 6}));
  EXPECT_EQ(where(f, computing(1, 1)), Ids{});
  const auto reasons = f.search.explain(f.now(), f.intern(kCluster, computing(1, 1)));
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].token, ReasonToken::kTopologyPlacementFailed);
  EXPECT_EQ(reasons[0].subject, "compute-domain");
  EXPECT_EQ(reasons[0].detail,
            "12 free GPUs are beside gangs with a ComputeDomain, as clique a has 1-1");
  EXPECT_EQ(reasons[0].blockers, std::vector<std::string>{"1-1"});
  EXPECT_EQ(computing_beside(f, NodeId(3)), std::vector{job(1)});
  f.check_invariants();
  // The last of its pods goes, and who found no place looks again.
  stop(f, 1, computing(2, 3), first);
  EXPECT_EQ(where(f, computing(1, 1)), Ids{1});
}

TEST(DomainRules, HowManyComputeDomainsMayBeInACliqueIsARule) {
  Site f;
  add_cliques(f);
  const ShapeId shape = f.intern(kCluster, computing(1, 1));
  for (std::uint32_t n : {1, 4}) f.take(shape, 0, {NodeId(n), 1, 1000}, job(n), 0);
  EXPECT_EQ(where(f, computing(1, 1)), Ids{});
  f.set_domain_rules({0, 2});
  EXPECT_EQ(where(f, computing(1, 1)), Ids{2});  // on a node there is never more than one
  f.take(shape, 0, {NodeId(2), 1, 1000}, job(8), 0);
  EXPECT_EQ(where(f, computing(1, 1)), Ids{5});
  EXPECT_EQ(where(f, computing(2, 4)), (Ids{5, 6}));
  f.set_domain_rules({0, 0});
  EXPECT_EQ(where(f, computing(3, 4)), (Ids{3, 5, 6}));
  EXPECT_EQ(where(f, computing(4, 4)), Ids{});
}

TEST(DomainRules, AComputeDomainThatIsPromisedCounts) {
  Site f;
  add_cliques(f);
  const NodeId reserved(1);
  f.reserved.reserve({&reserved, 1}, job(5), /*uses_compute_domain=*/true);
  EXPECT_EQ(where(f, gang(1, 1)), Ids{2});
  EXPECT_EQ(where(f, computing(1, 1)), Ids{4});
  EXPECT_EQ(where(f, computing(1, 1), job(5)), Ids{1});
  // With nothing held only what stays is in the way: on nodes that are kept for others.
  f.reserved.clear();
  start(f, 1, computing(3, 4, Topology::kNvlink));
  start(f, 2, computing(3, 4, Topology::kNvlink));
  const ShapeId all = f.intern(kCluster, computing(3, 4, Topology::kNvlink));
  EXPECT_EQ(f.search.drain_set(f.now(), all).size(), 3u);
  const ShapeId one = f.intern(kCluster, computing(1, 1));
  EXPECT_EQ(f.search.drain_set(f.now(), one), std::vector{NodeId(1)});
  f.reserved.reserve({&reserved, 1}, job(6));
  EXPECT_EQ(f.search.drain_set(f.now(), one), std::vector{NodeId(4)});
}

}  // namespace
}  // namespace subak
