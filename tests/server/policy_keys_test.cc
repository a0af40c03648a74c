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
  other.gpu_headroom.cpu_milli = 4500;
  other.gpu_headroom.memory_bytes = 1'000'000'007;
  other.keep_whole = 3;
  other.reclaim = false;
  other.enforce_time_limits = true;
  other.order = OrderPolicy::kFifo;
  other.system_namespaces = {"x"};
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

}  // namespace
}  // namespace subak
