// Computes when the days, weeks, months, quarters and years of a time zone begin and end (civil
// periods). Budgets use these periods. The zones are those of the system (/usr/share/zoneinfo).
// Errors: kInvalid with the field `budgetZone`: the name has a wrong form, or the system lacks the
// zone. Threads: any, unless a class says otherwise.
#pragma once

#include <optional>
#include <string>

#include "accounting/budget/calendar.h"
#include "core/error.h"
#include "core/quantity.h"
#include "model/input.h"

namespace subak {

// Returns the name of the zone as the policy stores it; for UTC, the empty text. It refuses a zone
// that does not exist on this system.
Result<std::string> read_zone(const std::string& name);
// Returns the periods of the zone, from the period that contains `now`, with
// limits::kMaxBudgetPeriods ends of each kind. For an empty zone, all lists are empty.
Result<CivilEnds> civil_ends(const std::string& zone, TimeMs now);

// Decides when the engine must get the civil periods of the policy's zone: at the first call, after
// an edit of the zone, and once a day. Threads: one at a time.
class CivilEndsTeller {
 public:
  // Returns the input to apply now. nullopt: no input is due, or the system lacks the zone. It logs
  // a missing zone as an error. O(1) unless an input is due.
  std::optional<in::TellCivilEnds> operator()(const std::string& zone, TimeMs now);

 private:
  std::string told_zone_;
  // The time of the last attempt. -1: there was none.
  TimeMs told_ms_ = -1;
};

}  // namespace subak
