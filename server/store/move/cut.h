// The history of a store up to a moment. The facts up to one fact give the state at that fact's
// time, since the state depends only on the facts.
#pragma once

#include <cstdint>
#include <variant>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "server/store/proof/verify.h"

namespace subak {

// A time in ms since 1970, UTC: the last fact that stays is the last one at or before this time.
struct UntilTime {
  TimeMs time_ms = 0;
};
// The last fact that stays: its number, from 1, or a time.
using Until = std::variant<std::uint64_t, UntilTime>;

// The result of find_cut(): which facts stay, and which are left out.
struct Cut {
  StateMark state;                 // after the last fact that stays
  TimeMs time_ms = 0;              // of that fact
  std::uint32_t fact_version = 0;  // of the facts that stay
  std::uint64_t ledger_rows = 0;   // of the facts that stay
  std::uint64_t left_out = 0;      // number of facts left out
  TimeMs last_ms = 0;              // of the store's last fact
  // True: the first fact left out has the same time as the last fact that stays. Both may belong to
  // one decision, which is then incomplete. A cut by time never sets this.
  bool within_a_moment = false;
};

// Reads all facts and finds the cut. Fails with kInvalid, field `until`, if `until` is beyond the
// last fact or before the first, or if the store is empty.
// Other errors are the reader's. Time and memory: one replay of the facts that stay. Facts that are
// left out are only counted.
Result<Cut> find_cut(StoreReader& reader, const Until& until);

}  // namespace subak
