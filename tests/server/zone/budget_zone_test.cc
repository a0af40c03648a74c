// A book of a budget in time zones, beside a list of all that happened. The periods of the list come
// from the C library, and those of the book from the lists that the service tells the engine.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "accounting/budget/budget_book.h"
#include "core/duration.h"
#include "model/fact.h"
#include "server/zone/civil_ends.h"

namespace subak {
namespace {

TimeMs at(std::string_view text) { return parse_time(text, "t").value(); }

// --- periods by the C library --------------------------------------------------------------------

struct Date {
  int year, month, day, weekday;  // Monday is 0
};

Date date_of(TimeMs t) {
  const time_t seconds = t / kSecondMs;
  tm parts{};
  localtime_r(&seconds, &parts);
  return {parts.tm_year + 1900, parts.tm_mon, parts.tm_mday, (parts.tm_wday + 6) % 7};
}

// The first instant at which the local date is not before this one. Days and months may be too
// large.
TimeMs first_instant(int year, int month, int day) {
  tm parts{};
  parts.tm_year = year - 1900;
  parts.tm_mon = month;
  parts.tm_mday = day;
  const TimeMs utc = timegm(&parts) * kSecondMs;
  const auto is_later = [&](TimeMs t) {
    const Date d = date_of(t);
    tm local{};
    local.tm_year = d.year - 1900;
    local.tm_mon = d.month;
    local.tm_mday = d.day;
    return timegm(&local) * kSecondMs >= utc;
  };
  TimeMs before = utc - 30 * kHourMs, after = utc + 30 * kHourMs;
  while (after - before > kSecondMs) {
    const TimeMs middle = before + (after - before) / 2 / kSecondMs * kSecondMs;
    (is_later(middle) ? after : before) = middle;
  }
  return after;
}

TimeMs end_after(const BudgetPeriod& period, TimeMs t) {
  const Date d = date_of(t);
  switch (period.kind) {
    case PeriodKind::kFixed:
      if (period.fixed_ms == kDayMs) return first_instant(d.year, d.month, d.day + 1);
      return t - t % period.fixed_ms + period.fixed_ms;
    case PeriodKind::kWeek:
      return first_instant(d.year, d.month, d.day + 7 - d.weekday);
    case PeriodKind::kMonth:
      return first_instant(d.year, d.month + 1, 1);
    case PeriodKind::kQuarter:
      return first_instant(d.year, d.month - d.month % 3 + 3, 1);
    case PeriodKind::kYear:
      return first_instant(d.year + 1, 0, 1);
    case PeriodKind::kTotal:
      break;
  }
  return kEndless;
}

void use_zone(const std::string& zone) {
  setenv("TZ", zone.empty() ? "UTC" : zone.c_str(), 1);
  tzset();
}

// --- the list ------------------------------------------------------------------------------------

constexpr const char* kZones[] = {"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"};

class BookAndList {
 public:
  BookAndList(std::string_view budget, TimeMs now) : now_(now), since_(now) {
    set_zone("Europe/Berlin");
    book_ = std::make_unique<BudgetBook>(budgets_of(budget).at(0), kOfAny, now_, calendar_);
    span_ = {book_->span().from_ms, end_after(book_->budget().period, now_)};
  }

  void step(std::mt19937_64& dice) {
    now_ += static_cast<DurationMs>(dice() % (6 * kHourMs));
    if (now_ - told_ > 20 * kDayMs) tell();
    while (now_ >= span_.to_ms) roll();
    const std::size_t what = dice() % 8;
    if (what < 3 || running_.empty()) {
      take(dice);
    } else if (what < 6) {
      give(dice);
    } else if (what == 6) {
      Hold& hold = running_[dice() % running_.size()];
      const TimeMs end = now_ + static_cast<DurationMs>(dice() % (40 * kDayMs));
      book_->move_end({hold.amount, hold.end}, end);
      hold.end = end;
    } else {
      refund(dice);
    }
    if (dice() % 40 == 0) restart();
    if (dice() % 200 == 0) set_zone(kZones[dice() % std::size(kZones)]);
  }

  void check(TimeMs t) const {
    const BudgetFigures figures = book_->at(t);
    ASSERT_EQ(book_->span(), span_);
    ASSERT_EQ(figures.spent, spent(t));
    ASSERT_EQ(figures.held, held(span_, t));
    ASSERT_EQ(figures.spent + figures.held + figures.left(), figures.granted);
    PeriodSpan later = span_;
    for (int i = 0; i < 2 && later.to_ms < kEndless; ++i) {
      later = next(later);
      ASSERT_EQ(book_->held_in(later), held(later, later.from_ms));
    }
  }
  TimeMs now() const { return now_; }
  TimeMs end() const { return span_.to_ms; }

 private:
  struct Hold {
    MilliGpu amount = 0;
    TimeMs end = 0, from = 0;
  };
  // GPU time of a pod that has ended, and its pod's time in the present period.
  struct Part {
    MilliGpu amount = 0;
    TimeMs from = 0, to = 0;
  };

