// What an operator is told of an account that can hardly be meant,
// and that it is done all the same.
#include <gtest/gtest.h>

#include <utility>

#include "engine/engine.h"

namespace subak {
namespace {

class AccountWarnings : public testing::Test {
 protected:
  AccountWarnings() {
    apply(in::SetCluster{"main", Mode::kEnforce, {}, "", false});
    in::ImportNodes fleet;
    fleet.cluster = "main";
    for (const auto& [name, product] : {std::pair("a", "H100"), std::pair("b", "A100")}) {
      NodeSpec node;
      node.name = name;
      node.product = product;
      node.gpus = 8;
      fleet.nodes.push_back(node);
    }
    apply(fleet);
  }

  ApplyOutcome apply(in::Body body) {
    Input input;
    input.actor = "test";
    input.body = std::move(body);
    return engine_.apply(input);
  }
  std::vector<std::string> set(AccountSpec spec, bool validate_only = false) {
    in::SetAccount edit;
    edit.spec = std::move(spec);
    edit.validate_only = validate_only;
    const ApplyOutcome done = apply(edit);
    EXPECT_FALSE(done.reply.error);
    EXPECT_EQ(done.facts.empty(), validate_only);
    return done.reply.warnings;
  }
  static AccountSpec account(const std::string& path, ProductAmounts quota = {},
                             ProductAmounts limit = {}) {
    AccountSpec spec;
    spec.path = path;
    spec.quota = std::move(quota);
    spec.limit = std::move(limit);
    return spec;
  }

  Engine engine_;
};

using Texts = std::vector<std::string>;

TEST_F(AccountWarnings, NothingOddIsSilent) {
  EXPECT_EQ(set(account("ml", {{"H100", 8000}}, {{"gpu", 16'000}})), Texts());
}

TEST_F(AccountWarnings, QuotaAboveTheFleet) {
  const Texts want{"quota: 17 GPUs, and the fleet has 16: it cannot be guaranteed"};
  EXPECT_EQ(set(account("ml", {{"gpu", 17'000}}), true), want);
  EXPECT_EQ(set(account("ml", {{"gpu", 17'000}})), want);
  EXPECT_EQ(set(account("bio", {{"H100", 9000}})).at(0),
            "quota: 9 GPUs of H100, and the fleet has 8: it cannot be guaranteed");
}

TEST_F(AccountWarnings, AllQuotasTogetherAboveTheFleet) {
  EXPECT_EQ(set(account("ml", {{"gpu", 10'000}})), Texts());
  EXPECT_EQ(set(account("ml.a", {{"gpu", 9000}})), Texts());  // within ml's own quota
  const Texts want{
      "quota: all quotas together are 18 GPUs, and the fleet has 16: they cannot all be "
      "guaranteed"};
  EXPECT_EQ(set(account("bio", {{"gpu", 8000}}), true), want);
  EXPECT_EQ(set(account("bio")), Texts());
  EXPECT_EQ(set(account("bio.x", {{"gpu", 8000}})), want);  // bio's is the sum of its children's
}

TEST_F(AccountWarnings, QuotaAboveALimitOnItsPath) {
  EXPECT_EQ(set(account("ml", {{"gpu", 8000}}, {{"gpu", 4000}})),
            Texts{"quota: 8 GPUs is above its own limit of 4: it can never have them all"});
  EXPECT_EQ(set(account("bio", {}, {{"H100", 2000}})), Texts());
  EXPECT_EQ(
      set(account("bio.x", {{"H100", 3000}})),
      Texts{"quota: 3 GPUs of H100 is above the limit of bio of 2: it can never have them all"});
}

TEST_F(AccountWarnings, AProductThatNobodyHas) {
  EXPECT_EQ(set(account("ml", {{"B200", 1000}}, {{"B300", 1000}})),
            (Texts{"quota: no node has the product B200; the fleet has A100, H100",
                   "limit: no node has the product B300; the fleet has A100, H100"}));
}

TEST_F(AccountWarnings, SharesZeroBesideAQuota) {
  AccountSpec spec = account("ml", {{"gpu", 1000}});
  spec.shares = 0;
  EXPECT_EQ(set(spec),
            Texts{"shares: 0 beside a quota: beyond its quota the account gets only what "
                  "no other account wants"});
  spec.held = true;  // no word about what this edit leaves as it was
  EXPECT_EQ(set(spec), Texts());
}

TEST(AccountWarningsOfNoFleet, AreSilent) {
  Engine engine;
  in::SetAccount edit;
  edit.spec.path = "ml";
  edit.spec.quota = {{"H100", 8000}};
  Input input;
  input.body = edit;
  EXPECT_EQ(engine.apply(input).reply.warnings, Texts());
}

}  // namespace
}  // namespace subak
