#include <gtest/gtest.h>

#include <cmath>

#include "accounting/order.h"

namespace subak {
namespace {

constexpr AccountId kTeam{2};
constexpr AccountId kUser{3};
constexpr DurationMs kPeriod = 300'000;

AccountTree team_and_user() {
  AccountTree tree;
  AccountSpec spec;
  spec.path = "team";
  tree.set(kTeam, spec, 1, 0, {}, {});
  spec.path = "team/ana";
  spec.user = true;
  tree.set(kUser, spec, 1, 0, {}, {});
  return tree;
}

double per_second(DurationMs half_life_ms) {
  return 1 - 0.693 / (static_cast<double>(half_life_ms) / 1000);
}

TEST(UsageTick, ChargesARunningJobOncePerPeriod) {
  const AccountTree tree = team_and_user();
  UsageTick tick(kDayMs, kPeriod, false, 0);
  tick.job_start(kUser, 1000, 100'000);
  tick.advance(tree, kPeriod - 1);
  EXPECT_EQ(tick.usage(kUser), 0);
  tick.advance(tree, kPeriod);
  const double first = 1000 * 200'000.0 * std::pow(per_second(kDayMs), 200);
  EXPECT_NEAR(tick.usage(kUser) / first, 1, 1e-12);
  EXPECT_EQ(tick.usage(kTeam), tick.usage(kUser));
  EXPECT_EQ(tick.usage(kRootAccount), tick.usage(kUser));
  tick.advance(tree, 2 * kPeriod);
  const double window = std::pow(per_second(kDayMs), 300);
  EXPECT_NEAR(tick.usage(kUser) / (first * window + 1000 * 300'000.0 * window), 1, 1e-12);
}

TEST(UsageTick, AJobBetweenTicksIsFreeUnlessEndsAreCharged) {
  const AccountTree tree = team_and_user();
  UsageTick free(kDayMs, kPeriod, false, 0), charged(kDayMs, kPeriod, true, 0);
  for (UsageTick* tick : {&free, &charged}) {
    tick->job_start(kUser, 1000, 10'000);
    tick->job_end(kUser, 1000, 10'000, 40'000);
    tick->advance(tree, 40'000);
  }
  EXPECT_EQ(free.usage(kUser), 0);
  const double slice = 1000 * 30'000.0 * std::pow(per_second(kDayMs), 30);
  EXPECT_NEAR(charged.usage(kTeam) / slice, 1, 1e-12);
  charged.advance(tree, kPeriod);  // the whole window decays it once more
  EXPECT_NEAR(charged.usage(kTeam) / (slice * std::pow(per_second(kDayMs), 300)), 1, 1e-12);
}

TEST(UsageTick, AnInfiniteHalfLifeOnlyAdds) {
  const AccountTree tree = team_and_user();
  UsageTick tick(0, kPeriod, true, 0);
  tick.job_start(kUser, 500, 0);
  tick.advance(tree, 10 * kPeriod);
  EXPECT_EQ(tick.usage(kUser), 500.0 * 10 * kPeriod);
}

TEST(UsageTick, VeryOldUsageGoesToNothing) {
  const AccountTree tree = team_and_user();
  UsageTick tick(kMinuteMs, kDayMs, true, 0);
  tick.job_start(kUser, 500, 0);
  tick.advance(tree, kDayMs);
  EXPECT_GE(tick.usage(kUser), 0);
  EXPECT_LT(tick.usage(kUser), 1e-280);
}

using UsageTickDeathTest = ::testing::Test;
TEST(UsageTickDeathTest, AnEndWithoutAStart) {
  UsageTick tick(kDayMs, kPeriod, true, 0);
  tick.job_start(kUser, 1000, 0);
  EXPECT_DEATH(tick.job_end(kUser, 2000, 0, 10), "jobs.end");
}

}  // namespace
}  // namespace subak
