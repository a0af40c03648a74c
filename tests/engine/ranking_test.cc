// What `why` says of the accounts that are compared: parts of the whole fleet.
#include <gtest/gtest.h>

#include <string>

#include "engine/engine.h"
#include "inputs.h"

namespace subak {
namespace {

class Ranking : public ::testing::Test {
 protected:
  Ranking() {
    engine_.apply(at(0, in::SetCluster{"main", Mode::kEnforce, {}, "", false}));
    NodeSpec node;
    node.name = "n0";
    node.product = "H100";
    node.gpus = 8;
    engine_.apply(at(0, in::ImportNodes{"main", {node}, "test", false}));
  }
  void account(const std::string& path, std::int64_t shares) {
    in::SetAccount set;
    set.spec.path = path;
    set.spec.shares = shares;
    set.reason = "test";
    ASSERT_FALSE(engine_.apply(at(0, set)).reply.error);
  }
  JobId submit(const std::string& account, std::int64_t gpus) {
    in::SubmitJob job;
    job.cluster = "main";
    job.account = account;
    job.request.groups.resize(1);
    job.request.groups[0].shape.kind = GpuKind::kWhole;
    job.request.groups[0].shape.gpus = gpus;
    const JobId id = engine_.apply(at(0, job)).reply.job;
    engine_.apply(at(0, in::Pass{}));
    return id;
  }
  const RankStep::Entry* entry(const Explanation& why, const std::string& path) {
    for (const RankStep& step : why.ranking) {
      for (const RankStep::Entry& e : step.entries) {
        if (e.path == path) return &e;
      }
    }
    return nullptr;
  }

  Engine engine_;
};

TEST_F(Ranking, WhoHoldsTheFleetHasItsPartThoughNothingOfItWaits) {
  account("a", 1);
  account("b", 1);
  account("idle", 2);
  submit("b", 8);
  const auto why = engine_.explain(submit("a", 8), 0);
  ASSERT_EQ(why->ranking.front().entries.size(), 2u);
  const RankStep::Entry* const a = entry(*why, "a");
  const RankStep::Entry* const b = entry(*why, "b");
  ASSERT_TRUE(a != nullptr && b != nullptr);
  EXPECT_TRUE(a->on_path);
  EXPECT_FALSE(b->on_path);
  EXPECT_DOUBLE_EQ(a->shares, 0.25) << "of all, whoever has jobs";
  EXPECT_DOUBLE_EQ(b->shares, 0.25);
  EXPECT_DOUBLE_EQ(a->target, 0.5) << "the third asks for nothing";
  EXPECT_DOUBLE_EQ(b->target, 0.5);
  EXPECT_EQ(b->alloc, 8000);
  EXPECT_EQ(b->next, 0);
  EXPECT_EQ(a->next, 8000);
}

TEST_F(Ranking, BelowAnAccountPartsAreOfTheWholeFleetToo) {
  account("a", 3);
  account("a.x", 1);
  account("a.y", 1);
  account("b", 1);
  submit("b", 4);
  submit("a.y", 4);
  const auto why = engine_.explain(submit("a.x", 8), 0);
  ASSERT_EQ(why->ranking.size(), 2u) << "the root and a";
  EXPECT_DOUBLE_EQ(entry(*why, "a")->shares, 0.75);
  EXPECT_DOUBLE_EQ(entry(*why, "a")->target, 0.75);
  EXPECT_DOUBLE_EQ(entry(*why, "a.x")->shares, 0.375);
  EXPECT_DOUBLE_EQ(entry(*why, "a.x")->target, 0.375);
  EXPECT_DOUBLE_EQ(entry(*why, "a.y")->target, 0.375);
}

}  // namespace
}  // namespace subak
