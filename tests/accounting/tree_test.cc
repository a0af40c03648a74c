#include "accounting/tree.h"

#include <gtest/gtest.h>

#include "tree_fixture.h"

namespace subak {
namespace {

using test::TreeFixture;
using Ids = std::vector<AccountId>;
class AccountTreeTest : public TreeFixture {};

TEST_F(AccountTreeTest, HasARootFromTheStart) {
  const AccountTree fresh;
  EXPECT_TRUE(fresh.exists(kRootAccount));
  EXPECT_EQ(fresh.find(""), kRootAccount);
  EXPECT_EQ(fresh.next_id(), AccountId(2));
  EXPECT_EQ(fresh.preorder(), (Ids{kRootAccount}));
  EXPECT_EQ(fresh.node(kRootAccount).spec.shares, 1);
  EXPECT_EQ(fresh.clock().half_life_ms(), 7 * kDayMs);
}

TEST_F(AccountTreeTest, TheRootCanBeSetLikeAnyNode) {
  AccountSpec root;
  root.namespaces = {"misc"};
  root.limit = {{"gpu", 9000}};
  EXPECT_FALSE(tree.check(root));
  tree.set(kRootAccount, root, 3, 0, {}, {{ProductId(), 9000}});
  EXPECT_EQ(tree.node(kRootAccount).revision, 3);
  EXPECT_EQ(tree.names().find_namespace("c", "misc"), kRootAccount);
  EXPECT_EQ(tree.preorder().size(), 1u);
  tree.check_invariants();
}

TEST_F(AccountTreeTest, PathsFindTheirNodes) {
  const AccountId ml = add("ml"), vision = add("ml.vision"), ana = add("ml.vision/ana"),
                  ops = add("ops");
  const AccountId zed = add("ml/zed.k@x");
  EXPECT_EQ(tree.find("ml.vision/ana"), ana);
  EXPECT_EQ(tree.find("ml.vis"), AccountId());
  EXPECT_EQ(tree.node(ana).parent, vision);
  EXPECT_EQ(tree.node(zed).parent, ml);
  EXPECT_EQ(tree.node(ana).depth, 3u);
  EXPECT_EQ(tree.node(ml).children, (Ids{vision, zed}));
  EXPECT_EQ(tree.preorder(), (Ids{kRootAccount, ml, vision, ana, zed, ops}));
  tree.check_invariants();
}

TEST_F(AccountTreeTest, NamespacesPreferTheClustersOwn) {
  AccountSpec spec = spec_of("ml");
  spec.namespaces = {"team-a", "west/team-b"};
  const AccountId ml = set(spec);
  spec = spec_of("ops");
  spec.namespaces = {"west/team-a"};
  const AccountId ops = set(spec);
  EXPECT_EQ(tree.names().find_namespace("east", "team-a"), ml);
  EXPECT_EQ(tree.names().find_namespace("west", "team-a"), ops);
  EXPECT_EQ(tree.names().find_namespace("west", "team-b"), ml);
  EXPECT_EQ(tree.names().find_namespace("east", "team-b"), AccountId());
  spec.namespaces = {};
  set(spec);
  EXPECT_EQ(tree.names().find_namespace("west", "team-a"), ml);
}

TEST_F(AccountTreeTest, UnsetQuotaIsTheSumOfTheChildren) {
  const AccountId ml = add("ml"), a = add("ml.a"), b = add("ml.b");
  set_quota(a, {{h100, 8000}, {any, 1000}});
  set_quota(b, {{h100, 4000}, {a100, 2000}});
  const std::vector<std::pair<ProductId, MilliGpu>> sum{{any, 1000}, {h100, 12'000}, {a100, 2000}};
  EXPECT_EQ(tree.node(ml).quota, sum);
  EXPECT_EQ(tree.node(ml).quota_total, 15'000);
  EXPECT_EQ(tree.node(kRootAccount).quota_total, 15'000);
  set_quota(ml, {{any, 500}});  // its own word ends the sum here
  EXPECT_EQ(tree.node(kRootAccount).quota_total, 500);
  set_quota(b, {});
  EXPECT_EQ(tree.node(b).quota_total, 0);
  EXPECT_EQ(tree.node(ml).quota_total, 500);
  set_quota(ml, {});
  EXPECT_EQ(tree.node(kRootAccount).quota_total, 9000);
  tree.remove(a, now);
  EXPECT_EQ(tree.node(kRootAccount).quota_total, 0);
  tree.check_invariants();
}

// An account that went and comes back takes nothing from who has its namespace since.
TEST_F(AccountTreeTest, ANamespaceStaysWithItsNewAccount) {
  AccountSpec first = spec_of("a");
  first.namespaces = {"team"};
  tree.remove(set(first), now);
  AccountSpec second = spec_of("b");
  second.namespaces = {"team"};
  const AccountId b = set(second);
  set(spec_of("a"));
  EXPECT_EQ(tree.names().find_namespace("east", "team"), b);
}

TEST_F(AccountTreeTest, AUserWithoutQuotaHasNone) {
  const AccountId ml = add("ml");
  set_quota(ml, {{any, 8000}});
  EXPECT_EQ(tree.node(add("ml/ana")).quota_total, 0);
}

TEST_F(AccountTreeTest, ARemovedNodeIsGoneButForItsHistory) {
  add("ml");
  AccountSpec spec = spec_of("ml.a");
  spec.namespaces = {"team-a"};
  const AccountId a = set(spec);
  tree.remove(a, now);
  EXPECT_EQ(tree.find("ml.a"), AccountId());
  EXPECT_EQ(tree.names().find_namespace("c", "team-a"), AccountId());
  EXPECT_TRUE(tree.exists(a));
  EXPECT_TRUE(tree.node(a).removed);
  EXPECT_EQ(tree.node(a).spec.path, "ml.a");
  EXPECT_EQ(tree.preorder().size(), 2u);
  const AccountId again = set(spec);  // a name keeps its number
  EXPECT_EQ(again, a);
  EXPECT_EQ(tree.find("ml.a"), a);
  EXPECT_FALSE(tree.node(a).removed);
  tree.check_invariants();
}

TEST_F(AccountTreeTest, ANameKeepsWhatItHasHad) {
  const AccountId ml = add("ml");
  const AccountId ana = add("ml/ana");
  tree.hold(ana, h100, 8000, now);
  now += kDayMs;
  tree.release(ana, h100, 8000, false, now);
  const double usage = tree.usage(ana, now), surplus = tree.sort_surplus(ana, now);
  const GpuTime exact = tree.usage_undecayed(ana, now);
  tree.remove(ana, now);
  tree.remove(ml, now);
  tree.check_invariants();
  EXPECT_EQ(tree.id_for("ml/ana"), ana);
  EXPECT_EQ(next_revision(tree, ana), 2);
  add("ml");
  EXPECT_EQ(set(spec_of("ml/ana")), ana);
  EXPECT_EQ(tree.usage(ana, now), usage);
  EXPECT_EQ(tree.sort_surplus(ana, now), surplus);
  EXPECT_EQ(tree.usage_undecayed(ana, now), exact);
  EXPECT_EQ(tree.node(ml).children, std::vector<AccountId>{ana});
  tree.check_invariants();
}

TEST_F(AccountTreeTest, MadeAnewWithItsOldQuotaItIsPromisedAgain) {
  const AccountId ml = add("ml"), a = add("ml.a");
  set_quota(a, {{any, 3000}});
  const AccountSpec spec = tree.node(a).spec;
  tree.remove(a, now);
  EXPECT_EQ(tree.node(ml).quota_total, 0);
  EXPECT_EQ(set(spec, {{any, 3000}}), a);
  EXPECT_EQ(tree.node(ml).quota_total, 3000);
  EXPECT_EQ(tree.node(kRootAccount).quota_total, 3000);
  tree.check_invariants();
}

TEST_F(AccountTreeTest, ANewNameBeginsAtItsSiblingsMean) {
  AccountSpec spec = spec_of("heavy");
  spec.shares = 3;
  const AccountId heavy = set(spec), light = add("light");
  spec = spec_of("idle");
  spec.shares = 0;  // counts for nothing
  set(spec);
  tree.hold(heavy, h100, 9000, now);
  tree.hold(light, h100, 1000, now);
  now += kDayMs;
  spec = spec_of("fresh");
  spec.shares = 2;
  const AccountId fresh = set(spec);
  tree.begin_at_mean(fresh, now);
  const double all = tree.sort_surplus(heavy, now) + tree.sort_surplus(light, now);
  EXPECT_NEAR(tree.sort_surplus(fresh, now), all / 4 * 2, 1e-9 * all);
  EXPECT_EQ(tree.usage(fresh, now), 0);
  now += 7 * kDayMs;  // decays with the rest
  EXPECT_NEAR(tree.sort_surplus(fresh, now), all / 4, 1e-9 * all);
}

TEST_F(AccountTreeTest, ANewUserIsMeasuredWithTheJobsThatHaveNone) {
  const AccountId ml = add("ml");
  tree.hold(ml, h100, 4000, now);
  now += kDayMs;
  const AccountId ana = add("ml/ana");
  tree.begin_at_mean(ana, now);
  EXPECT_NEAR(tree.sort_surplus(ana, now), tree.usage(ml, now), 1e-9 * tree.usage(ml, now));
  const AccountId child = add("ml.child");  // an account has only accounts beside it, and ana
  tree.begin_at_mean(child, now);
  EXPECT_EQ(tree.sort_surplus(child, now), tree.sort_surplus(ana, now));
}

TEST_F(AccountTreeTest, ACheckpointRestoresRemovedNodes) {
  AccountTree copy;
  copy.set(AccountId(3), spec_of("ml"), 1, now, {}, {});
  copy.restore_removed(AccountId(2), kRootAccount, spec_of("old"), 4);
  copy.restore_removed(AccountId(4), AccountId(2), spec_of("old.child"), 2);
  EXPECT_EQ(copy.find("old"), AccountId());
  EXPECT_EQ(copy.node(AccountId(4)).depth, 2u);
  EXPECT_EQ(copy.next_id(), AccountId(5));
  copy.check_invariants();
}

TEST_F(AccountTreeTest, EveryEditBumpsTheStructureVersion) {
  const auto before = tree.structure_version();
  const AccountId ml = add("ml");
  EXPECT_EQ(tree.structure_version(), before + 1);
  tree.hold(ml, h100, 1000, now);
  EXPECT_EQ(tree.structure_version(), before + 1);
  tree.release(ml, h100, 1000, false, now);
  tree.remove(ml, now);
  EXPECT_EQ(tree.structure_version(), before + 2);
}

TEST_F(AccountTreeTest, TellsWhatAnEditChanged) {
  const AccountId ml = add("ml"), a = add("ml.a"), b = add("ml.b");
  const auto edited_by = [this](auto edit) {
    const auto before = tree.structure_version();
    edit();
    const auto span = tree.edited_since(before);
    return std::vector<AccountId>(span.begin(), span.end());
  };
  EXPECT_EQ(edited_by([&] { add("ml.b"); }), std::vector<AccountId>{b});
  // The quota of all above that have none of their own is another.
  EXPECT_EQ(edited_by([&] {
              set_quota(a, {{any, 1000}});
            }),
            (std::vector<AccountId>{a, ml, kRootAccount, a}));
  EXPECT_EQ(edited_by([&] { tree.remove(a, now); }), (std::vector<AccountId>{ml, kRootAccount, a}));
}

TEST_F(AccountTreeTest, AShareEditKeepsTheOrderContinuous) {
  AccountSpec spec = spec_of("ml");
  spec.shares = 10;
  const AccountId ml = set(spec);
  tree.hold(ml, h100, 8000, now);
  now += kDayMs;
  const double before = tree.sort_surplus(ml, now) / 10;
  const double surplus = surplus_of(tree, ml, now);
  for (const std::int64_t shares : {25, 3, 3, 10}) {
    spec.shares = shares;
    set(spec);
    EXPECT_NEAR(tree.sort_surplus(ml, now) / static_cast<double>(shares) / before, 1, 1e-12);
    EXPECT_EQ(surplus_of(tree, ml, now), surplus);
  }
  EXPECT_NEAR(tree.sort_surplus(ml, now) / surplus, 1, 1e-12);  // back where it was
}

TEST_F(AccountTreeTest, ARetroactiveShareEditCountsForThePast) {
  AccountSpec spec = spec_of("ml");
  spec.shares = 10;
  const AccountId ml = set(spec);
  tree.hold(ml, h100, 8000, now);
  now += kDayMs;
  spec.shares = 20;
  set(spec);  // adds an adjustment, which stays
  const double key = tree.sort_surplus(ml, now);
  for (const std::int64_t shares : {5, 40, 20}) {
    spec.shares = shares;
    tree.set(ml, spec, 1, now, {}, {}, {}, ShareEdit::kRetroactive);
    EXPECT_EQ(tree.sort_surplus(ml, now), key) << shares;
  }
  EXPECT_GT(key, surplus_of(tree, ml, now));
}

TEST_F(AccountTreeTest, TheAdjustmentDecaysWithTheRest) {
  AccountSpec spec = spec_of("ml");
  const AccountId ml = set(spec);
  tree.hold(ml, h100, 8000, now);
  now += kDayMs;
  tree.release(ml, h100, 8000, false, now);
  spec.shares = 4;
  set(spec);
  const double key = tree.sort_surplus(ml, now);
  EXPECT_NEAR(tree.sort_surplus(ml, now + 7 * kDayMs) / key, 0.5, 1e-12);
}

TEST_F(AccountTreeTest, SharesFromOrToZeroAdjustNothing) {
  AccountSpec spec = spec_of("ml");
  spec.shares = 0;
  const AccountId ml = set(spec);
  tree.hold(ml, h100, 8000, now);
  now += kDayMs;
  const double surplus = surplus_of(tree, ml, now);
  for (const std::int64_t shares : {5, 0}) {
    spec.shares = shares;
    set(spec);
    EXPECT_EQ(tree.sort_surplus(ml, now), surplus);
  }
}

TEST_F(AccountTreeTest, AQuotaEditMovesTheSurplusFromThenOn) {
  const AccountId ml = add("ml"), a = add("ml.a");
  tree.hold(a, h100, 8000, now);
  now += kDayMs;
  set_quota(a, {{h100, 8000}});  // of ml too, which has none of its own
  for (const AccountId id : {a, ml, kRootAccount}) {
    EXPECT_EQ(tree.node(id).meters.surplus_rate(), 0);
    const double then = surplus_of(tree, id, now);
    EXPECT_GT(then, 0);
    EXPECT_NEAR(surplus_of(tree, id, now + 7 * kDayMs) / then, 0.5, 1e-12);
  }
  tree.check_invariants();
}

using AccountTreeDeathTest = AccountTreeTest;
TEST_F(AccountTreeDeathTest, RemovingWhatIsInUse) {
  const AccountId ml = add("ml");
  tree.hold(ml, h100, 1000, now);
  EXPECT_DEATH(tree.remove(ml, now), "has and holds nothing");
  EXPECT_DEATH(tree.remove(kRootAccount, now), "the root never");
  EXPECT_DEATH((void)tree.node(AccountId(99)), "exists");
}

}  // namespace
}  // namespace subak
