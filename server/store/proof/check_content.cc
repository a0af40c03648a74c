#include <array>
#include <cinttypes>

#include "server/store/proof/checks.h"
#include "server/store/proof/proved_rows.h"

namespace subak {
namespace {

std::optional<Error> check_meta(Connection& db) {
  std::vector<std::string> keys;
  Statement rows;
  if (!rows.prepare(db, "SELECT key FROM meta")) return unreadable_store(db, db.path());
  while (rows.step()) keys.emplace_back(rows.text(0));
  if (rows.failed()) return unreadable_store(db, db.path());
  for (const std::string& key : keys) {
    const auto value = read_meta(db, key);
    if (!value.ok()) return value.error();
    if (!*value) return damaged_store(db.path(), "row " + key + " of table meta is not found");
  }
  return std::nullopt;
}

// The checkpoint was made as of a fact: both must belong to one history.
std::optional<Error> check_facts(Connection& db, std::uint32_t seed, const CheckpointMark& mark) {
  const ReadTransaction picture(db);
  FactRows facts(db, seed);
  if (auto error = facts.find(0, seed, UINT64_MAX)) return error;
  bool fits = mark.seq == 0;
  while (facts.next()) {
    fits = fits || (facts.seq() == mark.seq && facts.sum() == mark.anchor);
  }
  if (facts.error()) return facts.error();
  if (fits) return std::nullopt;
  return damaged_checkpoint(db.path(), "it does not fit fact " + std::to_string(mark.seq));
}

std::optional<Error> check_ledger(Connection& db, std::uint32_t seed) {
  const ReadTransaction picture(db);
  LedgerRows rows(db, seed);
  if (auto error = rows.find(0)) return error;
  LedgerEntry entry;
  while (rows.next(entry)) continue;
  return rows.error();
}

std::optional<Error> check_audit(Connection& db, std::uint32_t seed) {
  const ReadTransaction picture(db);
  AuditRows rows(db, seed);
  if (auto error = rows.find(INT64_MAX)) return error;
  AuditRow row;
  while (rows.next(row)) continue;
  return rows.error();
}

// Checks the checkpoint in use now; another may have replaced it meanwhile.
std::optional<Error> check_checkpoint(Connection& db, std::uint32_t seed) {
  const ReadTransaction picture(db);
  const auto mark = read_checkpoint_mark(db, seed);
  if (!mark.ok()) return mark.error();
  CheckpointRows rows(db, seed);
  if (auto error = rows.find(*mark)) return error;
  while (rows.next()) continue;
  return rows.error();
}

std::optional<Error> check_structure(Connection& db, bool whole) {
  if (whole) return check_pragma(db, db.path(), "PRAGMA integrity_check(1)");
  for (const char* table : {"meta", "migrations", "head", "facts", "ledger", "audit"}) {
    const std::string sql = std::string("PRAGMA integrity_check(") + table + ")";
    if (auto error = check_pragma(db, db.path(), sql)) return error;
  }
  return std::nullopt;
}

}  // namespace

// Checks rows first: an error that names a row is better than one that names a page. Each part has
// a snapshot of its own, so that the log of a store in use can restart in between.
std::optional<Error> check_content(Connection& db, bool checkpoint) {
  if (auto error = check_meta(db)) return error;
  const auto seed = read_seed(db);
  if (!seed.ok()) return seed.error();
  CheckpointMark mark;
  if (checkpoint) {
    const auto read = read_checkpoint_mark(db, *seed);
    if (!read.ok()) return read.error();
    mark = *read;
  }
  if (auto error = check_facts(db, *seed, mark)) return error;
  if (auto error = check_ledger(db, *seed)) return error;
  if (auto error = check_audit(db, *seed)) return error;
  if (checkpoint) {
    if (auto error = check_checkpoint(db, *seed)) return error;
  }
  return check_structure(db, checkpoint);
}

}  // namespace subak
