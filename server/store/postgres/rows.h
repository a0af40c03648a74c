// Rows of the database as records, proved by their sums. Private to server/store/postgres.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/runtime/ports.h"
#include "server/store/audit_rows.h"
#include "server/store/head.h"
#include "server/store/postgres/pg_connection.h"

namespace subak::postgres {

// The columns that ledger_entry() and audit_entry() read, in order; the two last are ord and sum.
inline constexpr char kLedgerColumns[] =
    "seq, time_ms, job, rank, attempt, from_ms, to_ms, holder, payer, state, node, product, "
    "milligpu, corrects, ord, sum";
inline constexpr char kAuditColumns[] =
    "seq, time_ms, actor, what, thing, subject, reason, before, after, error, request_id, ord, sum";
// Nullopt: the row is not what was written.
std::optional<LedgerEntry> ledger_entry(const PgResult& rows, int row, std::uint32_t seed);
std::optional<AuditRow> audit_entry(const PgResult& rows, int row, std::uint32_t seed);

// A store of facts that only a newer program knows: says_newer() of it. `known`: the newest that this one does.
Error newer_facts(std::string field, const std::string& got, std::uint32_t known);
inline constexpr std::string_view kWantOlder =
    "want fact version ";  // how that error's `want` begins

// A row that is not what was written.
Error damaged(std::string_view table, std::uint64_t which, std::string_view how = "altered");
Error damaged_meta(std::string_view key, std::string_view how = "missing");

// The value of `meta`; nullopt: there is none.
Result<std::optional<std::string>> read_meta(PgConnection& db, std::string_view key);
// By the last fact; of an empty store the seed.
Result<Head> read_head(PgConnection& db, std::uint32_t seed);

// Which checkpoint is in use, as a row of `meta`.
struct Checkpoint {
  std::uint64_t seq = 0;  // 0: none
  std::uint64_t facts = 0, parts = 0;
  std::uint32_t sum = 0;     // of the last fact of the checkpoint
  std::uint32_t anchor = 0;  // of fact `seq`
  std::string text() const;
};
// `seed`: the anchor where there is none.
Result<Checkpoint> read_checkpoint(PgConnection& db, std::uint32_t seed);
// It was made of another history than the facts.
Error misfit(const Checkpoint& mark);
// The fact that it was made of is there, and is the one it names.
std::optional<Error> check_checkpoint(PgConnection& db, const Checkpoint& mark);

// One fact of a checkpoint in a part: time, kind and length as 8, 4 and 4 bytes, the lowest first, and the body.
struct KeptRow {
  TimeMs time_ms = 0;
  std::uint32_t kind = 0;
  std::string_view body;
};
void append_kept(std::string& part, const KeptRow& row);
// Takes it off the front. Nullopt: it is cut off.
std::optional<KeptRow> next_kept(std::string_view& part);

}  // namespace subak::postgres
