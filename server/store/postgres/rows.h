// Reads rows of the database into records, and checks the checksums of the rows. The checksums of a
// store start from its seed, which identifies the store. Private to server/store/postgres. Threads:
// those that may use the connection.
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

// The columns that ledger_entry() and audit_entry() read, in this order. The last two columns are
// ord and sum.
inline constexpr char kLedgerColumns[] =
    "seq, time_ms, job, rank, attempt, from_ms, to_ms, holder, payer, state, node, product, "
    "milligpu, corrects, ord, sum, cluster, ns, profile, booked_ms";
inline constexpr char kAuditColumns[] =
    "seq, time_ms, actor, what, thing, subject, reason, before, after, error, request_id, ord, sum";
// ledger_entry() and audit_entry() read a row.
// nullopt: the checksum of the row is wrong. `row` counts from 0.
std::optional<LedgerEntry> ledger_entry(const PgResult& rows, int row, std::uint32_t seed);
std::optional<AuditRow> audit_entry(const PgResult& rows, int row, std::uint32_t seed);

// Returns the error for a store with facts that only a newer program knows; see says_newer().
// `known`: the newest fact version that this program knows.
Error newer_facts(std::string field, const std::string& got, std::uint32_t known);
inline constexpr std::string_view kWantOlder =
    "want fact version ";  // the `want` of newer_facts() begins with it

// damaged() and damaged_meta() return the error for a damaged row: says_damage() is true for it,
// and its field is "store". `how` completes the text "row N of table T is".
Error damaged(std::string_view table, std::uint64_t which, std::string_view how = "altered");
Error damaged_meta(std::string_view key, std::string_view how = "missing");

// Returns the value for `key` in the table meta; nullopt: there is none. A wrong checksum is
// damage.
Result<std::optional<std::string>> read_meta(PgConnection& db, std::string_view key);
// Returns the head, which it derives from the row of the last fact. In an empty store, the head has
// only the seed. It does not check the checksum of that row: prove_rows() and recover() do that.
Result<Head> read_head(PgConnection& db, std::uint32_t seed);

// The checkpoint in use, as a row of the table meta stores it.
struct Checkpoint {
  // The number of the last fact that the checkpoint includes; 0: there is no checkpoint.
  std::uint64_t seq = 0;
  // How many facts (KeptRow) the checkpoint has, and in how many parts they are stored.
  std::uint64_t facts = 0, parts = 0;
  // The chained checksum of the last of these facts.
  std::uint32_t sum = 0;
  // The checksum of the fact `seq` in the table of facts. It identifies the history to which the
  // checkpoint belongs.
  std::uint32_t anchor = 0;
  // Returns the five numbers in decimal, separated by blanks, in the order of the members.
  std::string text() const;
};
// Reads the row of the checkpoint in use. `seed`: the anchor if there is no checkpoint.
Result<Checkpoint> read_checkpoint(PgConnection& db, std::uint32_t seed);
// Returns the error for a checkpoint that belongs to another history than the facts do.
Error misfit(const Checkpoint& mark);
// Checks that the last fact of the checkpoint's state exists, and that its checksum is the anchor
// of the checkpoint.
std::optional<Error> check_checkpoint(PgConnection& db, const Checkpoint& mark);

}  // namespace subak::postgres
