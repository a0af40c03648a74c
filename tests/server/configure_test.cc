#include "server/service/configure.h"

#include <gtest/gtest.h>

#include "core/names.h"
#include "engine/engine.h"

namespace subak {
namespace {

// The view after some edits, and what edits a configuration then asks for.
class ConfigureTest : public ::testing::Test {
 protected:
  void apply(in::Body body) {
    Input input;
    input.time_ms = ++now_;
    input.body = std::move(body);
    ASSERT_FALSE(engine_.apply(input).reply.error.has_value());
  }
  void set_mode(const char* cluster, Mode mode) {
    apply(in::SetCluster{cluster, mode, {}, "by hand", false});
  }
  std::vector<in::Body> edits() {
    return edits_for(config_, *engine_.view(), [this](const std::string&) { return last_; });
  }

  Engine engine_;
  TimeMs now_ = 0;
  Config config_;
  std::optional<fact::ClusterSet> last_;
};

TEST_F(ConfigureTest, AnEmptyStoreGetsADefaultCluster) {
  config_.mode = Mode::kEnforce;
  const auto found = edits();
  ASSERT_EQ(found.size(), 2u);
  // Nothing to stay readable for.
  EXPECT_EQ(std::get<in::Finalize>(found[0]).version, kFactVersion);
  const auto& cluster = std::get<in::SetCluster>(found[1]);
  EXPECT_EQ(cluster.name, names::kFirstCluster);
  EXPECT_EQ(cluster.mode, Mode::kEnforce);
  EXPECT_FALSE(cluster.reason.empty());
}

TEST_F(ConfigureTest, WhatIsNotNamedIsLeftAlone) {
  set_mode("east", Mode::kWarn);
  EXPECT_TRUE(edits().empty());
  config_.clusters = {{"east", std::nullopt, {}}};
  EXPECT_TRUE(edits().empty());
}

// It went to observe at every restart once it had an exception.
TEST_F(ConfigureTest, ExceptionsByHandDoNotUndoTheMode) {
  apply(in::SetCluster{"east", Mode::kEnforce, {{"lab", Mode::kObserve}}, "by hand", false});
  EXPECT_TRUE(edits().empty());
  config_.mode = Mode::kWarn;
  const auto found = edits();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(std::get<in::SetCluster>(found[0]).mode, Mode::kWarn);
  EXPECT_EQ(std::get<in::SetCluster>(found[0]).namespaces.size(), 1u);
}

TEST_F(ConfigureTest, ADifferenceIsAnEdit) {
  set_mode("east", Mode::kWarn);
  config_.clusters = {{"east", Mode::kEnforce, {{"a", Mode::kObserve}}},
                      {"west", std::nullopt, {}}};
  const auto found = edits();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(std::get<in::SetCluster>(found[0]).mode, Mode::kEnforce);
  EXPECT_EQ(std::get<in::SetCluster>(found[0]).namespaces.size(), 1u);
  EXPECT_EQ(std::get<in::SetCluster>(found[1]).name, "west");
  EXPECT_EQ(std::get<in::SetCluster>(found[1]).mode, Mode::kObserve);
}

TEST_F(ConfigureTest, ARestartDoesNotUndoACommand) {
  set_mode("east", Mode::kObserve);
  config_.clusters = {{"east", Mode::kEnforce, {}}};
  last_ = fact::ClusterSet{};
  last_->mode = Mode::kEnforce;  // the configuration said so before, then somebody chose observe
  EXPECT_TRUE(edits().empty());
  config_.clusters[0].mode = Mode::kWarn;  // now it says something new
  EXPECT_EQ(edits().size(), 1u);
}

TEST_F(ConfigureTest, ADeletedClusterStaysDeleted) {
  set_mode("west", Mode::kObserve);
  config_.clusters = {{"east", Mode::kEnforce, {}}};
  EXPECT_EQ(edits().size(), 1u) << "never said before";
  last_ = fact::ClusterSet{};
  last_->mode = Mode::kEnforce;  // said before; it is not there any more
  EXPECT_TRUE(edits().empty());
  config_.clusters[0].mode = Mode::kWarn;
  EXPECT_EQ(edits().size(), 1u) << "it says something new";
}

TEST_F(ConfigureTest, PolicyOnlyWhereItDiffers) {
  set_mode("east", Mode::kObserve);
  config_.hold_ms = engine_.view()->policy.hold_ms;
  EXPECT_TRUE(edits().empty());
  config_.hold_ms = kMinuteMs;
  const auto found = edits();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(std::get<in::SetPolicy>(found[0]).policy.hold_ms, kMinuteMs);
  EXPECT_EQ(std::get<in::SetPolicy>(found[0]).policy.half_life_ms,
            engine_.view()->policy.half_life_ms);
}

// Of two replicas that are configured otherwise, what the one that is not in force would change.
TEST_F(ConfigureTest, WhatDiffersIsNamed) {
  apply(in::SetCluster{"east", Mode::kWarn, {}, "by hand", false});
  EXPECT_TRUE(policy_differences(config_, *engine_.view()).empty());
  config_.half_life_ms = 14 * kDayMs;
  config_.order = OrderPolicy::kExact;
  config_.clusters = {{"east", Mode::kEnforce, {}}};
  const std::vector<std::string> policy{
      "order=exact, in force order=target-share",
      "half_life_ms=1209600000, in force half_life_ms=604800000",
  };
  EXPECT_EQ(policy_differences(config_, *engine_.view()), policy);
  std::vector<std::string> all = policy;
  all.push_back("cluster east mode enforce, in force warn");
  EXPECT_EQ(differences(edits(), *engine_.view()), all);
}

}  // namespace
}  // namespace subak
