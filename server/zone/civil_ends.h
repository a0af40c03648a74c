// The civil periods of a time zone, from the system's list of zones (/usr/share/zoneinfo).
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

// Returns the name as the policy has it: UTC is empty. The zone must exist on this system.
Result<std::string> read_zone(const std::string& name);
// Returns the periods of the zone from the period that contains `now`: 130 ends of each kind. An
// empty zone gives no lists.
Result<CivilEnds> civil_ends(const std::string& zone, TimeMs now);

// Says when the engine should be told the civil periods of the policy's zone: at the first
// question, after an edit of the zone, and after each day. Threads: one at a time.
class CivilEndsTeller {
 public:
  // Returns the input to apply now. nullopt: none is due, or the system lacks the zone, which is
  // logged as an error. O(1) unless an input is due.
  std::optional<in::TellCivilEnds> operator()(const std::string& zone, TimeMs now);

 private:
  std::string told_zone_;
  // The time of the last attempt. -1: there was none.
  TimeMs told_ms_ = -1;
};

}  // namespace subak
