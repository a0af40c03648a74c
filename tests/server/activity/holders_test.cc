// The join of samples with the pods that hold GPUs.
#include "server/activity/holders.h"

#include <gtest/gtest.h>

#include "tests/server/activity/world.h"

namespace subak {
namespace {

class JoinTest : public ::testing::Test {
 protected:
  JoinTest() { held_.nodes = {node(1, "n1"), node(2, "n2")}; }
  Joined run() { return joined(held_, samples_, last_); }

  HeldGpus held_;
  ActivitySamples samples_;
  LastHolders last_;
};

TEST(ActivityClass, HasBoundsAtOneAndTwentyFivePercent) {
  EXPECT_EQ(class_of(0), ActivityClass::kIdle);
  EXPECT_EQ(class_of(0.0099), ActivityClass::kIdle);
  EXPECT_EQ(class_of(0.01), ActivityClass::kLow);
  EXPECT_EQ(class_of(0.25), ActivityClass::kLow);
  EXPECT_EQ(class_of(0.2501), ActivityClass::kActive);
}

TEST_F(JoinTest, CountsTheDevicesOfAPodByName) {
  held_.pods = {pod(1, 1, 4, "ml/a"), pod(2, 1, 2, "ml/b")};
  samples_.devices = {device("n1", 0, 0, "ml/a"), device("n1", 1, 0.2, "ml/a"),
                      device("n1", 2, 0.9, "ml/a"), device("n1", 5, 1, "ml/b"), device("n1", 6, 0)};
  samples_.devices[0].watts = 100;
  samples_.devices[1].watts = 200;
  const Joined out = run();
  EXPECT_EQ(out.pods[0].idle, 1u);
  EXPECT_EQ(out.pods[0].low, 1u);
  EXPECT_EQ(out.pods[0].active, 1u);
  EXPECT_EQ(out.pods[0].devices, 4u) << "one of four GPUs has no sample";
  EXPECT_DOUBLE_EQ(out.pods[0].watts, 300);
  EXPECT_EQ(out.pods[1].active, 1u);
  EXPECT_TRUE(out.unheld.empty());
}

TEST_F(JoinTest, APodWithMoreDevicesThanItHoldsIsDividedByAll) {
  held_.pods = {pod(1, 1, 1, "ml/a")};
  samples_.devices = {device("n1", 0, 1, "ml/a"), device("n1", 1, 0, "ml/a")};
  const Joined out = run();
  EXPECT_EQ(out.pods[0].devices, 2u);
  EXPECT_EQ(out.pods[0].observed(), 2u);
}

TEST_F(JoinTest, FindsABusyGpuThatNoPodHolds) {
  held_.pods = {pod(1, 1, 1, "ml/a")};
  samples_.devices = {device("n1", 0, 1, "ml/a"), device("n1", 1, 0.7), device("n1", 2, 0.005),
                      device("n2", 3, 0.4, "other/x")};
  const Joined out = run();
  ASSERT_EQ(out.unheld.size(), 2u);
  EXPECT_EQ(out.unheld[0], (UnheldGpu{"east", "n1", "1", "", 0.7}));
  EXPECT_EQ(out.unheld[1], (UnheldGpu{"east", "n2", "3", "other/x", 0.4}));
}

TEST_F(JoinTest, APodThatHasJustEndedExplainsABusyGpuOnce) {
  held_.pods = {pod(1, 1, 1, "ml/a"), pod(2, 2, 1, "ml/b")};
  last_ = last_holders(held_);
  held_.pods.clear();
  samples_.devices = {device("n1", 0, 1, "ml/a"), device("n2", 1, 1)};
  EXPECT_TRUE(run().unheld.empty());
  last_ = last_holders(held_);
  EXPECT_EQ(run().unheld.size(), 2u);
}

TEST_F(JoinTest, WithoutPodsInTheSamplesTheNodeDecides) {
  held_.pods = {pod(1, 1, 8, "ml/a")};
  for (int i = 0; i < 8; ++i) samples_.devices.push_back(device("n1", i, i < 3 ? 0 : 1));
  const Joined out = run();
  EXPECT_EQ(out.pods[0].idle, 3u);
  EXPECT_EQ(out.pods[0].active, 5u);
  EXPECT_TRUE(out.unheld.empty());
}

TEST_F(JoinTest, WithoutPodsInTheSamplesAMixedNodeIsNotKnown) {
  held_.pods = {pod(1, 1, 2, "ml/a"), pod(2, 1, 2, "ml/b")};
  samples_.devices = {device("n1", 0, 0), device("n1", 1, 1), device("n1", 2, 1),
                      device("n1", 3, 1)};
  Joined out = run();
  EXPECT_EQ(out.pods[0].observed() + out.pods[1].observed(), 0u);
  EXPECT_TRUE(out.unheld.empty());
  samples_.devices.push_back(device("n1", 4, 1));
  samples_.devices.push_back(device("n1", 5, 1));
  out = run();
  ASSERT_EQ(out.unheld.size(), 1u) << "five busy GPUs, four of them held";
  EXPECT_EQ(out.unheld[0].gpu, "");
  for (DeviceSample& d : samples_.devices) d.activity = 0;
  out = run();
  EXPECT_EQ(out.pods[0].idle, 2u) << "all are idle, so which one does not matter";
}

TEST_F(JoinTest, APodThatIsNotBoundUsesNothing) {
  held_.pods = {pod(1, 1, 1, "ml/a")};
  held_.pods[0].state = UsageState::kHeld;
  samples_.devices = {device("n1", 0, 1)};
  const Joined out = run();
  EXPECT_EQ(out.pods[0].observed(), 0u);
  EXPECT_EQ(out.unheld.size(), 1u);
}

TEST_F(JoinTest, AMigInstanceCountsInsteadOfItsGpu) {
  OpenUsage slice = pod(1, 1, 1, "ml/a");
  slice.gpus = 0;
  slice.milligpu = 125;
  held_.pods = {slice};
  DeviceSample instance = device("n1", 0, 0.5, "ml/a"), whole = device("n1", 0, 0.9);
  instance.instance = "7";
  instance.watts = 400;
  samples_.devices = {whole, instance};
  const Joined out = run();
  EXPECT_EQ(out.pods[0].active, 1u);
  EXPECT_DOUBLE_EQ(out.pods[0].watts, 50) << "an eighth of the GPU";
  EXPECT_TRUE(out.unheld.empty()) << "the GPU itself is not one more device";
}

TEST_F(JoinTest, ASharedGpuHasASampleForEachPod) {
  held_.pods = {pod(1, 1, 1, "ml/a"), pod(2, 1, 1, "ml/b")};
  for (OpenUsage& one : held_.pods) one.milligpu = 500;
  samples_.devices = {device("n1", 0, 0.6), device("n1", 0, 0.6, "ml/a"),
                      device("n1", 0, 0.6, "ml/b")};
  const Joined out = run();
  EXPECT_EQ(out.pods[0].active, 1u);
  EXPECT_EQ(out.pods[1].active, 1u);
  EXPECT_TRUE(out.unheld.empty());
}

TEST_F(JoinTest, FindsTheNodeByItsNames) {
  held_.nodes = {node(1, "n1"), node(2, "n1", "west", 2), node(3, "n3.example.com")};
  held_.pods = {pod(1, 1, 1, "ml/a"), pod(2, 3, 1, "ml/c")};
  samples_.devices = {device("n1", 0, 1, "ml/a"), device("n1.example.com", 1, 1, "ml/a"),
                      device("elsewhere", 0, 1), device("n3.example.com", 0, 1, "ml/c")};
  Joined out = run();
  EXPECT_EQ(out.unknown_nodes, 3u) << "two clusters have n1, and none has elsewhere";
  EXPECT_EQ(out.pods[1].active, 1u);
  samples_.devices[0].cluster = samples_.devices[1].cluster = "east";
  samples_.devices[2].other_node = "n3.example.com";
  out = run();
  EXPECT_EQ(out.unknown_nodes, 0u);
  EXPECT_EQ(out.pods[0].active, 2u);
}

}  // namespace
}  // namespace subak
