#include "accounting/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace subak {
namespace {

Sibling sibling(std::uint32_t id, double shares, MilliGpu alloc, double surplus = 0) {
  Sibling s;
  s.id = AccountId(id);
  s.shares = shares;
  s.alloc = alloc;
  s.surplus = surplus;
  return s;
}

std::vector<OrderKey> keys_of(OrderPolicy policy, const std::vector<Sibling>& siblings) {
  std::vector<OrderKey> keys(siblings.size());
  order_keys(policy, {}, siblings, keys);
  return keys;
}

std::vector<std::uint32_t> order_of(OrderPolicy policy, const std::vector<Sibling>& siblings) {
  auto keys = keys_of(policy, siblings);
  std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a < b; });
  std::vector<std::uint32_t> ids;
  for (const OrderKey& key : keys) ids.push_back(key.id.value);
  return ids;
}

using Ids = std::vector<std::uint32_t>;

TEST(Keys, HalfOfTheNextJobCounts) {
  // Nobody has anything: the small job is nearer to its target than the gang.
  Sibling gang = sibling(2, 1, 0), small = sibling(3, 1, 0);
  gang.next = 64'000;
  small.next = 1000;
  EXPECT_EQ(order_of(OrderPolicy::kTargetShare, {gang, small}), (Ids{3, 2}));
  EXPECT_EQ(keys_of(OrderPolicy::kTargetShare, {gang, small})[0].first, 32'000 / 0.5);
  // 31.5 GPUs more are as much as half of the gang beside half of the small job: the id decides.
  small.alloc = 31'500;
  EXPECT_EQ(order_of(OrderPolicy::kTargetShare, {gang, small}), (Ids{2, 3}));
  small.alloc = 31'499;
  EXPECT_EQ(order_of(OrderPolicy::kTargetShare, {gang, small}), (Ids{3, 2}));
  // Not where quota covers it, and not under other rules.
  gang.quota = small.quota = 100'000;
  gang.within_quota = small.within_quota = true;
  EXPECT_EQ(order_of(OrderPolicy::kTargetShare, {gang, small}), (Ids{2, 3}));
  EXPECT_EQ(order_of(OrderPolicy::kDrf, {gang, small}), (Ids{2, 3}));
}

TEST(Targets, EqualSharesWhereNobodyUsedAnything) {
  const auto t = targets({}, std::vector{sibling(2, 1, 0), sibling(3, 3, 0)});
  EXPECT_DOUBLE_EQ(t[0], 0.25);
  EXPECT_DOUBLE_EQ(t[1], 0.75);
}

TEST(Targets, ASmallDeviationByHand) {
  // s = 1/2 each, v = 51 and 49: 1 + 32 (1 - 51/(0.5 x 100)) = 0.36 -> lo; 1 + 32 x 0.02 = 1.64 ->
  // hi 1.5.
  const auto clamped = targets({}, std::vector{sibling(2, 1, 0, 51), sibling(3, 1, 0, 49)});
  EXPECT_DOUBLE_EQ(clamped[0], 0.25);
  EXPECT_DOUBLE_EQ(clamped[1], 0.75);
  // v = 50.5 and 49.5: factors 0.68 and 1.32.
  const auto inside = targets({}, std::vector{sibling(2, 1, 0, 50.5), sibling(3, 1, 0, 49.5)});
  EXPECT_NEAR(inside[0], 0.34, 1e-12);
  EXPECT_NEAR(inside[1], 0.66, 1e-12);
}

TEST(Targets, UnevenSharesClampAtLoAndHi) {
  // s = 0.1: lo 0.05; hi_i = (1 - 0.5 x 0.9) / 0.1 = 5.5 -> 0.55. s = 0.9: hi = (1 - .05)/.9 ->
  // 0.95.
  const auto back = targets({}, std::vector{sibling(2, 1, 0, 0), sibling(3, 9, 0, 100)});
  EXPECT_NEAR(back[0], 0.55, 1e-12);
  EXPECT_NEAR(back[1], 0.45, 1e-12);
  const auto over = targets({}, std::vector{sibling(2, 1, 0, 100), sibling(3, 9, 0, 0)});
  EXPECT_NEAR(over[0], 0.05, 1e-12);
  EXPECT_NEAR(over[1], 0.95, 1e-12);
}

TEST(Targets, AreTheWrittenFormula) {
  const TargetShareRule rule;
  std::vector<Sibling> siblings;
  double sum_v = 0, sum_s = 0;
  for (std::uint32_t i = 0; i < 50; ++i) {
    siblings.push_back(
        sibling(i + 2, 1 + i % 7, 0, 1e12 * (1 + (i * 37 % 11) * 0.003) * (1 + i % 7)));
    sum_v += siblings.back().surplus;
    sum_s += siblings.back().shares;
  }
  const auto t = targets(rule, siblings);
  for (std::size_t i = 0; i < siblings.size(); ++i) {
    const double s = siblings[i].shares / sum_s;
    const double hi = (1 - rule.lo * (1 - s)) / s;
    const double wanted = 1 + rule.gain * (1 - siblings[i].surplus / (s * sum_v));
    EXPECT_NEAR(t[i], s * std::clamp(wanted, rule.lo, hi), 1e-13) << i;
  }
}

TEST(Targets, AnOnlyChildHasEverything) {
  EXPECT_DOUBLE_EQ(targets({}, std::vector{sibling(2, 7, 5000, 1e15)})[0], 1);
  const auto with_nobody = targets({}, std::vector{sibling(2, 7, 0, 1e15), sibling(3, 0, 0, 1e15)});
  EXPECT_DOUBLE_EQ(with_nobody[0], 1);
  EXPECT_EQ(with_nobody[1], 0);
}

TEST(Targets, ThoseWithoutSharesDoNotCount) {
  const std::vector two{sibling(2, 1, 0, 50.5), sibling(3, 1, 0, 49.5)};
  auto three = two;
  three.push_back(sibling(4, 0, 0, 1000));
  const auto want = targets({}, two), got = targets({}, three);
  EXPECT_EQ(got[0], want[0]);
  EXPECT_EQ(got[1], want[1]);
  EXPECT_EQ(got[2], 0);
}

TEST(TargetShare, LeastAllocationPerTargetComesFirst) {
  // Targets 0.25 and 0.75 (clamped as above): 100/0.25 = 400 against 250/0.75 = 333.
  const std::vector siblings{sibling(2, 1, 100, 51), sibling(3, 1, 250, 49)};
  const auto keys = keys_of(OrderPolicy::kTargetShare, siblings);
  EXPECT_DOUBLE_EQ(keys[0].first, 400);
  EXPECT_NEAR(keys[1].first, 333.333, 0.001);
  EXPECT_EQ(keys[0].band, 1);
  EXPECT_EQ(order_of(OrderPolicy::kTargetShare, siblings), (Ids{3, 2}));
}

TEST(TargetShare, TiesGoBySurplusPerShareThenId) {
  const std::vector idle{sibling(4, 1, 0, 50), sibling(3, 1, 0, 50), sibling(2, 1, 0, 51)};
  EXPECT_EQ(order_of(OrderPolicy::kTargetShare, idle), (Ids{3, 4, 2}));
}

TEST(TargetShare, WithinQuotaGoesFirstByUseOfQuota) {
  std::vector<Sibling> siblings{sibling(2, 1, 0), sibling(3, 1, 6000), sibling(4, 1, 4000)};
  siblings[1].quota = 16'000;
  siblings[1].within_quota = true;
  siblings[2].quota = 8'000;
  siblings[2].within_quota = true;
  EXPECT_EQ(order_of(OrderPolicy::kTargetShare, siblings), (Ids{3, 4, 2}));
  const auto keys = keys_of(OrderPolicy::kTargetShare, siblings);
  EXPECT_EQ(keys[1].band, 0);
  EXPECT_DOUBLE_EQ(keys[1].first, 0.375);
  EXPECT_DOUBLE_EQ(keys[2].first, 0.5);
}

TEST(TargetShare, NoSharesComesLastButKeepsItsQuota) {
  std::vector<Sibling> siblings{sibling(2, 0, 0), sibling(3, 1, 90'000, 1e15),
                                sibling(4, 0, 0, -0.0)};
  EXPECT_EQ(order_of(OrderPolicy::kTargetShare, siblings), (Ids{3, 2, 4}));
  siblings[2].quota = 8000;
  siblings[2].within_quota = true;
  EXPECT_EQ(order_of(OrderPolicy::kTargetShare, siblings), (Ids{4, 3, 2}));
}

TEST(TargetShare, AllWithoutShares) {
  EXPECT_EQ(order_of(OrderPolicy::kTargetShare, {sibling(2, 0, 500), sibling(3, 0, 100)}),
            (Ids{3, 2}));
}

TEST(TargetShare, EveryKeyIsANumber) {
  std::vector<Sibling> odd{sibling(2, 1e9, 0, 1e30), sibling(3, 1, 1, 0), sibling(4, 1, 0, 1e-300)};
  odd[1].within_quota = true;  // with no quota at all
  for (const OrderKey& key : keys_of(OrderPolicy::kTargetShare, odd)) {
    EXPECT_FALSE(std::isnan(key.first) || std::isnan(key.second));
  }
}

TEST(ExactOrder, LeastUsagePerShareThenId) {
  std::vector<Sibling> siblings{sibling(2, 2, 0), sibling(3, 1, 0), sibling(4, 4, 0),
                                sibling(5, 0, 0)};
  siblings[0].usage = 100;
  siblings[1].usage = 40;
  siblings[2].usage = 200;
  EXPECT_EQ(order_of(OrderPolicy::kExact, siblings), (Ids{3, 2, 4, 5}));
  EXPECT_EQ(order_of(OrderPolicy::kUsageTick, siblings), (Ids{3, 2, 4, 5}));
}

TEST(DrfOrder, LeastAllocationPerShare) {
  std::vector<Sibling> siblings{sibling(2, 2, 3000), sibling(3, 1, 2000)};
  siblings[0].usage = 1e18;  // has no memory
  EXPECT_EQ(order_of(OrderPolicy::kDrf, siblings), (Ids{2, 3}));
}

TEST(FifoOrder, FirstSubmittedWhateverTheShares) {
  std::vector<Sibling> siblings{sibling(2, 9, 0), sibling(3, 0, 0), sibling(4, 1, 0)};
  siblings[0].submit_ms = 1'772'323'200'002;
  siblings[1].submit_ms = 1'772'323'200'001;
  siblings[2].submit_ms = 1'772'323'200'001;
  EXPECT_EQ(order_of(OrderPolicy::kFifo, siblings), (Ids{3, 4, 2}));
}

}  // namespace
}  // namespace subak