  void take(std::mt19937_64& dice) {
    const Hold hold{static_cast<MilliGpu>(1 + dice() % 72'000),
                    dice() % 5 == 0 ? 0 : now_ + static_cast<DurationMs>(dice() % (40 * kDayMs)),
                    now_};
    book_->take({hold.amount, hold.end}, now_);
    running_.push_back(hold);
  }
  // An end may be told late, after the period of the end is over.
  void give(std::mt19937_64& dice) {
    const std::size_t i = dice() % running_.size();
    const Hold hold = running_[i];
    const TimeMs end = std::max(hold.from, now_ - static_cast<DurationMs>(dice() % (8 * kHourMs)));
    book_->give({hold.amount, hold.end}, end);
    const TimeMs from = std::max(hold.from, span_.from_ms);
    if (end >= from) {
      parts_.push_back({hold.amount, from, end});
    } else {
      corrections_.push_back({-hold.amount, end, from});
    }
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  // The time may be before the period, and before the account got the budget.
  void refund(std::mt19937_64& dice) {
    const TimeMs to = now_ - static_cast<DurationMs>(dice() % (3 * kDayMs));
    const TimeMs from = to - static_cast<DurationMs>(dice() % (2 * kHourMs));
    const auto amount = static_cast<MilliGpu>(dice() % 9000);
    book_->refund(amount, {from, to});
    if (to > since_) corrections_.push_back({-amount, std::max(from, since_), to});
  }
  PeriodSpan next(const PeriodSpan& span) const {
    const BudgetPeriod& period = book_->budget().period;
    TimeMs to = end_after(period, span.to_ms);
    if (to - span.to_ms < shortest_period(period) / 2) to = end_after(period, to);
    return {span.to_ms, to};
  }
  void roll() {
    span_ = next(span_);
    book_->roll(book_->turned(std::max(book_->span().to_ms, span_.from_ms)));
    parts_.clear();
    corrections_.clear();
  }
  // What a checkpoint stores, through its text.
  void restart() {
    const BudgetBook::State state = book_->state();
    const BudgetPeriod& period = book_->budget().period;
    const fact::BudgetPeriodSet stored{period.kind,
                                       period.fixed_ms,
                                       state.span.from_ms,
                                       state.span.to_ms,
                                       state.until_ms,
                                       AccountId(1),
                                       0,
                                       StoredGpuTime::of(state.base),
                                       state.since_ms,
                                       state.reached};
    const auto read = from_text<fact::BudgetPeriodSet>(to_text(stored)).value();
    if (calendar_ != nullptr) {
      const auto ends =
          from_text<fact::CivilEndsSet>(to_text(fact::CivilEndsSet{calendar_->ends()})).value();
      calendar_ = std::make_shared<const BudgetCalendar>(ends.ends);
    }
    auto fresh = std::make_unique<BudgetBook>(book_->budget(), kOfAny, now_, calendar_);
    for (const Hold& hold : running_) fresh->take({hold.amount, hold.end}, now_);
    fresh->restore(
        {{read.from_ms, read.to_ms}, read.until_ms, read.base.get(), read.since_ms, read.reached});
    book_ = std::move(fresh);
  }
  void set_zone(const std::string& zone) {
    zone_ = zone;
    use_zone(zone);
    tell();
  }
  void tell() {
    told_ = now_;
    const CivilEnds ends = civil_ends(zone_, now_).value();
    calendar_ = zone_.empty() ? nullptr : std::make_shared<const BudgetCalendar>(ends);
    if (book_ != nullptr) book_->set_calendar(calendar_);
  }

  GpuTime spent(TimeMs t) const {
    GpuTime sum;
    for (const Hold& hold : running_)
      sum += GpuTime::of(hold.amount, t - std::max(hold.from, span_.from_ms));
    for (const Part& part : parts_) sum += GpuTime::of(part.amount, part.to - part.from);
    for (const Part& part : corrections_) sum += GpuTime::of(part.amount, part.to - part.from);
    return sum;
  }
  GpuTime held(const PeriodSpan& span, TimeMs from) const {
    GpuTime sum;
    for (const Hold& hold : running_) {
      if (hold.end <= span.from_ms) continue;
      sum += GpuTime::of(hold.amount, std::min(hold.end, span.to_ms) - from);
    }
    return sum;
  }

  TimeMs now_, since_, told_ = 0;
  std::string zone_;
  BudgetCalendarPtr calendar_;
  std::unique_ptr<BudgetBook> book_;
  PeriodSpan span_;
  std::vector<Hold> running_;
  std::vector<Part> parts_, corrections_;
};

TEST(BudgetZones, SpentHeldAndLeftAreWhatIsGrantedAtEachInstant) {
  std::mt19937_64 dice(20261130);
  for (const char* budget :
       {"5000h/month", "300h/day", "9000h/week", "20000h/quarter", "90000h/year", "100h/90m"}) {
    BookAndList both(budget, at("2028-02-26T00:00:00Z"));  // a leap day follows
    for (int i = 0; i < 20'000; ++i) {
      both.step(dice);
      both.check(both.now());
      both.check(both.now() + static_cast<DurationMs>(dice() % kDayMs) % (both.end() - both.now()));
      if (::testing::Test::HasFatalFailure()) FAIL() << budget << " step " << i;
    }
  }
  use_zone("");
}

}  // namespace
}  // namespace subak
