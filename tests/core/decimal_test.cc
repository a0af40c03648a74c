#include "core/decimal.h"

#include <gtest/gtest.h>

#include <limits>

namespace subak {
namespace {

TEST(Decimal, AmountsOfGpusAsPeopleWriteThem) {
  EXPECT_EQ(format_milligpu(0), "0");
  EXPECT_EQ(format_milligpu(16'000), "16");
  EXPECT_EQ(format_milligpu(1'250), "1.25");
  EXPECT_EQ(format_milligpu(-500), "-0.5");
}

TEST(Decimal, TheLeastAndTheMostThereAre) {
  EXPECT_EQ(format_milligpu(std::numeric_limits<MilliGpu>::max()), "9223372036854775.807");
  EXPECT_EQ(format_milligpu(std::numeric_limits<MilliGpu>::min()), "-9223372036854775.808");
}

}  // namespace
}  // namespace subak
