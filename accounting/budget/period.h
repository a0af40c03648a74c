// The periods of budgets: "month", "quarter", or a fixed time such as "12h". Periods here are in
// UTC; calendar.h has those of a time zone.
//
// Units: times in ms since 1970-01-01 UTC.
// Errors: kInvalid with the given `field`.
// Threads: any; pure functions, plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/limits.h"
#include "core/quantity.h"
#include "core/text.h"

namespace subak {

// How the periods of a budget follow one another. Facts (the engine's durable records) store these
// values: only append new ones.
enum class PeriodKind : std::uint8_t {
  // Each period has the same length, and one period begins in the first ms of 1970.
  kFixed,
  // Weeks begin on Monday. Quarters begin in January, April, July and October.
  kWeek,
  kMonth,
  kQuarter,
  kYear,
  // There is one period, which never ends.
  kTotal
};
template <>
struct EnumText<PeriodKind> {
  static constexpr std::array<std::string_view, 6> names{"fixed",   "week", "month",
                                                         "quarter", "year", "total"};
};

// The periods of one budget.
struct BudgetPeriod {
  PeriodKind kind = PeriodKind::kMonth;
  // The length of a period if the kind is kFixed, else 0.
  DurationMs fixed_ms = 0;
  friend auto operator<=>(const BudgetPeriod&, const BudgetPeriod&) = default;
};

// A time that stands for "never": the end of a period, or the planned end of a job, that does not
// exist.
inline constexpr TimeMs kEndless = limits::kMaxTimeMs;

// One period: the times from `from_ms` up to, but not including, `to_ms`.
struct PeriodSpan {
  TimeMs from_ms = 0, to_ms = kEndless;
  DurationMs length() const { return to_ms - from_ms; }
  friend bool operator==(const PeriodSpan&, const PeriodSpan&) = default;
};

// Returns the period that contains `t`, which must not be negative.
PeriodSpan period_at(const BudgetPeriod& period, TimeMs t);
// The shortest and the longest period of this kind: a month has 28 to 31 days.
DurationMs shortest_period(const BudgetPeriod& period);
DurationMs longest_period(const BudgetPeriod& period);

// Reads "hour", "day", "week", "month", "quarter", "year", "total", or a duration.
Result<BudgetPeriod> parse_period(std::string_view text, std::string_view field);
// Returns the text that parse_period() reads.
std::string period_text(const BudgetPeriod& period);

}  // namespace subak
