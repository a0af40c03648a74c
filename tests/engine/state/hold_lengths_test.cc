#include <gtest/gtest.h>

#include "engine/state/clusters.h"
#include "model/bounds/pass_limits.h"

namespace subak::state {
namespace {

TEST(HoldLengths, FewHoldsGiveNoTime) {
  HoldLengths lengths;
  for (std::size_t i = 1; i < limits::kFewestHolds; ++i) lengths.add(1'000, 60'000);
  EXPECT_FALSE(lengths.mean_rest_ms());
  lengths.add(1'000, 60'000);
  EXPECT_EQ(lengths.mean_rest_ms(), 30'000) << "at a random moment, half of the hold is left";
}

// One of 100 holds takes a hundred times as long: half of the GPU-time is its own.
TEST(HoldLengths, LongHoldsCountByTheirGpuTime) {
  HoldLengths lengths;
  for (int i = 0; i < 10'000; ++i) {
    lengths.add(1'000, i % 100 == 0 ? 99 * 60'000 : 60'000);
  }
  // 99 holds of 1 minute and one of 99 minutes: (99 x 1 + 99 x 99) / (2 x 198) minutes = 25 minutes.
  EXPECT_NEAR(static_cast<double>(*lengths.mean_rest_ms()), 25 * 60'000, 0.05 * 25 * 60'000);
}

TEST(HoldLengths, LargeHoldsCountByTheirGpus) {
  HoldLengths lengths;
  for (int i = 0; i < 1'000; ++i) {
    lengths.add(8'000, 60'000);
    lengths.add(1'000, 600'000);
  }
  // (8 x 1 + 1 x 100) / (2 x (8 + 10)) minutes = 3 minutes.
  EXPECT_NEAR(static_cast<double>(*lengths.mean_rest_ms()), 3 * 60'000, 1'000);
}

TEST(HoldLengths, OldHoldsAreForgotten) {
  HoldLengths lengths;
  for (int i = 0; i < 10'000; ++i) lengths.add(8'000, kHourMs);
  for (std::size_t i = 0; i < 30 * limits::kHoldsRemembered; ++i) lengths.add(1'000, 60'000);
  EXPECT_EQ(lengths.mean_rest_ms(), 30'000);
}

}  // namespace
}  // namespace subak::state
