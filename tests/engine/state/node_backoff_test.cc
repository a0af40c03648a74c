#include "engine/state/node_backoff.h"

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

TEST(NodeBackoff, AreByNodeAndPod) {
  state::NodeBackoff backoff;
  backoff.apply({kOne, pod(1), 1, 100, true});
  backoff.apply({kOne, pod(2), 1, 50, true});
  backoff.apply({kTwo, pod(1), 1, 70, true});
  backoff.check();
  EXPECT_EQ(backoff.size(), 3u);
  EXPECT_EQ(backoff.find(kOne, pod(2))->until_ms, 50);
  EXPECT_EQ(backoff.find(kTwo, pod(2)), nullptr);
  EXPECT_EQ(backoff.next_end(), 50);
  EXPECT_EQ(backoff.first().until_ms, 50);
  EXPECT_EQ(backoff.ended(49).size(), 0u);
  ASSERT_EQ(backoff.ended(70).size(), 2u);
  EXPECT_EQ(backoff.ended(70)[1].node, kTwo);  // by node
}

TEST(NodeBackoff, AreReplacedAndForgotten) {
  state::NodeBackoff backoff;
  backoff.apply({kOne, pod(1), 1, 100, true});
  backoff.apply({kOne, pod(1), 2, 300, true});
  EXPECT_EQ(backoff.size(), 1u);
  EXPECT_EQ(backoff.find(kOne, pod(1))->times, 2u);
  backoff.apply({kOne, pod(1), 0, 0, false});
  EXPECT_EQ(backoff.size(), 0u);
  EXPECT_EQ(backoff.next_end(), std::nullopt);
  backoff.apply({kTwo, pod(1), 1, 100, true});
  backoff.drop_node(kTwo);
  EXPECT_EQ(backoff.find(kTwo, pod(1)), nullptr);
  backoff.check();
}

// What the scheduler refused is the job's own; others with such pods may know where.
TEST(NodeBackoff, CountsTheRejectionsOfAllPods) {
  state::NodeBackoff backoff;
  backoff.apply({kOne, pod(1), 1, 100, true});
  EXPECT_EQ(backoff.of_any_pod(kOne), nullptr);
  fact::NodeBackedOff all{.node = kOne, .shape = {}, .times = 2, .until_ms = 900, .any_pod = true};
  all.recent = {{10}, {20}};
  backoff.apply(all);
  backoff.check();
  EXPECT_EQ(backoff.size(), 2u);
  EXPECT_EQ(backoff.of_any_pod(kOne)->recent.size(), 2u);
  EXPECT_EQ(backoff.of_any_pod(kTwo), nullptr);
  EXPECT_EQ(backoff.find(kOne, PodShape()), nullptr) << "it is of no shape";
  EXPECT_EQ(backoff.nodes_rejecting(PodShape()), 0u);
  EXPECT_EQ(backoff.nodes_rejecting(pod(1)), 1u);
  backoff.apply({kTwo, pod(1), 1, 100, true});
  EXPECT_EQ(backoff.nodes_rejecting(pod(1)), 2u);
  backoff.apply({.node = kOne, .shape = {}, .any_pod = true});
  EXPECT_EQ(backoff.of_any_pod(kOne), nullptr);
  EXPECT_EQ(backoff.size(), 2u);
  backoff.check();
}

TEST(NodeBackoff, OfJobs) {
  state::NodeBackoff backoff;
  const JobId mine(ClusterId(1), 1), other(ClusterId(1), 2);
  backoff.apply({kOne, pod(1), 1, 100, true});
  backoff.apply({kOne, pod(1), 2, 40, true, mine});
  backoff.apply({kTwo, pod(1), 1, 70, true, mine});
  backoff.apply({kTwo, pod(2), 1, 90, false, mine});
  backoff.apply({kTwo, pod(2), 1, 60, true, other});
  backoff.check();
  EXPECT_EQ(backoff.find(kOne, pod(1))->until_ms, 100);
  EXPECT_EQ(backoff.find(kOne, pod(1), mine)->until_ms, 40);
  EXPECT_EQ(backoff.find(kOne, pod(1), other), nullptr);
  EXPECT_EQ(backoff.of_job(mine).size(), 3u);
  ASSERT_EQ(backoff.nodes_of(mine).size(), 2u);
  EXPECT_TRUE(backoff.nodes_of(mine)[1].backed_off);
  EXPECT_EQ(backoff.nodes_of(mine)[1].until_ms, 70);
  EXPECT_EQ(backoff.refused_alike(pod(1)), (std::vector<NodeId>{kOne, kTwo}));
  EXPECT_EQ(backoff.refused_alike(pod(2)), std::vector<NodeId>{kTwo});
  EXPECT_EQ(backoff.first().job, mine);
  backoff.apply({kTwo, pod(1), 1, 170, false, mine});
  EXPECT_FALSE(backoff.nodes_of(mine)[1].backed_off);
  EXPECT_EQ(backoff.refused_alike(pod(1)), std::vector<NodeId>{kOne});
  backoff.drop_node(kTwo);
  backoff.check();
  EXPECT_TRUE(backoff.nodes_of(other).empty());
  EXPECT_TRUE(backoff.refused_alike(pod(2)).empty());
  backoff.apply({kOne, pod(1), 0, 0, false, mine});
  backoff.check();
  EXPECT_FALSE(backoff.any_of_jobs());
  EXPECT_EQ(backoff.size(), 1u);
}

}  // namespace
}  // namespace subak
