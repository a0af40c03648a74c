#include <gtest/gtest.h>

#include "tree_fixture.h"

namespace subak {
namespace {

using test::TreeFixture;

class TreeAllocTest : public TreeFixture {
 protected:
  TreeAllocTest() : ml(add("ml")), a(add("ml.a")), ana(add("ml.a/ana")), b(add("ml.b")) {}
  const AccountId ml, a, ana, b;
};

TEST_F(TreeAllocTest, HoldsAndMetersRiseOnTheWholePath) {
  tree.hold(ana, h100, 8000, now);
  tree.hold(a, a100, 500, now);
  tree.bind(ana, h100, 3000, now + 10);
  for (const AccountId id : {a, ml, kRootAccount}) {
    EXPECT_EQ(tree.node(id).holdings.held(), 5500);
    EXPECT_EQ(tree.node(id).holdings.running(), 3000);
    ASSERT_EQ(tree.node(id).holdings.levels().size(), 2u);
    EXPECT_EQ(tree.node(id).holdings.levels()[0].product, h100);
    EXPECT_EQ(tree.node(id).holdings.levels()[1].held, 500);
    EXPECT_EQ(tree.node(id).meters.usage_rate(), 8500);
  }
  EXPECT_EQ(tree.node(ana).alloc(), 8000);
  EXPECT_EQ(tree.node(b).alloc(), 0);
  tree.check_invariants();
  tree.release(ana, h100, 5000, false, now + 20);
  tree.release(ana, h100, 3000, true, now + 20);
  tree.release(a, a100, 500, false, now + 20);
  EXPECT_EQ(tree.node(kRootAccount).alloc(), 0);
  EXPECT_EQ(tree.node(kRootAccount).meters.usage_rate(), 0);
  tree.check_invariants();
}

TEST_F(TreeAllocTest, UndecayedUsageIsTheExactIntegral) {
  tree.hold(ana, h100, 8000, now);
  tree.bind(ana, h100, 8000, now + 500);
  tree.hold(b, h100, 125, now + 700);
  EXPECT_EQ(tree.usage_undecayed(ana, now + 1000), GpuTime::of(8000, 1000));
  tree.release(ana, h100, 8000, true, now + 1000);
  EXPECT_EQ(tree.usage_undecayed(ana, now + 9000), GpuTime::of(8000, 1000));
  EXPECT_EQ(tree.usage_undecayed(ml, now + 1700), GpuTime::of(8000, 1000) + GpuTime::of(125, 1000));
}

TEST_F(TreeAllocTest, AnEndReportedLateIsStillExact) {
  tree.hold(ana, h100, 8000, now);
  tree.hold(b, h100, 1000, now + kHourMs);
  tree.release(ana, h100, 8000, false, now + kHourMs / 2);  // known only now
  const TimeMs t = now + 2 * kHourMs;
  EXPECT_EQ(tree.usage_undecayed(ml, t),
            GpuTime::of(8000, kHourMs / 2) + GpuTime::of(1000, kHourMs));
  AccountTree in_order;
  in_order.set(AccountId(2), spec_of("ml"), 1, now, {}, {});
  in_order.hold(AccountId(2), h100, 8000, now);
  in_order.release(AccountId(2), h100, 8000, false, now + kHourMs / 2);
  in_order.hold(AccountId(2), h100, 1000, now + kHourMs);
  EXPECT_NEAR(tree.usage(ml, t) / in_order.usage(AccountId(2), t), 1, 1e-9);
  EXPECT_EQ(tree.node(ml).meters.surplus_rate(), 1000);
  DecayedMeter surplus;  // falls at the node's last change
  surplus.change_rate(tree.clock(), 8000, now);
  surplus.change_rate(tree.clock(), -7000, now + kHourMs);
  EXPECT_NEAR(surplus_of(tree, ml, t) / surplus.value(tree.clock(), t), 1, 1e-9);
  tree.check_invariants();
}

TEST_F(TreeAllocTest, AnEndReportedAfterAQuotaEditKeepsThePastSurplus) {
  tree.hold(a, h100, 10'000, now);
  const TimeMs start = now;
  now += kHourMs;
  set_quota(a, {{any, 4000}});
  tree.release(a, h100, 10'000, false, start + kHourMs / 2);
  DecayedMeter surplus;
  surplus.change_rate(tree.clock(), 10'000, start);
  surplus.change_rate(tree.clock(), -10'000, now);
  const TimeMs t = now + kHourMs;
  EXPECT_NEAR(surplus_of(tree, a, t) / surplus.value(tree.clock(), t), 1, 1e-9);
  EXPECT_EQ(tree.usage_undecayed(a, t), GpuTime::of(10'000, kHourMs / 2));
}

TEST_F(TreeAllocTest, QuotaCoversItsProductFirstThenAny) {
  set_quota(a, {{any, 3000}, {h100, 4000}});
  tree.hold(a, h100, 6000, now);
  tree.hold(a, a100, 2000, now);
  const AccountNode& node = tree.node(a);
  // 4000 of the H100 by its own quota; any covers 3000 of the 2000 + 2000 left.
  EXPECT_EQ(beyond_quota(node, any, 0), 1000);
  EXPECT_EQ(tree.node(a).meters.surplus_rate(), 1000);
  EXPECT_EQ(beyond_quota(node, h100, 5000), 6000);
  set_quota(a, {{any, 4000}, {h100, 4000}});
  EXPECT_EQ(beyond_quota(node, any, 0), 0);
  EXPECT_EQ(tree.node(a).meters.surplus_rate(), 0);
}

TEST_F(TreeAllocTest, QuotaIsTriedWithTheExtraOnTop) {
  set_quota(a, {{h100, 4000}});
  const AccountNode& node = tree.node(a);
  EXPECT_EQ(beyond_quota(node, h100, 4000), 0);
  EXPECT_EQ(beyond_quota(node, h100, 5000), 1000);
  EXPECT_EQ(beyond_quota(node, a100, 1000), 1000);
  tree.hold(a, h100, 1000, now);
  EXPECT_EQ(beyond_quota(node, h100, 3000), 0);
  EXPECT_EQ(beyond_quota(tree.node(ana), h100, 1000), 1000);  // a user without quota
}

TEST_F(TreeAllocTest, SurplusIsEachNodesOwn) {
  set_quota(a, {{any, 4000}});
  set_quota(b, {{any, 4000}});
  tree.hold(a, h100, 6000, now);
  // ml's quota is 8000: what a borrows from b is no surplus of ml.
  EXPECT_EQ(tree.node(a).meters.surplus_rate(), 2000);
  EXPECT_EQ(tree.node(ml).meters.surplus_rate(), 0);
  tree.hold(b, h100, 4000, now);
  EXPECT_EQ(tree.node(ml).meters.surplus_rate(), 2000);
}

TEST_F(TreeAllocTest, DecayedReadsAtOneInstant) {
  tree.hold(ana, h100, 8000, now);
  const TimeMs t = now + 7 * kDayMs;
  const DecayInstant instant = tree.clock().at(t);
  EXPECT_EQ(tree.usage(ml, instant), tree.usage(ml, t));
  EXPECT_EQ(tree.sort_surplus(ml, instant), surplus_of(tree, ml, t));
  EXPECT_NEAR(tree.usage(ml, t) / (4000 * tree.clock().mean_life_ms()), 1, 1e-14);
}

TEST_F(TreeAllocTest, MetersRestoreOverReplayedHolds) {
  tree.hold(ana, h100, 8000, now);
  tree.bind(ana, h100, 8000, now + 60'000);
  tree.hold(b, a100, 1000, now + kDayMs);
  AccountTree copy;
  for (const AccountId id : tree.preorder()) copy.set(id, tree.node(id).spec, 1, now, {}, {});
  copy.hold(ana, h100, 8000, 0);
  copy.bind(ana, h100, 8000, 0);
  copy.hold(b, a100, 1000, 0);
  for (const AccountId id : tree.preorder()) {
    const AccountNode& n = tree.node(id);
    copy.restore_meters(id, n.meters.state());
  }
  copy.check_invariants();
  tree.release(ana, h100, 8000, true, now + 2 * kDayMs);
  copy.release(ana, h100, 8000, true, now + 2 * kDayMs);
  for (const AccountId id : tree.preorder()) {
    EXPECT_EQ(copy.node(id).meters.state(), tree.node(id).meters.state());
    EXPECT_EQ(copy.usage_undecayed(id, now + 3 * kDayMs),
              tree.usage_undecayed(id, now + 3 * kDayMs));
  }
}

TEST_F(TreeAllocTest, AnotherHalfLifeStartsTheMetersAnew) {
  set_quota(a, {{any, 3000}});
  tree.hold(ana, h100, 8000, now);
  tree.hold(b, h100, 1000, now);
  now += kDayMs;
  tree.release(b, h100, 1000, false, now);
  const auto version = tree.structure_version();
  tree.restart_meters(kHourMs, now);
  EXPECT_GT(tree.structure_version(), version);
  tree.check_invariants();
  EXPECT_EQ(tree.usage(b, now + kHourMs), 0);
  EXPECT_EQ(tree.usage(a, now), 0);
  const double full = 8000 * tree.clock().mean_life_ms();
  EXPECT_NEAR(tree.usage(ml, now + kHourMs) / full, 0.5, 1e-14);
  EXPECT_NEAR(surplus_of(tree, a, now + kHourMs) / full, 5.0 / 16, 1e-14);
  EXPECT_EQ(tree.usage_undecayed(ml, now + 5), GpuTime::of(9000, kDayMs) + GpuTime::of(8000, 5));
}

using TreeAllocDeathTest = TreeAllocTest;
TEST_F(TreeAllocDeathTest, MoreReleasedThanHeld) {
  tree.hold(ana, h100, 1000, now);
  EXPECT_DEATH(tree.release(ana, h100, 1000, true, now), "did not begin");
  EXPECT_DEATH(tree.release(ana, a100, 1, false, now), "did not begin");
}

}  // namespace
}  // namespace subak
