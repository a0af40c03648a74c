// The periods of budgets in a time zone. The code here knows no zones: the service gives it lists
// of instants, at which the civil days, weeks, months, quarters and years of the zone begin.
//
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

// One instant of a list.
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
std::optional<Error> check_civil_ends(const CivilEnds& ends);
// True if the lists of `told` should replace those of `known`: they have another zone or another
// end after `now`, or `known` has too few ends left.
bool is_news(const CivilEnds& known, const CivilEnds& told, TimeMs now);

// Finds periods. The lists must have passed check_civil_ends() (asserted).
class BudgetCalendar {
 public:
  explicit BudgetCalendar(CivilEnds ends);
  const CivilEnds& ends() const { return ends_; }
  // Returns the period that contains `t`. Periods of UTC continue a list on both sides. They are
  // shifted by the difference between UTC and the first or the last instant of the list.
  PeriodSpan period_at(const BudgetPeriod& period, TimeMs t) const;

 private:
  CivilEnds ends_;
};

// nullptr: periods are in UTC.
using BudgetCalendarPtr = std::shared_ptr<const BudgetCalendar>;

// The same as BudgetCalendar::period_at(), and period_at() of period.h for nullptr.
PeriodSpan period_in(const BudgetCalendar* calendar, const BudgetPeriod& period, TimeMs t);
// Returns the period that follows one that ends at `from`. Usually it is the calendar's. If the
// calendar has changed since, `from` may lie within one of its periods. Then the result ends with
// that period, or with the next one if less than half of the shortest period would be left.
PeriodSpan period_after(const BudgetCalendar* calendar, const BudgetPeriod& period, TimeMs from);

// The most that a civil period of a zone is shorter than the shortest one in UTC.
inline constexpr DurationMs kCivilSlackMs = 3 * kHourMs;

}  // namespace subak
