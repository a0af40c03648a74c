#include <gtest/gtest.h>

#include "sim/read/workload.h"

namespace subak::sim {
namespace {

std::vector<NodeSpec> fleet(const std::vector<std::pair<std::int64_t, std::string>>& nodes) {
  std::vector<NodeSpec> specs;
  for (const auto& [gpus, product] : nodes) {
    NodeSpec& n = specs.emplace_back();
    n.name = "n" + std::to_string(specs.size());
    n.gpus = gpus;
    n.product = product;
  }
  return specs;
}

TraceJob job(double gpus, std::uint32_t pods = 0, std::vector<std::string> products = {}) {
  TraceJob j;
  j.milligpu = static_cast<MilliGpu>(gpus * 1000);
  j.gang_pods = pods;
  j.products = std::move(products);
  return j;
}

// "2x8 1x4" for two pods of 8 GPUs and one of 4.
std::string text(const PlannedGang& plan) {
  std::string s;
  for (const PodGroup& g : plan.request.groups) {
    s += (s.empty() ? "" : " ") + std::to_string(g.count) + "x" + std::to_string(g.shape.gpus);
  }
  return s + (plan.placeable ? "" : " never");
}

TEST(Gang, TakesAsFewPodsAsFitTheNodes) {
  const auto nodes = fleet({{8, "A"}, {8, "A"}, {2, "B"}, {4, "B"}});
  EXPECT_EQ(text(plan_gang(job(1), nodes)), "1x1");
  EXPECT_EQ(text(plan_gang(job(8), nodes)), "1x8");
  EXPECT_EQ(text(plan_gang(job(12), nodes)), "1x8 1x4");
  EXPECT_EQ(text(plan_gang(job(16), nodes)), "2x8");
  EXPECT_EQ(text(plan_gang(job(18), nodes)), "2x8 1x2");
  EXPECT_EQ(text(plan_gang(job(20), nodes)), "2x8 1x4");
  EXPECT_EQ(text(plan_gang(job(22), nodes)), "5x4 1x2");  // 3 of 8 do not fit
  EXPECT_EQ(text(plan_gang(job(23), nodes)), "1x23 never");
  EXPECT_EQ(text(plan_gang(job(6, 0, {"B"}), nodes)), "1x4 1x2");
  EXPECT_EQ(text(plan_gang(job(1, 0, {"C"}), nodes)), "1x1 never");
}

TEST(Gang, SplitsIntoTheWrittenNumberOfPods) {
  const auto nodes = fleet({{8, "A"}, {8, "A"}, {3, "B"}});
  EXPECT_EQ(text(plan_gang(job(8, 2), nodes)), "2x4");
  EXPECT_EQ(text(plan_gang(job(8, 3), nodes)), "2x3 1x2");
  EXPECT_EQ(text(plan_gang(job(19, 4), nodes)), "3x5 1x4 never");
  EXPECT_EQ(text(plan_gang(job(15, 4), nodes)), "3x4 1x3");
}

TEST(Gang, PartOfOneGpuIsAFraction) {
  const PlannedGang plan = plan_gang(job(0.46), fleet({{1, "T4"}}));
  ASSERT_EQ(plan.request.groups.size(), 1u);
  EXPECT_EQ(plan.request.groups[0].shape.kind, GpuKind::kFraction);
  EXPECT_EQ(plan.request.groups[0].shape.milligpu, 460);
  EXPECT_TRUE(plan.placeable);
}

}  // namespace
}  // namespace subak::sim
