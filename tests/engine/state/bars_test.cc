#include "engine/state/observed/bars.h"

#include <gtest/gtest.h>

#include <vector>

namespace subak {
namespace {

PodShape pod(std::int64_t gpus) {
  PodShape shape;
  shape.kind = GpuKind::kWhole;
  shape.gpus = gpus;
  return shape;
}

const NodeId kOne(1), kTwo(2);

TEST(Bars, AreByNodeAndPod) {
  state::Bars bars;
  bars.apply({kOne, pod(1), 1, 100, true});
  bars.apply({kOne, pod(2), 1, 50, true});
  bars.apply({kTwo, pod(1), 1, 70, true});
  bars.check();
  EXPECT_EQ(bars.size(), 3u);
  EXPECT_EQ(bars.find(kOne, pod(2))->until_ms, 50);
  EXPECT_EQ(bars.find(kTwo, pod(2)), nullptr);
  EXPECT_EQ(bars.next_end(), 50);
  EXPECT_EQ(bars.first().until_ms, 50);
  EXPECT_EQ(bars.ended(49).size(), 0u);
  ASSERT_EQ(bars.ended(70).size(), 2u);
  EXPECT_EQ(bars.ended(70)[1].node, kTwo);  // by node
}

TEST(Bars, AreReplacedAndForgotten) {
  state::Bars bars;
  bars.apply({kOne, pod(1), 1, 100, true});
  bars.apply({kOne, pod(1), 2, 300, true});
  EXPECT_EQ(bars.size(), 1u);
  EXPECT_EQ(bars.find(kOne, pod(1))->times, 2u);
  bars.apply({kOne, pod(1), 0, 0, false});
  EXPECT_EQ(bars.size(), 0u);
  EXPECT_EQ(bars.next_end(), std::nullopt);
  bars.apply({kTwo, pod(1), 1, 100, true});
  bars.drop_node(kTwo);
  EXPECT_EQ(bars.find(kTwo, pod(1)), nullptr);
  bars.check();
}

// What the scheduler refused is the job's own; others with such pods may know where.
TEST(Bars, OfJobs) {
  state::Bars bars;
  const JobId mine(ClusterId(1), 1), other(ClusterId(1), 2);
  bars.apply({kOne, pod(1), 1, 100, true});
  bars.apply({kOne, pod(1), 2, 40, true, mine});
  bars.apply({kTwo, pod(1), 1, 70, true, mine});
  bars.apply({kTwo, pod(2), 1, 90, false, mine});
  bars.apply({kTwo, pod(2), 1, 60, true, other});
  bars.check();
  EXPECT_EQ(bars.find(kOne, pod(1))->until_ms, 100);
  EXPECT_EQ(bars.find(kOne, pod(1), mine)->until_ms, 40);
  EXPECT_EQ(bars.find(kOne, pod(1), other), nullptr);
  EXPECT_EQ(bars.of_job(mine).size(), 3u);
  ASSERT_EQ(bars.nodes_of(mine).size(), 2u);
  EXPECT_TRUE(bars.nodes_of(mine)[1].barred);
  EXPECT_EQ(bars.nodes_of(mine)[1].until_ms, 70);
  EXPECT_EQ(bars.refused_alike(pod(1)), (std::vector<NodeId>{kOne, kTwo}));
  EXPECT_EQ(bars.refused_alike(pod(2)), std::vector<NodeId>{kTwo});
  EXPECT_EQ(bars.first().job, mine);
  bars.apply({kTwo, pod(1), 1, 170, false, mine});
  EXPECT_FALSE(bars.nodes_of(mine)[1].barred);
  EXPECT_EQ(bars.refused_alike(pod(1)), std::vector<NodeId>{kOne});
  bars.drop_node(kTwo);
  bars.check();
  EXPECT_TRUE(bars.nodes_of(other).empty());
  EXPECT_TRUE(bars.refused_alike(pod(2)).empty());
  bars.apply({kOne, pod(1), 0, 0, false, mine});
  bars.check();
  EXPECT_FALSE(bars.any_of_jobs());
  EXPECT_EQ(bars.size(), 1u);
}

}  // namespace
}  // namespace subak
