// The keys of the configuration that are about activity.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/config.h"

namespace subak {
namespace {

using ::testing::HasSubstr;

// Returns the message of a refused file; empty: `config` has its values.
std::string refusal(const std::string& body, Config& config) {
  std::vector<Origin> origins;
  const std::string header = "apiVersion: subak.gpu/v1\nkind: Configuration\n";
  return apply_yaml(header + body, "subak.yaml", config, origins).value_or("");
}
std::string refusal(const std::string& body) {
  Config config;
  return refusal(body, config);
}

TEST(ActivitySettings, TheServerIsAUrlAndATokenNeedsHttps) {
  EXPECT_THAT(refusal("prometheus: prometheus:9090\n"), HasSubstr("want a URL"));
  EXPECT_THAT(refusal("prometheus: http://a b\n"), HasSubstr("want a URL"));
  EXPECT_THAT(refusal("prometheusEvery: 3m\n"), HasSubstr("a duration from 1s to 2m"));
  Config config;
  EXPECT_EQ(refusal("prometheus: http://p:9090\nprometheusToken: t\nidleWarnAfter: 0s\n", config),
            "");
  EXPECT_EQ(config.idle_warn_ms, 0);
  ASSERT_TRUE(check_config(config));
  EXPECT_EQ(check_config(config)->field, "prometheus");
  config.prometheus = "https://p:9090";
  EXPECT_FALSE(check_config(config));
  config.prometheus.clear();
  EXPECT_EQ(check_config(config)->field, "prometheusToken");
}

}  // namespace
}  // namespace subak
