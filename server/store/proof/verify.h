// Reads and proves a whole store, before a backup is announced and before one is put in place.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// The state as of a fact, by Engine::digest().
// Two engines with equal marks have equal state, as far as the digest tells.
struct StateMark {
  std::uint64_t seq = 0;
  std::array<std::uint64_t, 2> digest{};
};
// Returns 32 hexadecimal digits.
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
//  - it is one, of a version that this program knows, and SQLite finds it intact;
//  - the facts are those that note_history() noted, if it did;
//  - their replay from the first on gives the state `live`, if that is given, where it is due;
//  - and at the end the same state as a start, which reads the checkpoint and later facts;
//  - the ledger's rows are those of the facts.
// No process may write to it meanwhile. Cost: three readings of all facts.
// `live`: a mark of the running service; its fact must be in the store. The store is opened for
// reading. A wrong digest is kPrecondition; it does not count as says_damage().
Result<StoreReport> verify_store(const std::string& path, const std::optional<StateMark>& live);

// Writes the report's history into the store (table meta), so that later damage is detected that
// leaves the file readable. It stays valid while facts are added.
// `report`: of verify_store() for the same file, before anything was added.
std::optional<Error> note_history(const std::string& path, const StoreReport& report);

}  // namespace subak
