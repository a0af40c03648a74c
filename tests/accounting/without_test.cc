// Rules and amounts as if some jobs were gone, and what claims change of an account.
#include "accounting/quota/without.h"

#include <gtest/gtest.h>

#include "random.h"
#include "tree_fixture.h"

namespace subak {
namespace {

using WithoutTest = test::TreeFixture;

TEST_F(WithoutTest, ARuleThatASiblingUsesUpIsFreeOnceItsJobsAreGone) {
  AccountSpec spec = spec_of("d");
  spec.borrow = "none";
  spec.quota = {{"gpu", 16'000}};
  set(spec, {{any, 16'000}});
  const AccountId a = add("d.a"), b = add("d.b");
  set_quota(a, {{any, 8'000}});
  set_quota(b, {{any, 8'000}});
  tree.hold(a, h100, 16'000, now);
  const ProductDemand eight{h100, 8'000};
  WithoutHoldings without(tree);
  ASSERT_TRUE(without.first_binding({b, {&eight, 1}}, Asking::kAmounts));
  EXPECT_EQ(without.borrowed(a, h100), 8'000);
  without.remove(a, h100, 8'000);
  EXPECT_FALSE(without.first_binding({b, {&eight, 1}}, Asking::kAmounts));
  EXPECT_EQ(without.borrowed(a, h100), 0);
  EXPECT_EQ(without.gone(h100), 8'000);
  EXPECT_EQ(without.alloc(a), 8'000);
  EXPECT_EQ(tree.node(a).alloc(), 16'000);
}

// Equals a tree in which the same jobs ended.
TEST_F(WithoutTest, AnswersAsTheTreeDoesOnceTheJobsHaveEnded) {
  test::Random random(17);
  add("b");
  const AccountId leaves[] = {add("a"), add("b.c"), add("b.d"), add("b.d/u")};
  const ProductId products[] = {h100, a100};
  std::vector<std::pair<AccountId, ProductDemand>> jobs;
  for (int i = 0; i < 200; ++i) {
    set_quota(leaves[static_cast<std::size_t>(random.below(3))],
              {{any, random.below(10) * 1000}, {h100, random.below(10) * 1000}});
    const AccountId leaf = leaves[static_cast<std::size_t>(random.below(4))];
    const ProductDemand job{products[static_cast<std::size_t>(random.below(2))],
                            (1 + random.below(4)) * 1000};
    tree.hold(leaf, job.first, job.second, now);
    jobs.emplace_back(leaf, job);
    // Some are gone first, then somebody claims, and then the rest is gone.
    WithoutHoldings some(tree), without(&some);
    const auto kept = static_cast<std::size_t>(random.below(std::ssize(jobs) + 1));
    const auto remove = [&](WithoutHoldings& from, std::size_t k) {
      from.remove(jobs[k].first, jobs[k].second.first, jobs[k].second.second);
    };
    for (std::size_t k = kept; k < jobs.size(); k += 2) remove(some, k);
    const AccountId claimant = leaves[static_cast<std::size_t>(random.below(4))];
    tree.claim(claimant, Amounts{{a100, 3'000}});
    some.note_held(claimant, a100, 3'000);
    for (std::size_t k = kept + 1; k < jobs.size(); k += 2) remove(without, k);
    std::vector<std::pair<MilliGpu, MilliGpu>> told;
    for (const AccountId id : leaves)
      told.emplace_back(without.alloc(id), without.borrowed(id, h100));
    for (std::size_t k = kept; k < jobs.size(); ++k) {
      tree.release(jobs[k].first, jobs[k].second.first, jobs[k].second.second, false, now);
    }
    jobs.resize(kept);
    const WithoutHoldings as_it_is(tree);
    for (std::size_t k = 0; k < std::size(leaves); ++k) {
      EXPECT_EQ(told[k].first, tree.node(leaves[k]).alloc());
      EXPECT_EQ(told[k].second, as_it_is.borrowed(leaves[k], h100));
    }
    tree.claim(claimant, Amounts{{a100, 3'000}}, -1);
  }
}

TEST_F(WithoutTest, AClaimCountsAsHeldAndRunsNoMeter) {
  const AccountId a = add("a");
  set_quota(a, {{any, 4'000}});
  tree.hold(a, h100, 2'000, now);
  const MilliGpu rate = tree.node(a).meters.usage_rate();
  tree.claim(a, Amounts{{h100, 4'000}});
  EXPECT_EQ(tree.node(a).alloc(), 6'000);
  EXPECT_EQ(tree.node(kRootAccount).alloc(), 6'000);
  EXPECT_EQ(tree.node(a).meters.usage_rate(), rate);
  EXPECT_EQ(tree.node(a).meters.surplus_rate(), 0);
  EXPECT_FALSE(covers(tree.node(a), {}));
  tree.check_invariants();
  tree.hold(a, h100, 3'000, now);  // borrows 1
  EXPECT_EQ(tree.node(a).meters.surplus_rate(), 1'000);
  tree.claim(a, Amounts{{h100, 4'000}}, -1);
  EXPECT_EQ(tree.node(a).alloc(), 5'000);
  EXPECT_TRUE(tree.node(a).jobs.claimed.empty());
  tree.check_invariants();
}

}  // namespace
}  // namespace subak
