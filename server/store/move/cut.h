// The history of a store up to a moment. The state is the fold of the facts, so the facts up to one
// give the state at that time.
#pragma once

#include <cstdint>
#include <variant>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "server/store/proof/verify.h"

namespace subak {

// The last fact that stays: by its number, or the last one at or before a time (UTC).
// Milliseconds since 1970.
struct UntilTime {
  TimeMs time_ms = 0;
};
// A number is that of the last fact that stays, from 1.
using Until = std::variant<std::uint64_t, UntilTime>;

// The facts that stay and those left out.
struct Cut {
  StateMark state;                 // after the last fact that stays
  TimeMs time_ms = 0;              // of that fact
  std::uint32_t fact_version = 0;  // of the facts that stay
  std::uint64_t ledger_rows = 0;   // of the facts that stay
  std::uint64_t left_out = 0;      // number of facts left out
  TimeMs last_ms = 0;              // of the store's last fact
  // The first fact left out has the time of the last that stays. Both may belong to one decision,
  // which is then incomplete. A cut by time never has this.
  bool within_a_moment = false;
};

// Reads all facts and finds the cut. Refused, with field `until`: a number or time beyond the last
// fact, or before the first.
// kInvalid; an empty store is refused too. Other errors are the reader's. Time and memory: one
// replay of the facts that stay. Facts that are left out are only counted.
Result<Cut> find_cut(StoreReader& reader, const Until& until);

}  // namespace subak
