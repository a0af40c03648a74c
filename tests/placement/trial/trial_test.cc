// The pods on trial, and which nodes an attempt lets them use.
#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "tests/placement/ways/attempt_on.h"

namespace subak {
namespace {

using namespace build;
using Ids = std::vector<std::uint32_t>;

void add_nodes(Site& f, std::uint32_t nodes, const std::string& clique = "") {
  for (std::uint32_t i = 1; i <= nodes; ++i) add(f, i, node(i, 8, clique));
}

TEST(Trial, UndoGivesBackWhatWasFree) {
  Site f;
  add_nodes(f, 2);
  AttemptOn on(f, gang(3, 4));
  Trial& trial = on.attempt.trial();
  const Room before = trial.room(1);
  auto run = on.all()[0];
  run.count = 2;
  ASSERT_TRUE(trial.place(run, 1, kAllGpus, {}));
  EXPECT_EQ(trial.room(1).whole, 0u);
  EXPECT_NE(trial.nodes().find(1), nullptr);
  EXPECT_EQ(on.nodes(), (Ids{1, 1, 0}));
  trial.undo_to(1);
  EXPECT_EQ(on.nodes(), (Ids{1, 0, 0}));
  EXPECT_EQ(std::popcount(trial.room(1).whole), 4);
  trial.undo_to(0);
  EXPECT_EQ(trial.room(1), before);
  EXPECT_NE(trial.nodes().find(1), nullptr) << "a node that was touched stays known";
  EXPECT_EQ(trial.nodes().find(2), nullptr);
}

TEST(Trial, ARunIsPlacedCompleteOrNotAtAll) {
  Site f;
  add_nodes(f, 1);
  AttemptOn on(f, gang(3, 4));
  Trial& trial = on.attempt.trial();
  const Room before = trial.room(1);
  EXPECT_FALSE(trial.place(on.all()[0], 1, kAllGpus, {}));
  EXPECT_EQ(trial.mark(), 0u);
  EXPECT_EQ(trial.room(1), before);
}

TEST(Trial, AFleetIsNotTold) {
  Site f;
  add_nodes(f, 1);
  {
    AttemptOn on(f, gang(2, 4));
    ASSERT_TRUE(on.attempt.trial().place(on.all()[0], 1, kAllGpus, {}));
  }
  EXPECT_EQ(where(f, gang(1, 8)), Ids{1});
}

TEST(Trial, EqualPodsAreSortedByNode) {
  Site f;
  add_nodes(f, 3);
  AttemptOn on(f, gang(4, 4));
  Trial& trial = on.attempt.trial();
  const auto all = on.all()[0];
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    ASSERT_TRUE(trial.place({all.pods, all.index, rank, 1}, rank % 2 == 0 ? 3 : 1, kAllGpus, {}));
  }
  trial.sort_slots(all, [](NodeIndex i) { return i; });
  EXPECT_EQ(on.nodes(), (Ids{1, 1, 3, 3}));
  trial.reorder_segments(2, {2, 0});
  EXPECT_EQ(on.nodes(), (Ids{3, 3, 1, 1}));
  trial.undo_to(0);
  EXPECT_EQ(std::popcount(trial.room(1).whole), 8);
  EXPECT_EQ(std::popcount(trial.room(3).whole), 8);
}

TEST(TrialDeathTest, BrokenPromises) {
  Site f;
  add_nodes(f, 1);
  AttemptOn on(f, gang(2, 2));
  Trial& trial = on.attempt.trial();
  const auto all = on.all()[0];
  auto one = all;
  one.count = 1;
  ASSERT_TRUE(trial.place(one, 1, kAllGpus, {}));
  EXPECT_DEATH(trial.place(one, 1, kAllGpus, {}), "a pod on trial is in one slot");
  EXPECT_DEATH(trial.undo_to(2), "a mark is not behind");
  EXPECT_DEATH(trial.take_slots(), "a gang is placed complete");
  EXPECT_DEATH(trial.reorder_segments(1, {0, 1}), "a complete gang is sorted");
  PodRules none;
  EXPECT_DEATH(Trial(on.memory.memory.rooms, on.attempt.query().scene, 1, none),
               "one trial at a time");
}

TEST(Attempt, BoundsLeaveOutNodes) {
  Site f;
  add(f, 1, node(1, 8));
  NodeSpec split = node(2, 8);
  split.gpus_per_domain = 4;
  add(f, 2, split);
  NodeSpec apart = node(3, 8);
  apart.product = "NVIDIA-L4";
  add(f, 3, apart);
  f.take(f.intern(kCluster, gang(1, 1)), 0, {NodeId(1), 1, 1000}, job(1), 0);
  AttemptOn on(f, gang(1, 1));
  const Index x = on.all()[0].index;
  const auto nodes = [&](const Bounds& bounds) {
    Ids out;
    for (NodeIndex i = 1; i <= 3; ++i) {
      if (on.attempt.eligible(bounds, x, i)) out.push_back(i);
    }
    return out;
  };
  EXPECT_EQ(nodes({}), (Ids{1, 2, 3}));
  EXPECT_EQ(nodes({.linked = true}), (Ids{1, 2}));
  EXPECT_EQ(nodes({.unsplit = true}), (Ids{1, 3}));
  EXPECT_EQ(nodes({.fragments = true}), Ids{1});
  const ProductId l4 = on.attempt.query().node(3).product;
  EXPECT_EQ(nodes({.product = l4}), Ids{3});
  EXPECT_EQ(nodes({.without = {&l4, 1}}), (Ids{1, 2}));
  TakenDomains taken;
  taken.add(on.attempt.query().node(1).domain, kAllGpus);
  EXPECT_EQ(nodes({.taken = &taken}), (Ids{2, 3}));
}

TEST(Attempt, ReservedNodesAreForTheirOwner) {
  Site f;
  add_nodes(f, 2);
  const NodeId first(1);
  f.reserved.reserve({&first, 1}, job(7));
  AttemptOn other(f, gang(1, 1));
  EXPECT_FALSE(other.attempt.eligible({}, other.all()[0].index, 1));
  EXPECT_TRUE(other.attempt.saw_reserved());
  AttemptOn owner(f, gang(1, 1), AlikeNodes::kJudgedOnce, job(7));
  EXPECT_TRUE(owner.attempt.eligible({}, owner.all()[0].index, 1));
  EXPECT_FALSE(owner.attempt.saw_reserved());
}

TEST(SpareNodes, TheLastWholeNodesOfACliqueStayFree) {
  Site f;
  add_nodes(f, 3, "a");
  AttemptOn on(f, gang(2, 8, Topology::kNvlink));
  const auto all = on.all()[0];
  const Bounds two{.spare = 2};
  auto one = all;
  one.count = 1;
  EXPECT_TRUE(on.attempt.eligible(two, all.index, 1));
  ASSERT_TRUE(on.attempt.place(two, one, 1, kAllGpus));
  EXPECT_FALSE(on.attempt.eligible(two, all.index, 2)) << "one whole node would be left";
  EXPECT_TRUE(on.attempt.eligible({.spare = 1}, all.index, 2));
  on.attempt.trial().undo_to(0);
  EXPECT_TRUE(on.attempt.eligible(two, all.index, 2));

  NodeSpec broken = node(3, 8, "a");
  broken.ready = false;
  add(f, 3, broken);
  AttemptOn again(f, gang(2, 8, Topology::kNvlink));
  EXPECT_FALSE(again.attempt.eligible(two, again.all()[0].index, 1));
  EXPECT_TRUE(again.attempt.eligible({.spare = 2, .spent_counts = true}, again.all()[0].index, 1));
}

}  // namespace
}  // namespace subak
