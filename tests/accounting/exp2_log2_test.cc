#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "accounting/decay.h"
#include "accounting/exp2_table.h"
#include "random.h"

namespace subak {
namespace {

using test::Random;

long double relative_error(double got, long double want) {
  return std::fabs((static_cast<long double>(got) - want) / want);
}

TEST(Exp2Table, EveryEntryIsTheNearestSplitOfItsPower) {
  for (std::size_t i = 0; i < kExp2Table.size(); ++i) {
    const long double want = exp2l(static_cast<long double>(i) / 64);
    const long double got =
        static_cast<long double>(kExp2Table[i].high) + static_cast<long double>(kExp2Table[i].low);
    EXPECT_LE(std::fabs(got - want), 2e-19L) << i;
    EXPECT_EQ(kExp2Table[i].high, static_cast<double>(want)) << i;
  }
}

TEST(Exp2, PowersOfTwoAreExact) {
  for (int k = -1022; k <= 1022; ++k) EXPECT_EQ(exp2_exact(k), std::ldexp(1.0, k)) << k;
}

TEST(Exp2, RelativeErrorOverTheWholeRange) {
  Random random(1);
  long double worst = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const double x = static_cast<double>(random.below(2'044'000'000) - 1'022'000'000) / 1e6;
    worst = std::max(worst, relative_error(exp2_exact(x), exp2l(x)));
  }
  EXPECT_LE(worst, 1.2e-16L);
}

TEST(Exp2, RelativeErrorWithinOneHalfLife) {
  Random random(2);
  long double worst = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const double x = static_cast<double>(random.below(std::int64_t{1} << 53)) * 0x1p-53;
    worst = std::max(worst, relative_error(exp2_exact(x), exp2l(x)));
  }
  EXPECT_LE(worst, 1.2e-16L);
}

TEST(Exp2, RisesAcrossTableSteps) {
  for (int i = -640; i < 640; ++i) {
    const double x = (i + 0.5) / 64;
    EXPECT_LE(exp2_exact(std::nextafter(x, -2000.0)), exp2_exact(x)) << i;
    EXPECT_LE(exp2_exact(x), exp2_exact(std::nextafter(x, 2000.0))) << i;
  }
}

// The bits that every build must give: a change of compiler, flags or processor shows here.
TEST(Exp2, FixedBits) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(exp2_exact(0.5)), 0x3ff6a09e667f3bcdU);
  std::uint64_t digest = 1469598103934665603U;
  for (int i = 0; i < 10'000; ++i) {
    digest = (digest ^ std::bit_cast<std::uint64_t>(exp2_exact(i * 0.1237 - 600))) * 1099511628211U;
    digest =
        (digest ^ std::bit_cast<std::uint64_t>(log2_exact(i * 0.1237 + 0.001))) * 1099511628211U;
  }
  EXPECT_EQ(digest, 12035131756177528810U);
}

TEST(Log2, PowersOfTwoAreExact) {
  for (int k = -1074; k <= 1023; ++k) EXPECT_EQ(log2_exact(std::ldexp(1.0, k)), k) << k;
}

TEST(Log2, RelativeErrorOverTheWholeRange) {
  Random random(3);
  long double worst = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const auto mantissa = static_cast<double>(random.below(std::int64_t{1} << 52)) + 0x1p52;
    const double x = std::ldexp(mantissa, static_cast<int>(random.below(2000)) - 1050);
    worst = std::max(worst, relative_error(log2_exact(x), log2l(x)));
  }
  EXPECT_LE(worst, 5e-16L);
}

TEST(Log2, RelativeErrorNearOne) {
  Random random(4);
  long double worst = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const double step = std::ldexp(1.0, -1 - static_cast<int>(random.below(50)));
    const double x = 1 + (static_cast<double>(random.below(2'000'001)) / 1e6 - 1) * step;
    if (x == 1) continue;
    worst = std::max(worst, relative_error(log2_exact(x), log2l(x)));
  }
  EXPECT_LE(worst, 5e-16L);
}

}  // namespace
}  // namespace subak
