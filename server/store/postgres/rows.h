// Rows of the database as records, proved by their checksums. Private to server/store/postgres.
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

// The columns that ledger_entry() and audit_entry() read, in order; the two last are ord and sum.
inline constexpr char kLedgerColumns[] =
    "seq, time_ms, job, rank, attempt, from_ms, to_ms, holder, payer, state, node, product, "
    "milligpu, corrects, ord, sum";
inline constexpr char kAuditColumns[] =
    "seq, time_ms, actor, what, thing, subject, reason, before, after, error, request_id, ord, sum";
// Read a row; nullopt: its checksum is wrong.
// `row` counts from 0.
std::optional<LedgerEntry> ledger_entry(const PgResult& rows, int row, std::uint32_t seed);
std::optional<AuditRow> audit_entry(const PgResult& rows, int row, std::uint32_t seed);

// The error for a store with facts that only a newer program knows; see says_newer(). `known`: the
// newest that this one does.
Error newer_facts(std::string field, const std::string& got, std::uint32_t known);
inline constexpr std::string_view kWantOlder =
    "want fact version ";  // start of that error's `want`

// The error for a row with a wrong checksum.
// All are says_damage() errors with field "store". `how` completes "row N of table T is".
Error damaged(std::string_view table, std::uint64_t which, std::string_view how = "altered");
Error damaged_meta(std::string_view key, std::string_view how = "missing");

// Returns a value of `meta`; nullopt: there is none.
// A wrong checksum is damage.
Result<std::optional<std::string>> read_meta(PgConnection& db, std::string_view key);
// Derives the head from the last fact; of an empty store it is the seed.
// Its row is not proved here: prove_rows() and recover() do that.
Result<Head> read_head(PgConnection& db, std::uint32_t seed);

// The checkpoint in use, as a row of `meta`.
struct Checkpoint {
  // The fact that it was made after; 0: there is none.
  std::uint64_t seq = 0;
  // The facts in it, and the parts that hold them.
  std::uint64_t facts = 0, parts = 0;
  // The chained checksum of its last fact.
  std::uint32_t sum = 0;
  // The checksum of fact `seq`, to which it is tied.
  std::uint32_t anchor = 0;
  // The five numbers in decimal, separated by blanks, in the order of the members.
  std::string text() const;
};
// `seed`: the anchor if there is no checkpoint.
Result<Checkpoint> read_checkpoint(PgConnection& db, std::uint32_t seed);
// The error for a checkpoint of another history than the facts.
Error misfit(const Checkpoint& mark);
// Checks that the fact that the checkpoint was made of is there, and is the one it names.
std::optional<Error> check_checkpoint(PgConnection& db, const Checkpoint& mark);

// One fact of a checkpoint in a part: time, kind and length as 8, 4 and 4 bytes, the lowest first,
// and the body.
struct KeptRow {
  // The time of the fact.
  TimeMs time_ms = 0;
  // codec::kind_of().
  std::uint32_t kind = 0;
  // As codec::encode() wrote it.
  std::string_view body;
};
// A body is at most limits::kMaxFactBytes.
void append_kept(std::string& part, const KeptRow& row);
// Removes one row from the front; nullopt: it is incomplete.
// The body points into what `part` showed. An empty part is incomplete too.
std::optional<KeptRow> next_kept(std::string_view& part);

}  // namespace subak::postgres
