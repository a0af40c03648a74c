#include "kube/quantity.h"

#include <gtest/gtest.h>

#include <limits>

namespace subak {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

TEST(Quantity, ReadsEverySuffix) {
  const struct {
    const char* text;
    std::int64_t units, milli;
  } cases[] = {
      {"0", 0, 0},
      {"1", 1, 1000},
      {"+3", 3, 3000},
      {"-3", -3, -3000},
      {"500m", 1, 500},
      {"0.5", 1, 500},
      {".5", 1, 500},
      {"5.", 5, 5000},
      {"1.5", 2, 1500},
      {"100u", 1, 1},
      {"1n", 1, 1},
      {"2k", 2000, 2'000'000},
      {"1M", 1'000'000, 1'000'000'000},
      {"1e3", 1000, 1'000'000},
      {"1E3", 1000, 1'000'000},
      {"12e-1", 2, 1200},
      {"1e+2", 100, 100'000},
      {"1Ki", 1024, 1'024'000},
      {"1.5Gi", 1'610'612'736, 1'610'612'736'000},
      {"1000m", 1, 1000},
      {"1500m", 2, 1500},
      {"0.0001", 1, 1},
      {"9223372036854775807", kMax, kMax},
      {"64Gi", 68'719'476'736, 68'719'476'736'000},
      {"1.000000000000000000000000Gi", 1'073'741'824, 1'073'741'824'000},
  };
  for (const auto& c : cases) {
    const auto q = parse_kube_quantity(c.text);
    ASSERT_TRUE(q) << c.text;
    EXPECT_EQ(q->units(), c.units) << c.text;
    EXPECT_EQ(q->milli(), c.milli) << c.text;
  }
}

TEST(Quantity, CapsWhatIsTooLarge) {
  for (const char* text : {"8Ei", "16Ei", "1e99", "1e999999", "99999999999999999999999", "9E9"}) {
    const auto q = parse_kube_quantity(text);
    if (!q) continue;
    EXPECT_GE(q->units(), 1LL << 33) << text;
    EXPECT_LE(q->units(), kMax) << text;
  }
  EXPECT_EQ(parse_kube_quantity("1e99")->units(), kMax);
  EXPECT_EQ(parse_kube_quantity("99999999999999999999999")->units(), kMax);
}

TEST(Quantity, KnowsIntegers) {
  EXPECT_TRUE(parse_kube_quantity("2")->is_integer());
  EXPECT_TRUE(parse_kube_quantity("2000m")->is_integer());
  EXPECT_FALSE(parse_kube_quantity("2001m")->is_integer());
  EXPECT_FALSE(parse_kube_quantity("0.5")->is_integer());
  EXPECT_TRUE(parse_kube_quantity("0.5") == parse_kube_quantity("500m"));
}

TEST(Quantity, RefusesOtherText) {
  for (const char* text : {"", " ", "x", "1x", "1 Gi", "Gi", "1gi", "1e", "1e1.5", "--1", "1.2.3",
                           "0x10", "1KiB", "\xff"}) {
    EXPECT_FALSE(parse_kube_quantity(text)) << text;
  }
}

}  // namespace
}  // namespace subak
