#include "placement/explain/mig_plan.h"

#include <gtest/gtest.h>

#include "builders.h"

namespace subak {
namespace {

using namespace build;

NodeSpec card_node(std::uint32_t id, std::int64_t gpus, const std::vector<MigSlices>& slices) {
  NodeSpec n = node(id, gpus);
  n.product = "NVIDIA-H100-80GB-HBM3";
  n.mig_gpus = slices.empty() ? 0 : gpus;
  n.mig = slices;
  return n;
}

GangRequest slices(std::int64_t each, const std::string& profile) {
  GangRequest r = gang(1, each);
  r.groups[0].shape.kind = GpuKind::kMig;
  r.groups[0].shape.profile = profile;
  return r;
}

MigPlan plan(const Site& f, const MigDemand& waiting, const std::set<NodeId>& reserved = {}) {
  return mig_plan(f, kCluster, waiting, reserved);
}

const MigProfileTotals* row(const MigPlan& plan, const std::string& profile) {
  for (const MigProfileTotals& r : plan.profiles) {
    if (r.profile == profile) return &r;
  }
  return nullptr;
}

TEST(MigPlan, TotalsByProfile) {
  Site f;
  add(f, 1, card_node(1, 2, {{"1g.10gb", 14}}));
  add(f, 2, card_node(2, 1, {{"1g.10gb", 3}, {"3g.40gb", 1}}));
  NodeSpec closed = card_node(3, 1, {{"1g.10gb", 7}});
  closed.unfit = "nvidia.com/mig.config.state is pending";
  add(f, 3, closed);
  start(f, 1, slices(2, "3g.40gb"));  // does not fit
  start(f, 2, slices(1, "3g.40gb"));
  const MigPlan p = plan(f, {{{"1g.10gb", 5}, {"7g.80gb", 1}}, 0});
  ASSERT_EQ(p.profiles.size(), 3u);
  const MigProfileTotals* ones = row(p, "1g.10gb");
  ASSERT_NE(ones, nullptr);
  EXPECT_EQ(ones->configured, 24);
  EXPECT_EQ(ones->used, 0);
  EXPECT_EQ(ones->free, 17) << "the closed node gives none";
  EXPECT_EQ(ones->waiting, 5);
  EXPECT_EQ(ones->possible, 17) << "n1 has as many as it can have, and n2 is not idle";
  const MigProfileTotals* threes = row(p, "3g.40gb");
  ASSERT_NE(threes, nullptr);
  EXPECT_EQ(threes->used, 1);
  EXPECT_EQ(threes->free, 0);
  EXPECT_EQ(threes->possible, 4) << "n1 could be four of them";
  EXPECT_EQ(row(p, "7g.80gb")->configured, 0);
  EXPECT_EQ(row(p, "7g.80gb")->possible, 2);
}

TEST(MigPlan, AdvisesTheConfigurationThatServesMost) {
  Site f;
  for (std::uint32_t id = 1; id <= 3; ++id) add(f, id, card_node(id, 1, {}));
  const MigPlan p = plan(f, {{{"1g.10gb", 9}, {"3g.40gb", 1}}, 1});
  EXPECT_EQ(p.advice.config, "all-1g.10gb");
  EXPECT_EQ(p.advice.nodes, (std::vector<NodeId>{NodeId(1), NodeId(2)}))
      << "the third is for the job that waits for a whole GPU";
  EXPECT_EQ(p.advice.slices, (std::vector<MigSlices>{{"1g.10gb", 9}}));
  EXPECT_EQ(p.advice.gpus, 0);
  EXPECT_EQ(p.advice.gain, 9 * 125);
  const MigPlan both = plan(f, {{{"1g.10gb", 2}, {"2g.20gb", 1}, {"3g.40gb", 1}}, 0});
  EXPECT_EQ(both.advice.config, "all-balanced");
  EXPECT_EQ(both.advice.nodes, std::vector<NodeId>{NodeId(1)});
  EXPECT_EQ(both.advice.gain, 2 * 125 + 250 + 500);
}

TEST(MigPlan, SlicesThatNothingWaitsForBecomeWholeGpus) {
  Site f;
  add(f, 1, card_node(1, 2, {{"1g.10gb", 14}}));
  const MigPlan p = plan(f, {{}, 8});
  EXPECT_EQ(p.advice.config, "all-disabled");
  EXPECT_EQ(p.advice.gpus, 2);
  EXPECT_TRUE(p.advice.slices.empty());
  EXPECT_EQ(p.advice.gain, 2000);
  EXPECT_EQ(plan(f, {{{"1g.10gb", 14}}, 8}).advice.config, "") << "the slices are needed";
}

TEST(MigPlan, AtMostAHundredNodesAtOnce) {
  Site f;
  for (std::uint32_t id = 1; id <= 101; ++id) add(f, id, card_node(id, 1, {}));
  const MigPlan p = plan(f, {{{"1g.10gb", 707}}, 0});
  EXPECT_EQ(p.advice.nodes.size(), 100u);
  EXPECT_EQ(p.advice.slices, (std::vector<MigSlices>{{"1g.10gb", 700}}));
  EXPECT_EQ(row(p, "1g.10gb")->possible, 707);
}

TEST(MigPlan, OnlyIdleNodesChange) {
  Site f;
  const MigDemand waiting{{{"1g.10gb", 7}}, 0};
  EXPECT_EQ(plan(f, waiting).advice.config, "");
  add(f, 1, card_node(1, 1, {}));
  EXPECT_EQ(plan(f, waiting).advice.config, "all-1g.10gb");
  EXPECT_EQ(plan(f, waiting, {NodeId(1)}).advice.config, "") << "reserved";
  EXPECT_EQ(plan(f, {{{"1g.5gb", 7}}, 0}).advice.config, "") << "an H100 has no such slices";
  NodeSpec n = card_node(1, 1, {});
  n.unfit = "nvidia.com/mig.config.state is failed";
  add(f, 1, n);
  EXPECT_EQ(plan(f, waiting).advice.config, "");
  add(f, 1, card_node(1, 1, {}));
  start(f, 1, gang(1, 1));
  EXPECT_EQ(plan(f, waiting).advice.config, "") << "MIG Manager fails while a pod holds the GPU";
}

}  // namespace
}  // namespace subak
