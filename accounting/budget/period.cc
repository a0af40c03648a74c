#include "accounting/budget/period.h"

#include <array>
#include <chrono>
#include <utility>

#include "core/account_limits.h"
#include "core/duration.h"
#include "core/must.h"

namespace subak {
namespace {

constexpr std::array<std::pair<std::string_view, BudgetPeriod>, 7> kNames{{
    {"hour", {PeriodKind::kFixed, kHourMs}},
    {"day", {PeriodKind::kFixed, kDayMs}},
    {"week", {PeriodKind::kWeek, 0}},
    {"month", {PeriodKind::kMonth, 0}},
    {"quarter", {PeriodKind::kQuarter, 0}},
    {"year", {PeriodKind::kYear, 0}},
    {"total", {PeriodKind::kTotal, 0}},
}};

// Days from Monday, 1969-12-29, to Thursday, 1970-01-01.
constexpr std::int64_t kDaysFromMonday = 3;

std::chrono::sys_days day_of(TimeMs t) {
  return std::chrono::sys_days(std::chrono::days(t / kDayMs));
}

TimeMs begin_of(std::chrono::year_month month) {
  return std::chrono::sys_days(month / 1).time_since_epoch().count() * kDayMs;
}

// The span of `months` months that contains `t`. A year has a whole number of such spans.
PeriodSpan months_at(TimeMs t, unsigned months) {
  using namespace std::chrono;
  const year_month_day date(day_of(t));
  const unsigned first = (static_cast<unsigned>(date.month()) - 1) / months * months + 1;
  const year_month begin = date.year() / month(first);
  return {begin_of(begin), begin_of(begin + std::chrono::months(months))};
}

PeriodSpan fixed_at(TimeMs t, DurationMs length, DurationMs offset) {
  const TimeMs from = t - (t + offset) % length;
  return {from, from + length};
}

}  // namespace

PeriodSpan period_at(const BudgetPeriod& period, TimeMs t) {
  must(t >= 0, "time begins at 0");
  switch (period.kind) {
    case PeriodKind::kFixed:
      return fixed_at(t, period.fixed_ms, 0);
    case PeriodKind::kWeek:
      return fixed_at(t, 7 * kDayMs, kDaysFromMonday * kDayMs);
    case PeriodKind::kMonth:
      return months_at(t, 1);
    case PeriodKind::kQuarter:
      return months_at(t, 3);
    case PeriodKind::kYear:
      return months_at(t, 12);
    case PeriodKind::kTotal:
      break;
  }
  return {0, kEndless};
}

DurationMs shortest_period(const BudgetPeriod& period) {
  switch (period.kind) {
    case PeriodKind::kFixed:
      return period.fixed_ms;
    case PeriodKind::kWeek:
      return 7 * kDayMs;
    case PeriodKind::kMonth:
      return 28 * kDayMs;
    case PeriodKind::kQuarter:
      return 90 * kDayMs;
    case PeriodKind::kYear:
      return 365 * kDayMs;
    case PeriodKind::kTotal:
      break;
  }
  return kEndless;
}

DurationMs longest_period(const BudgetPeriod& period) {
  switch (period.kind) {
    case PeriodKind::kMonth:
      return 31 * kDayMs;
    case PeriodKind::kQuarter:
      return 92 * kDayMs;
    case PeriodKind::kYear:
      return 366 * kDayMs;
    default:
      return shortest_period(period);
  }
}

Result<BudgetPeriod> parse_period(std::string_view text, std::string_view field) {
  for (const auto& [name, period] : kNames) {
    if (name == text) return period;
  }
  const Error wrong{ErrorCode::kInvalid, std::string(field), std::string(text),
                    "want hour, day, week, month, quarter, year, total, or a duration from " +
                        format_duration(limits::kMinBudgetPeriodMs) + " to " +
                        format_duration(limits::kMaxBudgetPeriodMs)};
  const auto length = parse_duration(text, field);
  if (!length || *length < limits::kMinBudgetPeriodMs || *length > limits::kMaxBudgetPeriodMs) {
    return wrong;
  }
  return BudgetPeriod{PeriodKind::kFixed, *length};
}

std::string period_text(const BudgetPeriod& period) {
  for (const auto& [name, known] : kNames) {
    if (known == period) return std::string(name);
  }
  return format_duration(period.fixed_ms);
}

}  // namespace subak
