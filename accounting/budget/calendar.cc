#include "accounting/budget/calendar.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/account_limits.h"
#include "core/duration.h"
#include "core/must.h"

namespace subak {
namespace {

using List = std::vector<CivilEnd>;

struct Kind {
  BudgetPeriod period;
  List CivilEnds::*list;
  std::string_view field;
};

constexpr std::array<Kind, 5> kKinds{{
    {{PeriodKind::kFixed, kDayMs}, &CivilEnds::days, "days"},
    {{PeriodKind::kWeek, 0}, &CivilEnds::weeks, "weeks"},
    {{PeriodKind::kMonth, 0}, &CivilEnds::months, "months"},
    {{PeriodKind::kQuarter, 0}, &CivilEnds::quarters, "quarters"},
    {{PeriodKind::kYear, 0}, &CivilEnds::years, "years"},
}};

// The least number of ends after now; with fewer, a new list is needed.
constexpr std::ptrdiff_t kFewEnds = 100;

Error wrong(std::string_view field, std::size_t index, TimeMs got, std::string want) {
  return {ErrorCode::kInvalid,
          "ends." + std::string(field) + "[" + std::to_string(index) + "].at_ms",
          std::to_string(got), std::move(want)};
}

std::optional<Error> check_list(const Kind& kind, const List& list) {
  const DurationMs least = shortest_period(kind.period) / 2;
  const DurationMs most = 2 * longest_period(kind.period);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const TimeMs at = list[i].at_ms;
    if (at < 0 || at >= kEndless) return wrong(kind.field, i, at, "want a time before year 10000");
    if (i == 0) continue;
    const DurationMs length = at - list[i - 1].at_ms;
    if (length < least || length > most) {
      return wrong(kind.field, i, at,
                   "want a time from " + format_duration(least) + " to " + format_duration(most) +
                       " after the one before");
    }
  }
  return std::nullopt;
}

List::const_iterator first_after(const List& list, TimeMs t) {
  return std::upper_bound(list.begin(), list.end(), CivilEnd{t});
}

bool differs(const List& known, const List& told, TimeMs now) {
  const auto from = first_after(known, now), begin = first_after(told, now);
  const auto count = std::min(known.end() - from, told.end() - begin);
  if (!std::equal(from, from + count, begin)) return true;
  return known.end() - from < kFewEnds && told.end() - begin > known.end() - from;
}

// Returns the UTC period that contains `t` if UTC had an end at `end`.
PeriodSpan shifted(const BudgetPeriod& period, TimeMs end, TimeMs t) {
  const PeriodSpan around = period_at(period, end);
  const bool is_early = end - around.from_ms < around.to_ms - end;
  const DurationMs shift = end - (is_early ? around.from_ms : around.to_ms);
  const PeriodSpan utc = period_at(period, std::max<TimeMs>(0, t - shift));
  return {std::max<TimeMs>(0, utc.from_ms + shift), utc.to_ms + shift};
}

}  // namespace

std::optional<Error> check_civil_ends(const CivilEnds& ends) {
  for (const Kind& kind : kKinds) {
    const List& list = ends.*kind.list;
    if (ends.zone.empty() == list.empty() && list.size() != 1) {
      if (auto error = check_list(kind, list)) return error;
      continue;
    }
    return Error{ErrorCode::kInvalid, "ends." + std::string(kind.field),
                 std::to_string(list.size()) + " times",
                 ends.zone.empty() ? "want none without a zone" : "want at least 2 times"};
  }
  return std::nullopt;
}

bool is_news(const CivilEnds& known, const CivilEnds& told, TimeMs now) {
  if (known.zone != told.zone) return true;
  return std::any_of(kKinds.begin(), kKinds.end(), [&](const Kind& kind) {
    return differs(known.*kind.list, told.*kind.list, now);
  });
}

BudgetCalendar::BudgetCalendar(CivilEnds ends) : ends_(std::move(ends)) {
  must(!ends_.zone.empty() && !check_civil_ends(ends_), "the ends of civil periods were checked");
}

PeriodSpan BudgetCalendar::period_at(const BudgetPeriod& period, TimeMs t) const {
  must(t >= 0, "time begins at 0");
  const auto* const kind =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.period == period; });
  if (kind == kKinds.end()) return subak::period_at(period, t);
  const List& list = ends_.*kind->list;
  const auto next = first_after(list, t);
  if (next == list.begin()) return shifted(period, list.front().at_ms, t);
  if (next == list.end()) return shifted(period, list.back().at_ms, t);
  return {next[-1].at_ms, next->at_ms};
}

PeriodSpan period_in(const BudgetCalendar* calendar, const BudgetPeriod& period, TimeMs t) {
  return calendar != nullptr ? calendar->period_at(period, t) : period_at(period, t);
}

PeriodSpan period_after(const BudgetCalendar* calendar, const BudgetPeriod& period, TimeMs from) {
  TimeMs to = period_in(calendar, period, from).to_ms;
  if (to < kEndless && to - from < shortest_period(period) / 2) {
    to = period_in(calendar, period, to).to_ms;
  }
  must(to > from, "a period has some time");
  return {from, to};
}

}  // namespace subak
