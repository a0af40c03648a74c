// The promises of quota that jobs leave which cannot be preempted.
#include "accounting/quota/promises.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tree_fixture.h"

namespace subak {
namespace {

class PromisesTest : public test::TreeFixture {
 protected:
  static constexpr MilliGpu kGpu = kMilliPerGpu;

  AccountId with(const std::string& path, const Amounts& quota) {
    const AccountId id = add(path);
    if (!quota.empty()) set_quota(id, quota);
    return id;
  }

  // What a fixed job of the account may not start with, of `installed` GPUs of each product.
  std::optional<Binding> broken(const FixedHoldings& fixed, AccountId leaf, ProductId product,
                                MilliGpu gpus, MilliGpu installed) {
    const ProductDemand demand{product, gpus * kGpu};
    return fixed.first_broken({leaf, {&demand, 1}},
                              [&](ProductId of) { return installed * kGpu * (of ? 1 : 2); });
  }
};

TEST_F(PromisesTest, BorrowsOnlyWhatNoQuotaPromises) {
  const AccountId a = with("a", {{any, 12 * kGpu}}), b = add("b");
  const FixedHoldings none(tree);
  EXPECT_FALSE(broken(none, b, h100, 4, 8)) << "16 are installed and 12 promised";
  const auto rule = broken(none, b, h100, 5, 8);
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->kind, BindingKind::kPromise);
  EXPECT_EQ(rule->subject, a);
  EXPECT_EQ(rule->need, 5 * kGpu);
  EXPECT_EQ(rule->have, 4 * kGpu);
  EXPECT_FALSE(broken(none, a, h100, 12, 8)) << "its own quota covers it";
}

TEST_F(PromisesTest, FixedJobsCountAgainstTheirOwnQuotaFirst) {
  const AccountId a = with("a", {{any, 12 * kGpu}}), b = with("b", {{any, 4 * kGpu}});
  FixedHoldings fixed(tree);
  fixed.add(b, h100, 4 * kGpu);
  EXPECT_TRUE(broken(fixed, b, h100, 1, 8));
  EXPECT_FALSE(broken(fixed, a, h100, 1, 8));
  fixed.add(kUnassigned, h100, kGpu);
  EXPECT_TRUE(broken(fixed, b, h100, 1, 8)) << "a foreign job has made it worse";
  EXPECT_FALSE(broken(fixed, a, h100, 12, 8)) << "what is within quota is never refused";
}

TEST_F(PromisesTest, ADepartmentsQuotaIsPromisedToItsTeams) {
  with("ml", {{any, 8 * kGpu}});
  const AccountId a = with("ml.a", {{any, 6 * kGpu}}), b = add("ml.b");
  const FixedHoldings none(tree);
  EXPECT_FALSE(broken(none, b, h100, 2, 100));
  const auto rule = broken(none, b, h100, 3, 100);
  ASSERT_TRUE(rule) << "a can get GPUs beyond 8 back from nobody outside";
  EXPECT_EQ(rule->subject, a);
}

TEST_F(PromisesTest, AnAccountWithoutQuotaNeedsWhatItsTeamsNeed) {
  add("ml");
  with("ml.a", {{any, 4 * kGpu}});
  const AccountId b = add("ml.b");
  FixedHoldings fixed(tree);
  fixed.add(b, h100, 12 * kGpu);
  EXPECT_TRUE(broken(fixed, b, h100, 1, 8)) << "4 promised and 12 fixed are all 16";
}

TEST_F(PromisesTest, APodWithoutGpusIsOnANodeWithoutAProduct) {
  const AccountId b = add("b");
  FixedHoldings fixed(tree);
  fixed.add(b, ProductId(), 0);
  EXPECT_TRUE(fixed.held(b).empty());
}

TEST_F(PromisesTest, ByProduct) {
  with("a", {{h100, 6 * kGpu}});
  const AccountId b = add("b");
  const FixedHoldings none(tree);
  EXPECT_FALSE(broken(none, b, h100, 2, 8));
  const auto rule = broken(none, b, h100, 3, 8);
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->product, h100);
  EXPECT_EQ(rule->have, 2 * kGpu);
  EXPECT_FALSE(broken(none, b, a100, 8, 8));
}

}  // namespace
}  // namespace subak
