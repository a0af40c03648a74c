#include "engine/state/nodes.h"

#include <gtest/gtest.h>

namespace subak::state {
namespace {

const ClusterId kOne(1), kTwo(2);

TEST(Nodes, AreFoundByClusterAndName) {
  Nodes nodes;
  nodes.set(kOne, "n1", NodeId(1), 0);
  nodes.set(kTwo, "n1", NodeId(2), 0);
  EXPECT_EQ(nodes.find(kOne, "n1"), NodeId(1));
  EXPECT_EQ(nodes.find(kTwo, "n1"), NodeId(2));
  EXPECT_FALSE(nodes.find(kTwo, "n2"));
  nodes.remove(kOne, "n1");
  EXPECT_FALSE(nodes.find(kOne, "n1"));
  EXPECT_EQ(nodes.size(), 1u);
  nodes.check();
}

TEST(Nodes, ANumberIsNotUsedAgain) {
  Nodes nodes;
  nodes.set(kOne, "n1", NodeId(4), 0);
  nodes.remove(kOne, "n1");
  EXPECT_EQ(nodes.last(), NodeId(4));
}

TEST(Nodes, EachChangeIsAVersion) {
  Nodes nodes;
  const auto first = nodes.version();
  nodes.set(kOne, "n1", NodeId(1), 0);
  const auto second = nodes.version();
  nodes.set(kOne, "n1", NodeId(1), 0);
  const auto third = nodes.version();
  nodes.remove(kOne, "n1");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_LT(third, nodes.version());
}

TEST(Nodes, DaysAreBilledFromTheirMidnightAndNeverBackwards) {
  Nodes nodes;
  nodes.begin_bills(3 * kDayMs + 5);
  EXPECT_EQ(nodes.billed_until(), 3 * kDayMs);
  nodes.billed(5 * kDayMs);
  nodes.billed(4 * kDayMs + 7);
  EXPECT_EQ(nodes.billed_until(), 5 * kDayMs);
}

TEST(Nodes, LostCliquesComeInTheOrderOfTheirLoss) {
  using Lost = std::pair<TimeMs, NodeId>;
  Nodes nodes;
  nodes.set(kOne, "n1", NodeId(1), 0, 70);
  nodes.set(kOne, "n2", NodeId(2), 0, 50);
  nodes.set(kOne, "n3", NodeId(3), 0);
  EXPECT_EQ(nodes.first_lost_clique(), Lost(50, NodeId(2)));
  nodes.set(kOne, "n2", NodeId(2), 0);
  nodes.check();
  EXPECT_EQ(nodes.first_lost_clique(), Lost(70, NodeId(1)));
  nodes.remove(kOne, "n1");
  EXPECT_EQ(nodes.first_lost_clique(), std::nullopt);
  nodes.check();
}

TEST(NodesDeath, ANodeKeepsItsNumber) {
  Nodes nodes;
  nodes.set(kOne, "n1", NodeId(1), 0);
  EXPECT_DEATH(nodes.set(kOne, "n1", NodeId(2), 0), "keeps its number");
  EXPECT_DEATH(nodes.remove(kOne, "n2"), "was there");
  EXPECT_DEATH(nodes.set(kOne, "n2", NodeId(1), 0), "one number");
}

}  // namespace
}  // namespace subak::state
