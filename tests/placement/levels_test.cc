// Racks, blocks and what is above them: where gangs go, in which order their ranks are, and what labels
// contradict.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "builders.h"
#include "placement/fleet/views.h"

namespace subak {
namespace {

using namespace build;
using Ids = std::vector<std::uint32_t>;
using Names = std::vector<std::string>;

NodeSpec standing(std::uint32_t id, Names levels) {
  NodeSpec n = node(id, 8);
  n.set_levels(std::move(levels));
  return n;
}

// 2 blocks of 3 racks of 4 nodes: 1 to 4 are r1 of b1, 21 to 24 are r6 of b2.
void add_blocks(Site& f) {
  for (std::uint32_t i = 0; i < 24; ++i) {
    const std::string rack = "r" + std::to_string(i / 4 + 1), block = i < 12 ? "b1" : "b2";
    add(f, i + 1, standing(i + 1, {rack, block}));
  }
}

GangRequest wish(std::uint32_t pods, std::int64_t gpus) {
  GangRequest r = gang(pods, gpus, Topology::kRack);
  r.terms.prefer = true;
  return r;
}

TEST(Levels, AGangThatFillsNodesIsInOneRackOfTheTightestBlock) {
  Site f;
  add_blocks(f);
  start(f, 1, gang(1, 8, Topology::kAny));  // node 1: r1 has three
  EXPECT_EQ(where(f, gang(4, 8)), (Ids{5, 6, 7, 8})) << "the least is free in b1";
  EXPECT_EQ(where(f, gang(3, 8)), (Ids{2, 3, 4}));
}

TEST(Levels, WhatNoRackHoldsIsInOneBlockAndFewRacks) {
  Site f;
  add_blocks(f);
  for (std::uint64_t job = 1; job <= 5; ++job) start(f, job, gang(1, 8));  // 1 to 5
  // b1 has 7 in r2 and r3, b2 has 12.
  EXPECT_EQ(where(f, gang(7, 8)), (Ids{9, 10, 11, 12, 6, 7, 8}));
  EXPECT_EQ(where(f, gang(8, 8)), (Ids{13, 14, 15, 16, 17, 18, 19, 20}));
  EXPECT_EQ(where(f, wish(8, 8)), (Ids{13, 14, 15, 16, 17, 18, 19, 20}));
  EXPECT_EQ(where(f, gang(8, 8, Topology::kRack)), Ids{});
  // Both blocks: all of the larger one, then the tightest of the other.
  EXPECT_EQ(where(f, gang(14, 8)), (Ids{13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 6, 7}));
}

TEST(Levels, FewerRacksComeBeforeATighterBlock) {
  Site f;
  for (std::uint32_t i = 1; i <= 4; ++i) add(f, i, standing(i, {"a" + std::to_string(i), "b1"}));
  for (std::uint32_t i = 5; i <= 10; ++i) add(f, i, standing(i, {i <= 7 ? "c" : "d", "b2"}));
  EXPECT_EQ(where(f, gang(3, 8)), (Ids{5, 6, 7}));
  EXPECT_EQ(where(f, gang(4, 8)).front(), 5u);
}

TEST(Levels, AWishOfSmallPodsIsCloseTogetherToo) {
  Site f;
  add_blocks(f);
  start(f, 1, gang(1, 4));  // a fragment in b1
  EXPECT_EQ(where(f, gang(36, 1)).size(), 36u);
  std::map<std::string, int> racks;
  for (const std::uint32_t id : where(f, wish(36, 1))) ++racks[f.node(NodeId(id))->level(0)];
  EXPECT_EQ(racks.size(), 2u) << "32 of one rack and 4 of its neighbour";
}

TEST(Levels, ThreeLevelsAndMissingNames) {
  Site f;
  add(f, 1, standing(1, {"r1", "", "s1"}));
  add(f, 2, standing(2, {"r1", "", "s1"}));
  add(f, 3, standing(3, {"r2", "b2", "s1"}));
  add(f, 4, standing(4, {"r3", "b2", "s1"}));
  add(f, 5, standing(5, {"", "", "s2"}));
  add(f, 6, standing(6, {}));
  EXPECT_EQ(where(f, gang(2, 8, Topology::kRack)), (Ids{1, 2}));
  EXPECT_EQ(where(f, gang(2, 8)), (Ids{1, 2}));
  EXPECT_EQ(where(f, gang(4, 8)), (Ids{1, 2, 3, 4})) << "r1 is a block by itself";
  f.set_node(NodeId(2), kCluster, standing(2, {"r9", "b2", "s1"}), false, 0);
  EXPECT_EQ(where(f, gang(3, 8)), (Ids{2, 3, 4}));
}

TEST(Levels, ALevelThatNobodyNamesAnyMoreIsNone) {
  Site f;
  for (std::uint32_t i = 1; i <= 4; ++i) add(f, i, standing(i, {"a" + std::to_string(i), "b1"}));
  for (std::uint32_t i = 5; i <= 10; ++i) add(f, i, standing(i, {i <= 7 ? "c" : "d", "b2"}));
  for (const bool removed : {true, false}) {
    add(f, 11, standing(11, {"e", "b3", "s1", "z1"}));
    if (removed) f.remove_node(NodeId(11), 0);
    if (!removed) f.set_node(NodeId(11), kCluster, standing(11, {"e"}), false, 0);
    EXPECT_EQ(where(f, gang(3, 8)), (Ids{5, 6, 7})) << "fewer racks come before a tighter block";
  }
}

TEST(Levels, SegmentsOfABlockHaveNeighbouringRanks) {
  Site f;
  for (std::uint32_t i = 1; i <= 8; ++i) {
    NodeSpec n = node(i, 4, "c" + std::to_string((i + 1) / 2));
    const bool odd = (i + 1) / 2 % 2 == 1;
    n.levels = {"r" + std::to_string((i + 1) / 2), odd ? "b1" : "b2"};
    add(f, i, n);
  }
  EXPECT_EQ(where(f, gang(8, 4, Topology::kNvlink, 2)), (Ids{1, 2, 5, 6, 3, 4, 7, 8}));
}

TEST(Levels, WhatLabelsContradictIsSaid) {
  Site f;
  add_blocks(f);
  EXPECT_TRUE(topology_contradictions(f, kCluster, 10).empty());
  add(f, 25, standing(25, {"r1", "b2"}));
  add(f, 26, standing(26, {"r2"}));
  for (std::uint32_t i = 27; i <= 29; ++i) {
    NodeSpec n = node(i, 4, "c");
    n.levels = {i == 27 ? "r7" : "r8", "b2"};
    add(f, i, n);
  }
  EXPECT_EQ(
      topology_contradictions(f, kCluster, 10),
      (Names{R"("r1" of topology level 0 has nodes in several groups of level 1: "b1", "b2"; )"
             "it is taken as one in each",
             R"("r2" of topology level 0 has nodes in several groups of level 1: none, "b1"; )"
             "it is taken as one in each",
             R"(clique "c" has nodes in several groups of topology level 0: "r7", "r8"; )"
             "it stays one NVLink domain"}));
  EXPECT_EQ(topology_contradictions(f, kCluster, 1).size(), 1u);
  EXPECT_TRUE(topology_contradictions(f, ClusterId(9), 10).empty());
  EXPECT_EQ(where(f, gang(5, 8, Topology::kRack)), Ids{}) << "r1 of b1 and r1 of b2 are two";
  EXPECT_EQ(where(f, gang(3, 4, Topology::kNvlink)), (Ids{27, 28, 29}));
}

}  // namespace
}  // namespace subak
