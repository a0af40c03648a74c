// Reads and checks a whole store, before a backup is reported as good, and
// before a backup is restored.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// Identifies the state after a fact, by Engine::digest().
// If two engines have equal marks, their states are equal, as far as the digest covers them.
struct StateMark {
  std::uint64_t seq = 0;
  std::array<std::uint64_t, 2> digest{};
};
// Returns the digest as 32 hexadecimal digits.
std::string digest_text(const std::array<std::uint64_t, 2>& digest);

// The result of a verification.
struct StoreReport {
  StateMark state;  // after the last fact
  std::uint32_t fact_version = 0;
  std::uint64_t checkpoint_seq = 0;  // 0: none
  std::uint64_t ledger_rows = 0;
  std::int64_t bytes = 0;
  std::string history;  // SHA-256 of all facts, hexadecimal
};

// Refuses a store unless
//  - the file is a store of a version that this program knows, and SQLite finds it intact;
//  - the facts are those of the history that note_history() wrote, if there is one;
//  - a replay of all facts gives the state `live` at its fact, if `live` is given;
//  - the replay ends with the same state as a start, which reads the checkpoint and later facts;
//  - the ledger's rows are those that the facts give.
// No process may write to the store meanwhile. Cost: three readings of all facts.
// `live`: a mark of the running service; its fact must be in the store. The function opens the
// store for reading. A wrong digest is kPrecondition, but not says_damage().
Result<StoreReport> verify_store(const std::string& path, const std::optional<StateMark>& live);

// Writes the report's history into the store (table meta). By it, later damage is detected even if
// the file stays readable. The history stays valid when facts are added.
// `report`: the result of verify_store() for the same file, before facts were added.
std::optional<Error> note_history(const std::string& path, const StoreReport& report);

}  // namespace subak
