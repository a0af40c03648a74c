#include "accounting/ledger.h"

#include <gtest/gtest.h>

#include "accounting/tree.h"

namespace subak {
namespace {

LedgerRow row(std::uint32_t rank, TimeMs from, TimeMs to, std::uint32_t payer, MilliGpu milligpu) {
  LedgerRow r;
  r.allocation = {JobId(7), rank, 1};
  r.from_ms = from;
  r.to_ms = to;
  r.holder = AccountId(5);
  r.payer = AccountId(payer);
  r.node = NodeId(3);
  r.product = "H100";
  r.milligpu = milligpu;
  return r;
}

TEST(Ledger, SumsByPayerHolderStateAndProduct) {
  Ledger ledger;
  ledger.add(row(0, 1000, 3000, 5, 8000));
  ledger.add(row(1, 1000, 2000, 5, 500));
  LedgerRow platform = row(2, 0, 10, kPlatform.value, 1000);
  platform.state = UsageState::kHeldUnbound;
  platform.node = NodeId(4);
  ledger.add(platform);
  EXPECT_EQ(ledger.rows(), 3u);
  EXPECT_EQ(ledger.total(), GpuTime::of(1, 8000 * 2000 + 500 * 1000 + 1000 * 10));
  ASSERT_EQ(ledger.sums().size(), 2u);
  const Ledger::Key used{AccountId(5), AccountId(5), UsageState::kUsed, "H100"};
  EXPECT_EQ(ledger.sums().at(used), GpuTime::of(8000, 2000) + GpuTime::of(500, 1000));
  EXPECT_EQ(ledger.of_node(NodeId(4)), GpuTime::of(1000, 10));
  EXPECT_TRUE(ledger.of_node(NodeId(9)).is_zero());
}

TEST(Ledger, ACorrectionTakesBack) {
  Ledger ledger;
  ledger.add(row(0, 1000, 3000, 5, 8000));
  LedgerRow correction = row(0, 2000, 3000, 5, -8000);
  correction.corrects = 1;
  ledger.add(correction);
  EXPECT_EQ(ledger.total(), GpuTime::of(8000, 1000));
  EXPECT_EQ(ledger.of_node(NodeId(3)), GpuTime::of(8000, 1000));
}

TEST(Ledger, HoldsMoreThan64Bits) {
  Ledger ledger;
  const MilliGpu all = 1'000'000'000;
  const DurationMs century = 36'525 * kDayMs;
  for (std::uint32_t i = 0; i < 10; ++i) ledger.add(row(i, 0, century, 5, all));
  EXPECT_EQ(ledger.total().gpu_seconds(), 10 * (all / 1000) * (century / 1000));
}

TEST(Ledger, ContinuesFromItsSums) {
  Ledger ledger;
  ledger.add(row(0, 1000, 3000, 5, 8000));
  ledger.add(row(1, 1000, 2000, 6, 500));
  Ledger copy;
  for (const auto& [key, amount] : ledger.sums()) copy.restore_sum(key, amount);
  for (const auto& [node, amount] : ledger.node_sums()) copy.restore_node(node, amount);
  copy.restore_rows(ledger.rows());
  EXPECT_EQ(copy.sums(), ledger.sums());
  EXPECT_EQ(copy.node_sums(), ledger.node_sums());
  EXPECT_EQ(copy.total(), ledger.total());
  EXPECT_EQ(copy.rows(), 2u);
}

TEST(Ledger, ARowSurvivesItsText) {
  LedgerRow r = row(3, 5, 9, 5, 125);
  r.state = UsageState::kForeign;
  r.corrects = 12;
  const auto back = from_text<LedgerRow>(to_text(r));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, r);
  EXPECT_EQ(
      to_text(r),
      "allocation={job=0-7 rank=3 attempt=1} from_ms=5 to_ms=9 holder=5 payer=5 state=foreign "
      "node=3 product=H100 milligpu=125 corrects=12");
}

TEST(Ledger, ARowOfAPodSurvivesItsText) {
  LedgerRow r = row(3, 5, 9, 5, 125);
  r.cluster = "east";
  r.ns = "team-a";
  r.profile = "1g.10gb";
  r.booked_ms = 77;
  const auto back = from_text<LedgerRow>(to_text(r));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, r);
  EXPECT_EQ(r.counts_from(), 76);
  EXPECT_EQ(r.counts_to(), 77);
}

constexpr TimeMs kOctober = 20362 * kDayMs;  // 2025-10-01
constexpr TimeMs kNovember = kOctober + 31 * kDayMs;

TEST(Ledger, AMonthClosesThreeDaysAfterItsEnd) {
  EXPECT_EQ(open_since(kNovember - 1, {}), kOctober);
  EXPECT_EQ(open_since(kNovember + 3 * kDayMs - 1, {}), kOctober);
  EXPECT_EQ(open_since(kNovember + 3 * kDayMs, {}), kNovember);
  EXPECT_EQ(open_since(20516 * kDayMs, {}), 20513 * kDayMs) << "2026-03-04: since 2026-03-01";
  EXPECT_EQ(open_since(0, {}), 0) << "no row is of a time before 1970";
}

TEST(Ledger, AtMostTwoMonthsAreOpen) {
  for (const std::uint32_t days : {1U, 3U, kMostMonthOpenDays}) {
    const MonthClosing months{days, 0};
    const DurationMs open_ms = days * kDayMs;
    EXPECT_EQ(open_since(kNovember + open_ms - 1, months), kOctober) << days;
    EXPECT_EQ(open_since(kNovember + open_ms, months), kNovember) << days;
    constexpr TimeMs kMarch = 20513 * kDayMs;  // of 2026, after a month of 28 days
    EXPECT_EQ(open_since(kMarch, months), kMarch - 28 * kDayMs) << days;
  }
}

TEST(Ledger, AnEditOpensNoClosedMonth) {
  const TimeMs closed = kNovember + 5 * kDayMs;
  const MonthClosing longer = with_open_days({}, 10, closed);
  EXPECT_EQ(open_since(closed, longer), kNovember) << "October had closed";
  EXPECT_EQ(open_since(kNovember + 30 * kDayMs + 9 * kDayMs, longer), kNovember) << "10 days";
  const TimeMs open = kNovember + 2 * kDayMs;
  const MonthClosing still_open = with_open_days({}, 10, open);
  EXPECT_EQ(open_since(kNovember + 10 * kDayMs - 1, still_open), kOctober);
  EXPECT_EQ(open_since(open, with_open_days({}, 1, open)), kNovember) << "closes at once";
  EXPECT_EQ(with_open_days({}, kMonthOpenDays, closed), MonthClosing()) << "3 days is no edit";
}

using LedgerDeathTest = ::testing::Test;
TEST(LedgerDeathTest, RefusesAnEmptyInterval) {
  Ledger ledger;
  EXPECT_DEATH(ledger.add(row(0, 1000, 1000, 5, 1)), "a row is of something");
}

}  // namespace
}  // namespace subak
