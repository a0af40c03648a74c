// The values of the policy as users set them: each is read as it is shown, and the configuration's
// keys stay.
#include "server/config/policy_keys.h"

#include <gtest/gtest.h>

namespace subak {
namespace {

TEST(Policy, EachValueIsReadAsItIsShown) {
  Policy other;
  other.patience_ms = 3 * kHourMs;
  other.half_life_ms = 0;
  other.fair_share.gain_milli = 16'500;
  other.fair_share.floor_milli = 1;
  other.gpu_headroom.cpu_milli = 4500;
  other.gpu_headroom.memory_bytes = 1'000'000'007;
  other.gangs.keep_whole = 3;
  other.reclaim = false;
  other.enforce_time_limits = true;
  other.order = OrderPolicy::kFifo;
  other.system_namespaces = {"x"};
  other.books = {20 * kMinuteMs, "Europe/Berlin", {28, 0}};
  for (const Policy& policy : {Policy(), other}) {
    std::vector<std::pair<std::string, std::string>> changes;
    for (const PolicyValue& value : policy_values(Config(), policy)) {
      EXPECT_FALSE(value.configured);
      EXPECT_FALSE(value.help.empty());
      changes.emplace_back(value.key, value.value);
    }
    Policy start;
    start.system_namespaces = policy.system_namespaces;
    const auto read = policy_with(Config(), start, changes);
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(*read, policy);
  }
}

TEST(Policy, OnlyWhatIsNamedChanges) {
  Policy stored;
  stored.hold_ms = 1;
  stored.order = OrderPolicy::kDrf;
  Config config;
  EXPECT_EQ(config.policy_over(stored), stored);
  config.hold_ms = 2;
  EXPECT_EQ(config.policy_over(stored).hold_ms, 2);
  EXPECT_EQ(config.policy_over(stored).order, OrderPolicy::kDrf);
}

TEST(Policy, AKeyOfTheConfigurationIsNotSetOtherwise) {
  Config config;
  config.patience_ms = kHourMs;
  const auto refused = policy_with(config, Policy(), {{"patience", "2h"}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kPrecondition);
  EXPECT_EQ(policy_with(config, Policy(), {{"hold", "2m"}})->hold_ms, 2 * kMinuteMs);
  EXPECT_EQ(policy_with(config, Policy(), {{"nothing", "1"}}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(policy_with(config, Policy(), {{"hold", "1"}}).error().field, "hold");
  EXPECT_FALSE(policy_with(config, Policy(), {{"hold", "2m"}, {"hold", "2m"}}).ok());
}

TEST(Policy, ConstantsOfTargetShare) {
  const auto set = [](const Policy& from, const char* key, const char* value) {
    return policy_with(Config(), from, {{key, value}});
  };
  const auto changed =
      policy_with(Config(), Policy(), {{"targetShareGain", "8"}, {"targetShareFloor", "0.25"}});
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(target_share_rule(*changed).gain, 8);
  EXPECT_EQ(target_share_rule(*changed).lo, 0.25);
  const auto usual = set(*changed, "targetShareGain", "32");
  EXPECT_EQ(target_share_rule(*usual).gain, TargetShareRule().gain);
  EXPECT_EQ(target_share_rule(*usual).lo, 0.25);
  for (const char* value : {"0", "1001", "-1", "much", "0.0001"}) {
    const auto refused = set(Policy(), "targetShareGain", value);
    ASSERT_FALSE(refused.ok()) << value;
    EXPECT_EQ(refused.error().want, "want a number from 0.001 to 1000 with at most three decimals");
  }
  EXPECT_FALSE(set(Policy(), "targetShareFloor", "1.001").ok());
  EXPECT_TRUE(set(Policy(), "targetShareFloor", "1").ok());
}

// A configuration that names the half-life of the change does not begin it again at each start.
TEST(Policy, AHalfLifeThatIsUnderWayIsNotSetAgain) {
  Policy policy;
  policy.fair_share.change = {30 * kDayMs, 17};
  Config config;
  EXPECT_EQ(config.policy_over(policy), policy);
  config.half_life_ms = 30 * kDayMs;
  EXPECT_EQ(config.policy_over(policy), policy);
  config.half_life_ms = policy.half_life_ms;
  EXPECT_EQ(config.policy_over(policy).fair_share.change, HalfLifeChange()) << "it is cancelled";
  config.half_life_ms = kDayMs;
  const Policy other = config.policy_over(policy);
  EXPECT_EQ(other.half_life_ms, kDayMs);
  EXPECT_EQ(other.fair_share.change, HalfLifeChange());
  const auto kept = policy_with(Config(), policy, {{"patience", "3h"}});
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->fair_share.change, policy.fair_share.change);
}

TEST(Policy, ATimeZoneThatTheSystemLacksIsRefusedByName) {
  const auto zone = policy_with(Config(), Policy(), {{"budgetZone", "America/New_York"}});
  ASSERT_TRUE(zone.ok());
  EXPECT_EQ(zone->books.budget_zone, "America/New_York");
  EXPECT_EQ(policy_with(Config(), *zone, {{"budgetZone", "UTC"}})->books.budget_zone, "");
  const auto refused = policy_with(Config(), *zone, {{"budgetZone", "Europe/Atlantis"}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(refused.error().field, "budgetZone");
  EXPECT_EQ(refused.error().got, "Europe/Atlantis");
}

}  // namespace
}  // namespace subak
