// The periods of budgets in a time zone, for BudgetBook (accounting/budget/budget_book.h). Example:
// March 2026 in Europe/Berlin begins on 28 February at 23:00 UTC. This code has no time zone
// database. The service gives it lists of the instants at which the civil days, weeks, months,
// quarters and years of the zone begin.
// Without these lists, periods are in UTC. A period of a fixed length, such as 12h, has no zone.
// The period "day" has the length of a civil day, and "24h" means "day".
//
// Units: times in ms since 1970-01-01 UTC.
// Errors: kInvalid, with the field's name.
// Threads: any; pure functions, and values that do not change.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accounting/budget/period.h"
#include "core/error.h"
#include "core/quantity.h"

namespace subak {

// One instant at which a civil period ends and the next one begins.
struct CivilEnd {
  TimeMs at_ms = 0;
  template <class V>
  void fields(V& v) {
    v(1, "at_ms", at_ms);
  }
  friend auto operator<=>(const CivilEnd&, const CivilEnd&) = default;
};

// The civil periods of a zone. Each list has the beginning of a period, and then the ends of this
// period and of the periods after it, ascending.
struct CivilEnds {
  // The IANA name of the zone, such as Europe/Berlin. Empty: UTC, and all lists are empty.
  std::string zone;
  std::vector<CivilEnd> days, weeks, months, quarters, years;
  template <class V>
  void fields(V& v) {
    v(1, "zone", zone);
    v(2, "days", days);
    v(3, "weeks", weeks);
    v(4, "months", months);
    v(5, "quarters", quarters);
    v(6, "years", years);
  }
  friend bool operator==(const CivilEnds&, const CivilEnds&) = default;
};

// Checks the lists: ascending, in range, and no period much shorter or longer than its kind allows.
// With a zone, each list has at least two instants.
std::optional<Error> check_civil_ends(const CivilEnds& ends);
// True if the newly reported lists `told` should replace the stored lists `known`: the zone or an
// end after `now` differs. Also true if `known` has few ends left and `told` has more.
bool is_news(const CivilEnds& known, const CivilEnds& told, TimeMs now);

// Finds periods in a time zone. The zone must not be empty, and the lists must have passed
// check_civil_ends() (both asserted).
class BudgetCalendar {
 public:
  explicit BudgetCalendar(CivilEnds ends);
  const CivilEnds& ends() const { return ends_; }
  // Returns the period that contains the time `t`, which must not be negative. Before and after the
  // list, the periods are those of UTC. They are shifted so that they meet the first or the last
  // instant of the list.
  PeriodSpan period_at(const BudgetPeriod& period, TimeMs t) const;

 private:
  CivilEnds ends_;
};

// A calendar that budget books share. nullptr: periods are in UTC.
using BudgetCalendarPtr = std::shared_ptr<const BudgetCalendar>;

// Returns the period that contains `t`: by BudgetCalendar::period_at(), or in UTC if `calendar` is
// nullptr.
PeriodSpan period_in(const BudgetCalendar* calendar, const BudgetPeriod& period, TimeMs t);
// Returns the period that begins at `from`, the end of the period before it. If the calendar was
// replaced, `from` may lie within a period of the new calendar. Then the result ends with that
// period. If the result would be shorter than half of the shortest period, it ends with the next
// period.
PeriodSpan period_after(const BudgetCalendar* calendar, const BudgetPeriod& period, TimeMs from);

// A civil period in a time zone may be this much shorter than the shortest such period in UTC.
inline constexpr DurationMs kCivilSlackMs = 3 * kHourMs;

}  // namespace subak
