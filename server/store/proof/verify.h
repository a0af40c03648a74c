// Reads and checks a whole store. The check runs before a backup is reported as good, and before a
// backup is restored. note_history() writes a hash of the facts into the store for later checks. A
// fact is a numbered, durable decision; the state follows from the facts. Threads: any; the
// functions block while they read the store.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// Identifies the state after a fact, by Engine::digest(). If two engines have equal marks, their
// states are equal, as far as the digest covers the state.
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
  std::string history;  // SHA-256 of all facts, in hexadecimal digits
};

// Refuses a store unless
// - the file is a store of a version that this program knows, and SQLite finds the file intact;
// - if note_history() was called for this store: the facts up to the fact that it named have the
//   SHA-256 that it wrote;
// - a replay of the facts up to the fact of `live` produces the state `live`, if `live` is given;
// - a replay of all facts ends with the same state as a start, which reads the checkpoint and the
//   later facts;
// - the rows of the ledger are those that follow from the facts.
// No process may write to the store during the check. The function opens the store only for
// reading, and reads all facts three times. `live`: a mark of the running service; its fact must be
// in the store. If a digest is wrong, the error is kPrecondition, and says_damage() is false for
// it.
Result<StoreReport> verify_store(const std::string& path, const std::optional<StateMark>& live);

// Writes the SHA-256 of the report (StoreReport::history), and the number of the report's last
// fact, into the table meta. With these two values, a later verify_store() detects damage even if
// the file can still be read. The values stay valid when facts are added. `report`: the result of
// verify_store() for the same file.
std::optional<Error> note_history(const std::string& path, const StoreReport& report);

}  // namespace subak
