// Finds the part of a store's history that ends at a given moment. A restore to a moment uses it.
// The state depends only on the facts (numbered, durable decisions). So the facts up to a given
// fact produce the state at the time of that fact. Threads: those that may use the reader;
// find_cut() blocks while it reads the whole store.
#pragma once

#include <cstdint>
#include <variant>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "server/store/proof/verify.h"

namespace subak {

// A moment given as a time in ms since 1970, UTC. The last fact that stays is the last one that was
// made at or before this time.
struct UntilTime {
  TimeMs time_ms = 0;
};
// The last fact that stays: its number (the first fact has number 1), or a time.
using Until = std::variant<std::uint64_t, UntilTime>;

// The result of find_cut(): which facts stay, and which are left out.
struct Cut {
  StateMark state;                 // after the last fact that stays
  TimeMs time_ms = 0;              // of the last fact that stays
  std::uint32_t fact_version = 0;  // of the facts that stay
  std::uint64_t ledger_rows = 0;   // of the facts that stay
  std::uint64_t left_out = 0;      // the number of facts that are left out
  TimeMs last_ms = 0;              // of the store's last fact
  // True: the first fact that is left out has the same time as the last fact that stays. The two
  // facts may belong to one decision, which is then incomplete. If Until is a time, this is never
  // true.
  bool within_a_moment = false;
};

// Reads all facts and finds the cut. It fails with kInvalid, with the field `until`, if `until` is
// after the last fact or before the first one, or if the store is empty. The other errors are those
// of the reader. It replays the facts that stay, and only counts the facts that are left out.
Result<Cut> find_cut(StoreReader& reader, const Until& until);

}  // namespace subak
