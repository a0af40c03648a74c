#include "core/decimal.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/limits.h"

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

TEST(Decimal, ReadsAmountsUpToTheLimit) {
  EXPECT_EQ(*parse_milligpu("0", "f"), 0);
  EXPECT_EQ(*parse_milligpu("2.125", "f"), 2'125);
  EXPECT_EQ(*parse_milligpu("1000000.000", "f"), limits::kMaxMilliGpu);
  for (const char* text : {"1000000.001", "1000000.999", "1000001", "99999999999999999999"}) {
    const auto amount = parse_milligpu(text, "quota");
    ASSERT_FALSE(amount.ok()) << text;
    EXPECT_EQ(amount.error().field, "quota");
    EXPECT_EQ(amount.error().got, text);
    EXPECT_EQ(amount.error().want, "want at most 1000000 GPUs");
  }
  for (const char* text : {"", ".5", "1.", "1.2345", "-1", "+1", "1e3", "0x1", " 1", "1 ", "1..2"})
    EXPECT_FALSE(parse_milligpu(text, "quota").ok()) << text;
}

}  // namespace
}  // namespace subak
