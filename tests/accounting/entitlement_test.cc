#include "accounting/quota/entitlement.h"

#include <gtest/gtest.h>

#include <vector>

#include "tree_fixture.h"

namespace subak {
namespace {

using test::TreeFixture;

class EntitlementTest : public TreeFixture {
 protected:
  EntitlementTest() : ml(add("ml")), a(add("ml.a")), ana(add("ml.a/ana")), b(add("ml.b")) {}

  std::vector<Binding> all(AccountId leaf, Amounts amounts, Asking asking = Asking::kStart) {
    return bindings(tree, {leaf, amounts}, asking);
  }
  // The subject of the first that binds now.
  AccountId over(AccountId leaf, ProductId product, MilliGpu amount) {
    const Amounts amounts{{product, amount}};
    const auto first = first_binding(tree, {leaf, amounts}, Asking::kStart);
    return first ? first->subject : AccountId();
  }
  void set_borrow(AccountId id, const std::string& borrow, const Amounts& quota) {
    AccountSpec spec = tree.node(id).spec;
    spec.quota = named(quota);
    spec.borrow = borrow;
    set(spec, quota, tree.node(id).limits.gpus);
  }
  const AccountId ml, a, ana, b;
};

TEST_F(EntitlementTest, NothingBindsWhereNothingIsSet) {
  EXPECT_TRUE(all(ana, {{h100, 1'000'000}}).empty());
  EXPECT_TRUE(all(ana, {{any, 1'000'000}}, Asking::kSubmit).empty());
  EXPECT_FALSE(over(ana, any, 1));
}

TEST_F(EntitlementTest, LimitsByProductAndOverall) {
  set_limit(a, {{h100, 4000}});
  set_limit(ml, {{any, 6000}});
  EXPECT_EQ(over(ana, h100, 4000), AccountId());
  EXPECT_EQ(over(ana, h100, 4001), a);
  EXPECT_EQ(over(ana, a100, 6000), AccountId());
  EXPECT_EQ(over(ana, a100, 6001), ml);
  EXPECT_EQ(over(ana, any, 6000), AccountId());
  EXPECT_EQ(over(ana, any, 6001), ml);
  tree.hold(ana, h100, 3000, now);
  EXPECT_EQ(over(ana, h100, 1001), a);
  EXPECT_EQ(over(b, h100, 3000), AccountId());
  EXPECT_EQ(over(b, h100, 3001), ml);
}

TEST_F(EntitlementTest, EachBindingSaysWhatItCounts) {
  set_limit(a, {{h100, 4000}});
  set_limit(ml, {{any, 6000}});
  tree.hold(ana, h100, 3000, now);
  const auto found = all(ana, {{h100, 5000}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].subject, a);  // nearest first
  EXPECT_EQ(found[0].kind, BindingKind::kLimit);
  EXPECT_EQ(found[0].product, h100);
  EXPECT_EQ(found[0].used, 3000);
  EXPECT_EQ(found[0].most, 4000);
  EXPECT_EQ(found[0].need, 5000);
  EXPECT_EQ(found[0].have, 1000);
  EXPECT_TRUE(found[0].never);
  EXPECT_FALSE(found[0].any_product);
  EXPECT_EQ(found[1].subject, ml);
  EXPECT_EQ(found[1].product, any);
  EXPECT_EQ(found[1].have, 3000);
  EXPECT_FALSE(found[1].never);
  EXPECT_TRUE(found[1].any_product);
}

TEST_F(EntitlementTest, ALimitCountsOnlyItsProductOfAMixedDemand) {
  set_limit(a, {{h100, 2000}});
  EXPECT_TRUE(all(ana, {{h100, 2000}, {a100, 8000}}).empty());
  const auto found = all(ana, {{h100, 3000}, {a100, 8000}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].need, 3000);
}

TEST_F(EntitlementTest, BorrowIsWhatNoQuotaCovers) {
  set_borrow(a, "gpu=2", {{any, 4000}});
  EXPECT_EQ(over(ana, h100, 6000), AccountId());
  EXPECT_EQ(over(ana, h100, 6001), a);
  EXPECT_EQ(over(ana, any, 6001), a);
  set_borrow(a, "", {});
  EXPECT_EQ(over(ana, h100, 1'000'000), AccountId());
}

TEST_F(EntitlementTest, QuotaOfOneProductIsNoQuotaOfAnother) {
  set_borrow(a, "none", {{h100, 2000}, {a100, 6000}});
  EXPECT_EQ(over(ana, h100, 2000), AccountId());
  EXPECT_EQ(over(ana, h100, 2001), a);  // though 8000 are its quota in all
  EXPECT_EQ(over(ana, a100, 6000), AccountId());
  tree.hold(ana, a100, 6000, now);
  EXPECT_EQ(over(ana, h100, 2000), AccountId());
  EXPECT_EQ(over(ana, a100, 1), a);
  const auto found = all(ana, {{h100, 3000}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, BindingKind::kBorrow);
  EXPECT_EQ(found[0].product, h100);
  EXPECT_EQ(found[0].have, 2000);
  EXPECT_EQ(found[0].used, 0);
  EXPECT_EQ(found[0].most, 0);
}

TEST_F(EntitlementTest, BorrowOfOneProductBindsThatProductAlone) {
  set_borrow(a, "p1=1", {{h100, 2000}, {any, 2000}});
  EXPECT_EQ(over(ana, h100, 5000), AccountId());  // 2000 by name, 2000 of any, 1000 borrowed
  EXPECT_EQ(over(ana, h100, 5001), a);
  EXPECT_EQ(over(ana, a100, 9000), AccountId());
  EXPECT_EQ(over(ana, any, 9000), AccountId());  // it may be placed on another product
  tree.hold(ana, a100, 2000, now);               // the quota of any product
  EXPECT_EQ(over(ana, h100, 3000), AccountId());
  EXPECT_EQ(over(ana, h100, 3001), a);
  const auto found = all(ana, {{h100, 4000}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, BindingKind::kBorrow);
  EXPECT_EQ(found[0].product, h100);
  EXPECT_EQ(found[0].have, 3000);
  EXPECT_EQ(found[0].most, 1000);
  set_borrow(a, "gpu=4,p1=1", {{h100, 2000}, {any, 2000}});
  EXPECT_EQ(over(ana, a100, 4000), AccountId());
  EXPECT_EQ(over(ana, a100, 4001), a);
}

TEST_F(EntitlementTest, ADemandOfNoProductIsBoundOnlyByWhatBindsAnyProduct) {
  set_borrow(a, "none", {{h100, 2000}, {a100, 6000}});
  set_limit(ml, {{h100, 1000}});
  EXPECT_EQ(over(ana, any, 8000), AccountId());
  EXPECT_EQ(over(ana, any, 8001), a);
}

// A rule that comes later stops what borrows more, not what quota covers.
TEST_F(EntitlementTest, WhatWasBorrowedBeforeStopsNoQuota) {
  set_borrow(a, "", {{h100, 2000}});
  tree.hold(ana, a100, 5000, now);
  set_borrow(a, "none", {{h100, 2000}});
  EXPECT_EQ(over(ana, h100, 2000), AccountId());
  EXPECT_EQ(over(ana, a100, 1), a);
}

// An answer before the product is known is never too strict.
TEST_F(EntitlementTest, WhatWasBorrowedBeforeStopsNoDemandThatQuotaMayCover) {
  set_borrow(a, "", {{h100, 2000}, {any, 1000}});
  tree.hold(ana, a100, 5000, now);
  set_borrow(a, "none", {{h100, 2000}, {any, 1000}});
  EXPECT_EQ(over(ana, any, 2000), AccountId());
  EXPECT_EQ(over(ana, any, 2001), a);
}

// Who has no tree gives the rules alone.
TEST_F(EntitlementTest, RulesCanBeJudgedWithoutATree) {
  const Amounts limit{{any, 4000}, {h100, 2000}};
  const Amounts demand{{h100, 3000}};
  Rules rules;
  rules.subject = a;
  rules.limit = limit;
  const auto binding = first_binding(rules, demand, {}, Asking::kSubmit);
  ASSERT_TRUE(binding);
  EXPECT_EQ(binding->subject, a);
  EXPECT_EQ(binding->product, h100);
  EXPECT_EQ(binding->most, 2000);
  rules.limit = {};
  EXPECT_FALSE(first_binding(rules, demand, {}, Asking::kSubmit));
  rules.draining = true;
  EXPECT_EQ(first_binding(rules, demand, {}, Asking::kSubmit)->kind, BindingKind::kDrain);
}

class WithinQuotaTest : public EntitlementTest {
 protected:
  bool within(AccountId leaf, ProductId product, MilliGpu amount) {
    const Amounts amounts{{product, amount}};
    return reach(tree, {leaf, amounts}, installed) == kRootAccount;
  }
  AccountId reaches(AccountId leaf, ProductId product, MilliGpu amount) {
    const Amounts amounts{{product, amount}};
    return reach(tree, {leaf, amounts}, installed);
  }
  Amounts installed{{h100, 8000}, {a100, 8000}};
};

TEST_F(WithinQuotaTest, NobodyIsWhoHasNone) { EXPECT_FALSE(within(ana, h100, 1000)); }

TEST_F(WithinQuotaTest, TheNearestQuotaAboveSpeaksForWhoHasNone) {
  set_quota(ml, {{any, 4000}});
  EXPECT_TRUE(within(ana, h100, 4000));
  EXPECT_FALSE(within(ana, h100, 4001));
  tree.hold(b, h100, 1000, now);
  EXPECT_FALSE(within(ana, h100, 4000));
}

TEST_F(WithinQuotaTest, ASumOfTheChildrensBelongsToThoseThatHaveIt) {
  set_quota(b, {{any, 4000}});
  EXPECT_FALSE(within(ana, h100, 1000));
  EXPECT_FALSE(within(ml, h100, 1000));  // its own jobs, beside b's
  EXPECT_TRUE(within(b, h100, 4000));
}

TEST_F(WithinQuotaTest, EachLevelMustHoldIt) {
  set_quota(ml, {{any, 4000}});
  set_quota(a, {{any, 2000}});
  EXPECT_TRUE(within(ana, h100, 2000));
  EXPECT_FALSE(within(ana, h100, 3000));
}

TEST_F(WithinQuotaTest, ByProductWhereItIsKnown) {
  set_quota(ml, {{h100, 2000}, {a100, 2000}});
  EXPECT_FALSE(within(ana, h100, 3000));
  EXPECT_TRUE(within(ana, any, 3000));  // only the sum is known
  EXPECT_FALSE(within(ana, any, 5000));
}

TEST_F(WithinQuotaTest, TheReachEndsBelowTheFirstAccountThatIsBeyond) {
  set_quota(ml, {{any, 8000}});
  set_quota(a, {{any, 4000}});
  set_quota(b, {{any, 4000}});
  EXPECT_EQ(reaches(ana, h100, 4000), kRootAccount);
  EXPECT_EQ(reaches(ana, h100, 4001), AccountId());
  tree.hold(b, h100, 6000, now);  // b has borrowed 2 of a's
  EXPECT_EQ(reaches(ana, h100, 2000), kRootAccount);
  EXPECT_EQ(reaches(ana, h100, 4000), ml);  // only against b
  EXPECT_EQ(reaches(b, h100, 1000), AccountId());
}

TEST_F(WithinQuotaTest, AUserOfATeamWithoutQuotaReachesNothingBelowAFullDepartment) {
  set_quota(ml, {{any, 4000}});
  EXPECT_EQ(reaches(ana, h100, 4000), kRootAccount);
  tree.hold(b, h100, 1000, now);
  EXPECT_EQ(reaches(ana, h100, 4000), AccountId());
}

TEST_F(WithinQuotaTest, QuotaOfAnyCoversNoGpuThatAnotherQuotaNames) {
  const AccountId bio = add("bio");
  set_quota(bio, {{h100, 4000}});
  set_quota(ml, {{any, 8000}});
  installed = {{h100, 4000}, {a100, 8000}};
  EXPECT_EQ(reaches(ana, h100, 1000), AccountId());  // no quota below ml
  EXPECT_TRUE(within(ana, a100, 8000));
  EXPECT_TRUE(within(ana, any, 8000));  // its product is not known yet
  EXPECT_TRUE(within(bio, h100, 4000));
  installed = {{h100, 6000}};
  EXPECT_TRUE(within(ana, h100, 2000));
  EXPECT_FALSE(within(ana, h100, 2001));
  tree.hold(b, h100, 1500, now);  // of ml too
  EXPECT_TRUE(within(ana, h100, 500));
  EXPECT_FALSE(within(ana, h100, 501));
}

TEST_F(WithinQuotaTest, QuotasOfAnyShareWhatNobodyNames) {
  const AccountId bio = add("bio"), law = add("law");
  set_quota(bio, {{h100, 4000}});
  set_quota(ml, {{any, 8000}});
  set_quota(law, {{any, 8000}});
  EXPECT_TRUE(within(law, h100, 3000));
  tree.hold(ana, h100, 2000, now);
  EXPECT_FALSE(within(law, h100, 3000));
  EXPECT_TRUE(within(law, h100, 2000));
  tree.hold(bio, h100, 4000, now);  // its own
  EXPECT_TRUE(within(law, h100, 2000));
  set_quota(bio, {});  // nothing is named any more
  EXPECT_TRUE(within(law, h100, 8000));
}

TEST_F(WithinQuotaTest, AnAccountUsesItsNamedQuotaFirst) {
  set_quota(ml, {{any, 4000}, {h100, 4000}});
  set_quota(a, {{h100, 4000}});
  installed = {{h100, 4000}};
  EXPECT_TRUE(within(b, h100, 1000));  // ml's own, whichever child uses it
  EXPECT_TRUE(within(ana, h100, 4000));
  tree.hold(ana, h100, 4000, now);
  EXPECT_FALSE(within(ana, h100, 1000));
}

class OverpromisedTest : public EntitlementTest {
 protected:
  std::optional<Overpromise> edit(const std::string& path, Amounts quota) {
    return overpromised(tree, path, quota);
  }
};

TEST_F(OverpromisedTest, WhoHasNoQuotaPromisesWhatItsChildrenDo) {
  EXPECT_FALSE(edit("ml.a", {{any, 1'000'000}}));
  set_quota(a, {{any, 3000}});
  set_quota(b, {{h100, 3000}});
  EXPECT_FALSE(edit("ml", {}));
}

TEST_F(OverpromisedTest, NamedQuotaHoldsNamedAndAnyHoldsTheRest) {
  set_quota(ml, {{h100, 2000}, {any, 2000}});
  EXPECT_FALSE(edit("ml.a", {{h100, 4000}}));
  const auto over = edit("ml.a", {{h100, 4001}});
  ASSERT_TRUE(over);
  EXPECT_EQ(over->parent, ml);
  EXPECT_EQ(over->beyond, 2001);
  EXPECT_EQ(over->any, 2000);
  EXPECT_TRUE(edit("ml.a", {{a100, 3000}}));  // what is named for h100 holds no a100
  set_quota(a, {{h100, 3000}});
  EXPECT_FALSE(edit("ml.b", {{any, 1000}}));
  EXPECT_TRUE(edit("ml.b", {{any, 1001}}));
  EXPECT_FALSE(edit("ml.new", {{a100, 1000}}));
  EXPECT_TRUE(edit("ml.new", {{a100, 1001}}));
}

TEST_F(OverpromisedTest, AParentCannotTakeBackWhatItsChildrenWerePromised) {
  set_quota(a, {{any, 3000}});
  EXPECT_FALSE(edit("ml", {{any, 3000}}));
  const auto over = edit("ml", {{any, 2999}});
  ASSERT_TRUE(over);
  EXPECT_EQ(over->parent, ml);
  EXPECT_FALSE(edit("ml", {}));  // then it promises what they have
}

TEST_F(OverpromisedTest, TheNearestQuotaAboveIsTheOneThatMustHold) {
  set_quota(ml, {{any, 2000}});
  set_quota(b, {{any, 1000}});
  EXPECT_FALSE(edit("ml.a.deep", {{any, 1000}}));  // a has none: it passes the promise on
  const auto over = edit("ml.a.deep", {{any, 1001}});
  ASSERT_TRUE(over);
  EXPECT_EQ(over->parent, ml);
}

TEST_F(EntitlementTest, HoldStopsStartsAndDrainStopsSubmissions) {
  AccountSpec spec = tree.node(ml).spec;
  spec.held = spec.draining = true;
  set(spec);
  const auto start = all(ana, {{h100, 1}});
  ASSERT_EQ(start.size(), 1u);
  EXPECT_EQ(start[0].kind, BindingKind::kHold);
  EXPECT_EQ(start[0].subject, ml);
  EXPECT_TRUE(all(ana, {{h100, 1}}, Asking::kAmounts).empty());
  const auto submit = all(ana, {{h100, 1}}, Asking::kSubmit);
  ASSERT_EQ(submit.size(), 1u);
  EXPECT_EQ(submit[0].kind, BindingKind::kDrain);
  EXPECT_TRUE(all(kRootAccount, {{h100, 1}}).empty());
}

TEST_F(EntitlementTest, ADrainLetsReplacementsPassWithinWhatCouldEverBe) {
  EXPECT_FALSE(draining(tree, ana));
  set_limit(a, {{any, 4000}});
  AccountSpec spec = tree.node(ml).spec;
  spec.draining = true;
  set(spec);
  EXPECT_EQ(draining(tree, ana), ml);
  EXPECT_EQ(draining(tree, ml), ml);
  EXPECT_FALSE(draining(tree, kRootAccount));
  EXPECT_TRUE(all(ana, {{h100, 4000}}, Asking::kReplace).empty());
  const auto more = all(ana, {{h100, 4001}}, Asking::kReplace);
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(more[0].subject, a);
}

TEST_F(EntitlementTest, ASubmissionIsStoppedByWhatCouldNeverBe) {
  set_limit(a, {{any, 4000}});
  tree.hold(ana, h100, 4000, now);
  EXPECT_TRUE(all(ana, {{h100, 4000}}, Asking::kSubmit).empty());
  EXPECT_EQ(all(ana, {{h100, 4001}}, Asking::kSubmit).size(), 1u);
}

TEST_F(EntitlementTest, ALimitOfZeroStopsAllButNothing) {
  set_limit(a, {{any, 0}});
  EXPECT_EQ(over(ana, h100, 1), a);
  EXPECT_EQ(over(ana, h100, 0), AccountId());
}

TEST_F(EntitlementTest, AUsersOwnLimitComesFirst) {
  set_limit(ana, {{any, 1000}});
  set_limit(ml, {{any, 1000}});
  const auto found = all(ana, {{any, 2000}});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].subject, ana);
}

}  // namespace
}  // namespace subak
