// The history of a store up to a moment: as the state is the fold of the facts, the facts up to one are the state then.
#pragma once

#include <cstdint>
#include <variant>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "server/store/verify.h"

namespace subak {

// The last fact that stays: by its number, or the last one of that time or before it (UTC).
struct UntilTime {
  TimeMs time_ms = 0;
};
using Until = std::variant<std::uint64_t, UntilTime>;

// What stays, and what is left out.
struct Cut {
  StateMark state;                 // after the last fact that stays
  TimeMs time_ms = 0;              // of that fact
  std::uint32_t fact_version = 0;  // of the facts that stay
  std::uint64_t ledger_rows = 0;   // that these have
  std::uint64_t left_out = 0;      // facts
  TimeMs last_ms = 0;              // of the last of all
  // The first fact that is left out has the time of the last that stays: both may be of one decision, of which then a
  // part is there. A cut by time never has this.
  bool within_a_moment = false;
};

// Reads all facts. Refused, with field `until`: a number or time beyond the last fact, or before the first.
Result<Cut> find_cut(StoreReader& reader, const Until& until);

}  // namespace subak
