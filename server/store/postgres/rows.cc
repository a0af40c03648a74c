#include "server/store/postgres/rows.h"

#include <charconv>
#include <utility>

#include "server/store/file/row_sum.h"
#include "server/store/proof/ledger_rows.h"
#include "server/store/sqlite/sqlite_store.h"

namespace subak::postgres {
namespace {

const std::string kWantDamaged = std::string(kWantUndamaged) + "restore a backup of the database";

}  // namespace

Error newer_facts(std::string field, const std::string& got, std::uint32_t known) {
  return {ErrorCode::kPrecondition, std::move(field), "of fact version " + got,
          std::string(kWantOlder) + std::to_string(known) +
              " or older, which is all that this program knows: run the newer subakd that "
              "finalized it, or restore a backup made before that"};
}

Error damaged(std::string_view table, std::uint64_t which, std::string_view how) {
  return {ErrorCode::kPrecondition, "store",
          "row " + std::to_string(which) + " of table " + std::string(table) + " is " +
              std::string(how),
          kWantDamaged};
}

Error damaged_meta(std::string_view key, std::string_view how) {
  return {ErrorCode::kPrecondition, "store",
          "row " + std::string(key) + " of table meta is " + std::string(how), kWantDamaged};
}

std::optional<LedgerEntry> ledger_entry(const PgResult& rows, int i, std::uint32_t seed) {
  const auto id = [&](int column) { return static_cast<std::uint32_t>(rows.number(i, column)); };
  LedgerEntry entry;
  entry.seq = rows.unsigned_number(i, 0);
  entry.time_ms = rows.number(i, 1);
  LedgerRow& row = entry.row;
  row.allocation = {JobId(rows.unsigned_number(i, 2)), id(3), id(4)};
  row.from_ms = rows.number(i, 5);
  row.to_ms = rows.number(i, 6);
  row.holder = AccountId(id(7));
  row.payer = AccountId(id(8));
  read_stored_state(rows.number(i, 9), row);
  row.node = NodeId(id(10));
  row.product = rows.bytes(i, 11);
  row.milligpu = rows.number(i, 12);
  row.corrects = rows.unsigned_number(i, 13);
  row.cluster = rows.bytes(i, 16);
  row.ns = rows.bytes(i, 17);
  row.profile = rows.bytes(i, 18);
  row.booked_ms = rows.number(i, 19);
  const bool good =
      sum_of(rows.number(i, 15)) == ledger_sum(seed, rows.unsigned_number(i, 14), entry);
  return good ? std::optional(std::move(entry)) : std::nullopt;
}

std::optional<AuditRow> audit_entry(const PgResult& rows, int i, std::uint32_t seed) {
  AuditRow row;
  row.entry.seq = rows.unsigned_number(i, 0);
  row.entry.time_ms = rows.number(i, 1);
  int column = 2;
  for (std::string* text : audit_texts(row)) *text = rows.bytes(i, column++);
  const std::uint64_t ord = rows.unsigned_number(i, column);
  const bool good = sum_of(rows.number(i, column + 1)) == audit_sum(seed, ord, row);
  return good ? std::optional(std::move(row)) : std::nullopt;
}

Result<std::optional<std::string>> read_meta(PgConnection& db, std::string_view key) {
  const PgResult row = db.run("SELECT value, sum FROM meta WHERE key = $1", Parameters().add(key));
  if (!row.ok()) return db.error("store.meta", row);
  if (row.rows() == 0) return std::optional<std::string>();
  std::string value(row.bytes(0, 0));
  if (sum_of(row.number(0, 1)) != meta_sum(key, value)) {
    return damaged_meta(key, "altered");
  }
  return std::optional(std::move(value));
}

Result<Head> read_head(PgConnection& db, std::uint32_t seed) {
  const PgResult row =
      db.run("SELECT seq, sum, ledger, audit FROM facts ORDER BY seq DESC LIMIT 1");
  if (!row.ok()) return db.error("store.facts", row);
  if (row.rows() == 0) return Head{0, seed, 0, 0};
  return Head{row.unsigned_number(0, 0), sum_of(row.number(0, 1)), row.unsigned_number(0, 2),
              row.unsigned_number(0, 3)};
}

std::string Checkpoint::text() const {
  std::string out;
  for (const std::uint64_t n : {seq, facts, parts, std::uint64_t{sum}, std::uint64_t{anchor}}) {
    out += (out.empty() ? "" : " ") + std::to_string(n);
  }
  return out;
}

Result<Checkpoint> read_checkpoint(PgConnection& db, std::uint32_t seed) {
  const auto text = read_meta(db, "checkpoint");
  if (!text.ok()) return text.error();
  Checkpoint out;
  out.anchor = seed;
  if (!*text) return out;
  const char* at = (*text)->data();
  const char* const end = at + (*text)->size();
  const auto next = [&] {
    std::uint64_t value = 0;
    at = std::from_chars(at, end, value).ptr;
    if (at < end) ++at;
    return value;
  };
  out.seq = next();
  out.facts = next();
  out.parts = next();
  out.sum = static_cast<std::uint32_t>(next());
  out.anchor = static_cast<std::uint32_t>(next());
  return out;
}

Error misfit(const Checkpoint& mark) {
  return {ErrorCode::kPrecondition, "store",
          "checkpoint: it does not fit fact " + std::to_string(mark.seq),
          std::string(kWantUndamaged) +
              "start once with --ignore-checkpoint, which makes the state again from all facts, or "
              "restore a backup of the database"};
}

std::optional<Error> check_checkpoint(PgConnection& db, const Checkpoint& mark) {
  if (mark.seq == 0) return std::nullopt;
  const PgResult row = db.run("SELECT sum FROM facts WHERE seq = $1", Parameters().add(mark.seq));
  if (!row.ok()) return db.error("store.facts", row);
  if (row.rows() == 0) {
    return damaged("facts", mark.seq, "missing, of which the checkpoint was made");
  }
  return sum_of(row.number(0, 0)) == mark.anchor ? std::nullopt : std::optional(misfit(mark));
}

}  // namespace subak::postgres
