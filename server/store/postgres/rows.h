// Reads rows of the database into records, and checks their checksums.
// Private to server/store/postgres.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/runtime/ports.h"
#include "server/store/postgres/database/pg_connection.h"
#include "server/store/proof/audit_rows.h"
#include "server/store/proof/head.h"

namespace subak::postgres {

// The columns that ledger_entry() and audit_entry() read, in order. The last two are ord and sum.
inline constexpr char kLedgerColumns[] =
    "seq, time_ms, job, rank, attempt, from_ms, to_ms, holder, payer, state, node, product, "
    "milligpu, corrects, ord, sum";
inline constexpr char kAuditColumns[] =
    "seq, time_ms, actor, what, thing, subject, reason, before, after, error, request_id, ord, sum";
// Read a row; nullopt: its checksum is wrong.
// `row` counts from 0.
std::optional<LedgerEntry> ledger_entry(const PgResult& rows, int row, std::uint32_t seed);
std::optional<AuditRow> audit_entry(const PgResult& rows, int row, std::uint32_t seed);

// Returns the error for a store with facts that only a newer program knows; see says_newer().
// `known`: the newest fact version that this program knows.
Error newer_facts(std::string field, const std::string& got, std::uint32_t known);
inline constexpr std::string_view kWantOlder =
    "want fact version ";  // start of that error's `want`

// Return the error for a damaged row: a says_damage() error with field "store".
// `how` completes the text "row N of table T is".
Error damaged(std::string_view table, std::uint64_t which, std::string_view how = "altered");
Error damaged_meta(std::string_view key, std::string_view how = "missing");

// Returns a value of `meta`; nullopt: there is none.
// A wrong checksum is damage.
Result<std::optional<std::string>> read_meta(PgConnection& db, std::string_view key);
// Derives the head from the last fact. In an empty store, it has only the seed.
// It does not check the row's checksum: prove_rows() and recover() do that.
Result<Head> read_head(PgConnection& db, std::uint32_t seed);

// The checkpoint in use, as a row of `meta`.
struct Checkpoint {
  // The last fact of its state; 0: there is no checkpoint.
  std::uint64_t seq = 0;
  // The number of facts in the checkpoint, and of the parts with these facts.
  std::uint64_t facts = 0, parts = 0;
  // The chained checksum of the checkpoint's last fact.
  std::uint32_t sum = 0;
  // The checksum of fact `seq`, which identifies the history of the checkpoint.
  std::uint32_t anchor = 0;
  // Returns the five numbers in decimal, separated by blanks, in the order of the members.
  std::string text() const;
};
// Reads the row of the checkpoint in use. `seed`: the anchor if there is no checkpoint.
Result<Checkpoint> read_checkpoint(PgConnection& db, std::uint32_t seed);
// Returns the error for a checkpoint that belongs to another history than the facts.
Error misfit(const Checkpoint& mark);
// Checks that the last fact of the checkpoint's state exists, and has the checksum that the
// checkpoint names.
std::optional<Error> check_checkpoint(PgConnection& db, const Checkpoint& mark);

// One fact of a checkpoint, as it is in a part. The bytes are time, kind and length in 8, 4 and 4
// bytes, the lowest first, and then the body.
struct KeptRow {
  // The time of the fact.
  TimeMs time_ms = 0;
  // codec::kind_of().
  std::uint32_t kind = 0;
  // The body from codec::encode().
  std::string_view body;
};
// Appends one row. A body has at most limits::kMaxFactBytes.
void append_kept(std::string& part, const KeptRow& row);
// Removes one row from the front of `part` and returns it. nullopt: the row is incomplete, or
// `part` is empty.
// The body points into the bytes of `part`.
std::optional<KeptRow> next_kept(std::string_view& part);

}  // namespace subak::postgres
