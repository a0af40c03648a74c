#include "engine/state/bars.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace subak
