#include "accounting/budget/budget.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "accounting/budget/budget_book.h"
#include "core/account_limits.h"
#include "core/duration.h"

namespace subak {
namespace {

TimeMs at(std::string_view text) { return parse_time(text, "t").value(); }
GpuTime hours(std::int64_t hours) { return GpuTime::of(kMilliPerGpu, hours * kHourMs); }
Budget budget_of(std::string_view text) { return budgets_of(text).at(0); }
std::string written(std::string_view text) {
  const auto read = parse_budgets(text, "f");
  return read ? budgets_text(*read) : "refused: " + read.error().got;
}

TEST(Budgets, HaveOneFormInAnyOrder) {
  EXPECT_EQ(written("soft=8000h/month,total=50000h,H100=2000h/quarter,gpu=10000h/month"),
            "10000h/month,50000h/total,H100=2000h/quarter,soft=8000h/month");
  EXPECT_EQ(written("0.125h/12h"), "0.125h/12h");
  EXPECT_EQ(written("1h/1d,2h/1h,soft=H100=3h/5m"), "2h/hour,1h/day,soft=H100=3h/5m");
  EXPECT_EQ(written(""), "");
}

TEST(Budgets, RefuseWhatIsNoBudgetAndNameIt) {
  for (const char* text :
       {"10h", "10h/", "10/month", "0h/month", "-1h/month", "1h/moon", "=1h/month", "1.0001h/month",
        "total=1h/month", "soft=", "H100=A100=1h/month", "1h/4m", "1000000001h/month"}) {
    EXPECT_EQ(written(text), std::string("refused: ") + text);
  }
  EXPECT_EQ(written("1h/month,"), "refused: 1h/month,");
  EXPECT_EQ(written("1h/month,2h/month"), "refused: 1h/month");
  std::string many;
  for (std::size_t i = 0; i <= limits::kMaxBudgets; ++i)
    many += "P" + std::to_string(i) + "=1h/day,";
  many.pop_back();
  EXPECT_EQ(written(many), "refused: " + many);
}

TEST(BudgetPeriods, FollowTheCalendar) {
  const auto span = [](std::string_view period, std::string_view time) {
    const PeriodSpan found = period_at(parse_period(period, "f").value(), at(time));
    return format_time(found.from_ms).substr(0, 10) + " " + format_time(found.to_ms).substr(0, 10);
  };
  EXPECT_EQ(span("month", "2028-02-29T23:59:59.999Z"), "2028-02-01 2028-03-01");
  EXPECT_EQ(span("month", "2026-12-31T00:00:00Z"), "2026-12-01 2027-01-01");
  EXPECT_EQ(span("quarter", "2026-11-29T00:00:00Z"), "2026-10-01 2027-01-01");
  EXPECT_EQ(span("year", "2026-01-01T00:00:00Z"), "2026-01-01 2027-01-01");
  EXPECT_EQ(span("week", "2026-11-29T23:00:00Z"), "2026-11-23 2026-11-30");  // a Sunday
  EXPECT_EQ(span("week", "2026-11-30T00:00:00Z"), "2026-11-30 2026-12-07");
  EXPECT_EQ(span("day", "2026-11-29T12:00:00Z"), "2026-11-29 2026-11-30");
  EXPECT_EQ(period_at({PeriodKind::kTotal, 0}, 5).to_ms, kEndless);
}

TEST(BudgetPeriods, FollowOneAnotherWithoutGapAndOverlap) {
  for (const char* text : {"hour", "week", "month", "quarter", "year", "36h", "5m"}) {
    const BudgetPeriod period = parse_period(text, "f").value();
    PeriodSpan span = period_at(period, at("2027-12-20T10:00:00Z"));
    for (int i = 0; i < 60; ++i) {
      EXPECT_EQ(period_at(period, span.from_ms), span) << text;
      EXPECT_EQ(period_at(period, span.to_ms - 1), span) << text;
      EXPECT_GE(span.length(), shortest_period(period)) << text;
      EXPECT_LE(span.length(), longest_period(period)) << text;
      const PeriodSpan next = period_at(period, span.to_ms);
      EXPECT_EQ(next.from_ms, span.to_ms) << text;
      span = next;
    }
  }
}

TEST(BudgetBook, HoldsUntilThePlannedEndAndGivesTheRestBack) {
  const TimeMs begin = at("2026-11-01T00:00:00Z");
  BudgetBook book(budget_of("100h/month"), kOfAny, begin);
  const BudgetHold hold{8000, begin + 5 * kHourMs};
  book.take(hold, begin);
  EXPECT_EQ(book.at(begin).held, hours(40));
  EXPECT_EQ(book.at(begin + 2 * kHourMs).spent, hours(16));
  EXPECT_EQ(book.at(begin + 2 * kHourMs).left(), hours(60));
  book.give(hold, begin + 3 * kHourMs);
  EXPECT_EQ(book.at(begin + 4 * kHourMs).spent, hours(24));
  EXPECT_EQ(book.at(begin + 4 * kHourMs).left(), hours(76));
  book.refund(8000, {begin, begin + kHourMs / 2});
  EXPECT_EQ(book.at(begin + 4 * kHourMs).left(), hours(80));
}

TEST(BudgetBook, SplitsAHoldOverItsPeriods) {
  const TimeMs begin = at("2026-11-30T20:00:00Z"), december = at("2026-12-01T00:00:00Z");
  BudgetBook book(budget_of("100h/month"), kOfAny, begin);
  const BudgetHold hold{10'000, begin + 10 * kHourMs};
  EXPECT_FALSE(book.lack(10'000, {begin, begin + 10 * kHourMs}, begin));
  book.take(hold, begin);
  EXPECT_EQ(book.at(begin).held, hours(40));
  const PeriodSpan next = period_at(book.budget().period, december);
  EXPECT_EQ(book.held_in(next), hours(60));
  // The second job fits in November, and not in December.
  const auto lack = book.lack(5000, {begin, begin + 13 * kHourMs}, begin);
  ASSERT_TRUE(lack);
  EXPECT_EQ(lack->span, next);
  EXPECT_EQ(lack->need, hours(45));
  EXPECT_EQ(lack->left, hours(40));
  book.roll(next);
  EXPECT_EQ(book.at(december).spent, GpuTime());
  EXPECT_EQ(book.at(december).held, hours(60));
  // The job ended before December, and the report came late: the open month gets the time back.
  book.give(hold, begin + 3 * kHourMs);
  EXPECT_EQ(book.at(december + kHourMs).spent, GpuTime() - hours(10));
  EXPECT_EQ(book.at(december + kHourMs).held, GpuTime());
}

TEST(BudgetBook, TakesNothingBackFromBeforeItsBeginning) {
  const TimeMs begin = at("2026-11-10T00:00:00Z");
  BudgetBook book(budget_of("100h/month"), kOfAny, begin);
  book.refund(1000, {begin - 2 * kHourMs, begin});
  EXPECT_EQ(book.at(begin).spent, GpuTime());
  book.take({1000, begin + kDayMs}, begin);
  book.refund(1000, {begin - 2 * kHourMs, begin + kHourMs});
  EXPECT_EQ(book.at(begin + 2 * kHourMs).spent, hours(1));
}

TEST(BudgetBook, ReachesEachPartOnceInAPeriod) {
  const TimeMs begin = at("2026-11-01T00:00:00Z");
  BudgetBook book(budget_of("soft=100h/month"), kOfAny, begin);
  EXPECT_EQ(book.next_percent_at(), kEndless);
  book.take({1000, 0}, begin);
  const TimeMs first = begin + 80 * kHourMs;
  EXPECT_EQ(book.next_percent_at(), first);
  EXPECT_EQ(book.spent_percent(first - 1), 0U);
  EXPECT_EQ(book.spent_percent(first), 80U);
  book.set_reached(80);
  EXPECT_EQ(book.next_percent_at(), begin + 100 * kHourMs);
  EXPECT_EQ(book.spent_percent(begin + 100 * kHourMs), 100U);
  book.set_reached(100);
  EXPECT_EQ(book.next_percent_at(), kEndless);
  book.grant(hours(100));  // the same amount
  EXPECT_EQ(book.reached(), 100U);
  book.grant(hours(200));
  EXPECT_EQ(book.next_percent_at(), begin + 160 * kHourMs);
  book.set_reached(80);
  book.roll(book.turned(book.span().to_ms));
  EXPECT_EQ(book.reached(), 0U);
}

TEST(BudgetBook, SaysWhenAJobFits) {
  const TimeMs begin = at("2026-11-01T00:00:00Z"), end = at("2026-12-01T00:00:00Z");
  const BudgetBook book(budget_of("100h/month"), kOfAny, begin);
  // Of 20 GPU-hours an hour, the month has room for the last five hours.
  const auto lack = book.lack(20'000, {begin, end}, begin);
  ASSERT_TRUE(lack);
  EXPECT_EQ(lack->allows_at, end - 5 * kHourMs);
  EXPECT_FALSE(book.lack(20'000, {lack->allows_at, end}, lack->allows_at));
  EXPECT_TRUE(book.lack(20'000, {lack->allows_at - 1, end}, lack->allows_at - 1));
  const BudgetBook total(budget_of("100h/total"), kOfAny, begin);
  EXPECT_EQ(total.lack(1000, {begin, kEndless}, begin)->allows_at, kEndless);
  EXPECT_FALSE(total.lack(1000, {begin, begin + 100 * kHourMs}, begin));
}

TEST(Budgets, NeverHoldWhatNoPeriodHolds) {
  const Budget month = budget_of("100h/month"), total = budget_of("100h/total");
  EXPECT_FALSE(never_holds(month, 8000, 25 * kHourMs, false));  // half of it in each of two months
  EXPECT_TRUE(never_holds(month, 8000, 25 * kHourMs + 2, false));
  EXPECT_FALSE(never_holds(month, 8000, 0, false));
  EXPECT_TRUE(never_holds(month, 1000, 70 * kDayMs, false));
  EXPECT_FALSE(never_holds(budget_of("696h/month"), 1000, 60 * kDayMs, false));  // around February
  const Budget hour = budget_of("100000h/hour");
  EXPECT_FALSE(never_holds(hour, 1, (limits::kMaxBudgetPeriods - 1) * kHourMs, false));
  EXPECT_TRUE(never_holds(hour, 1, limits::kMaxBudgetPeriods * kHourMs, false));
  EXPECT_FALSE(never_holds(total, 1000, 100 * kHourMs, false));
  EXPECT_TRUE(never_holds(total, 1000, 100 * kHourMs + 1, false));
  EXPECT_TRUE(never_holds(total, 1, 0, false));
  // A day in a time zone may be shorter.
  EXPECT_TRUE(never_holds(budget_of("23h/day"), 1000, 3 * kDayMs, false));
  EXPECT_FALSE(never_holds(budget_of("23h/day"), 1000, 3 * kDayMs, true));
  EXPECT_TRUE(never_holds(budget_of("20h/day"), 1000, 3 * kDayMs, true));
}

// A book beside a list of all that happened. Figures are compared in integers after each step.
class BookAndList {
 public:
  BookAndList(std::string_view budget, TimeMs now)
      : now_(now), since_(now), book_(budget_of(budget), kOfAny, now), span_(book_.span()) {}

  void step(std::mt19937_64& dice) {
    now_ += static_cast<DurationMs>(dice() % (6 * kHourMs));
    while (now_ >= book_.span().to_ms) roll();
    const std::size_t what = dice() % 8;
    if (what < 3 || jobs_.empty()) {
      const BudgetHold hold{
          static_cast<MilliGpu>(1 + dice() % 72'000),
          dice() % 5 == 0 ? 0 : now_ + static_cast<DurationMs>(dice() % (9 * kDayMs))};
      book_.take(hold, now_);
      jobs_.push_back({hold, now_});
    } else if (what < 6) {
      const std::size_t i = dice() % jobs_.size();
      const TimeMs end = std::max(jobs_[i].from, now_ - static_cast<DurationMs>(dice() % kHourMs));
      book_.give(jobs_[i].hold, end);
      spent_ += GpuTime::of(jobs_[i].hold.amount, end - jobs_[i].from);
      jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
    } else if (what == 6) {
      BudgetHold& hold = jobs_[dice() % jobs_.size()].hold;
      const TimeMs end = now_ + static_cast<DurationMs>(dice() % (9 * kDayMs));
      book_.move_end(hold, end);
      hold.end_ms = end;
    } else {
      const auto amount = static_cast<MilliGpu>(dice() % 9000);
      const TimeMs from = now_ - static_cast<DurationMs>(dice() % kHourMs);
      book_.refund(amount, {from, now_});
      spent_ -= GpuTime::of(amount, now_ - std::max(from, since_));
    }
    if (dice() % 50 == 0) restart();
  }

  void check() const {
    const BudgetFigures figures = book_.at(now_);
    GpuTime spent = spent_;
    for (const Job& job : jobs_) spent += GpuTime::of(job.hold.amount, now_ - job.from);
    ASSERT_EQ(figures.spent, spent);
    ASSERT_EQ(figures.held, held(span_, now_));
    ASSERT_EQ(figures.spent + figures.held + figures.left(), figures.granted);
    PeriodSpan later = span_;
    for (int i = 0; i < 3 && later.to_ms < kEndless; ++i) {
      later = period_at(book_.budget().period, later.to_ms);
      ASSERT_EQ(book_.held_in(later), held(later, later.from_ms));
    }
  }

 private:
  struct Job {
    BudgetHold hold;
    TimeMs from = 0;  // what it spent before is in spent_
  };
  // A job that is past its planned end counts with what it spent beyond, as the book does.
  GpuTime held(const PeriodSpan& span, TimeMs from) const {
    GpuTime out;
    for (const Job& job : jobs_) {
      if (job.hold.end_ms <= span.from_ms) continue;
      out += GpuTime::of(job.hold.amount, std::min(job.hold.end_ms, span.to_ms) - from);
    }
    return out;
  }
  void roll() {
    const PeriodSpan next = period_at(book_.budget().period, book_.span().to_ms);
    book_.roll(next);
    span_ = next;
    spent_ = GpuTime();
    for (Job& job : jobs_) job.from = next.from_ms;
  }
  void restart() {
    BudgetBook fresh(book_.budget(), kOfAny, now_);
    for (const Job& job : jobs_) fresh.take(job.hold, now_);
    fresh.restore(book_.state());
    book_ = fresh;
  }

  TimeMs now_, since_;
  BudgetBook book_;
  PeriodSpan span_;
  GpuTime spent_;
  std::vector<Job> jobs_;
};

TEST(BudgetBook, IsTheSumOfItsJobsAtEachInstant) {
  std::mt19937_64 dice(20261129);
  for (const char* budget : {"5000h/month", "300h/day", "100h/90m", "9000h/week", "90000h/total"}) {
    BookAndList both(budget, at("2028-02-26T00:00:00Z"));  // a leap day follows
    for (int i = 0; i < 20'000; ++i) {
      both.step(dice);
      both.check();
      if (::testing::Test::HasFatalFailure()) FAIL() << budget << " step " << i;
    }
  }
}

}  // namespace
}  // namespace subak
