#include "server/store/postgres/database/migrations.h"

#include <string>

#include "server/store/sqlite/sqlite_store.h"

namespace subak::postgres {
namespace {

constexpr char kTable[] =
    "CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, "
    "checksum TEXT NOT NULL, applied_ms BIGINT NOT NULL)";

// SQLSTATEs of PostgreSQL's manual, appendix A.
constexpr std::string_view kNoTable = "42P01", kTableThere = "42P07";
constexpr char kApplied[] = "SELECT version, name, checksum FROM migrations ORDER BY version";

Error refused(PgConnection& db, std::string_view what, const PgResult& result) {
  Error error = db.error(what, result);
  if (result.sqlstate() == kNoRight) {
    error.want =
        "want the role that owns the tables: start this version once as that one, then grant "
        "(deploy/postgres/service_role.sql)";
  }
  if (result.sqlstate() == kTableThere) {
    error.want = std::string(kWantUndamaged) +
                 "table migrations lacks rows; restore a backup of the database";
  }
  return error;
}

// The store's migrations must be the first ones of `all`, unchanged.
Result<std::size_t> check_applied(PgConnection& db, const std::vector<Migration>& all) {
  PgResult rows = db.run(kApplied);
  if (rows.sqlstate() == kNoTable) {
    const PgResult table = db.script(kTable);
    if (!table.ok()) return refused(db, "store.migrations", table);
    rows = db.run(kApplied);
  }
  if (!rows.ok()) return db.error("store.migrations", rows);
  for (int i = 0; i < rows.rows(); ++i) {
    const auto done = static_cast<std::size_t>(i);
    auto error = check_next(rows.number(i, 0), rows.bytes(i, 1), rows.bytes(i, 2), done, all);
    if (error) return *error;
  }
  return static_cast<std::size_t>(rows.rows());
}

}  // namespace

Result<int> migrate(PgConnection& db, const std::vector<Migration>& all, std::int64_t epoch,
                    TimeMs now_ms) {
  const auto done = check_applied(db, all);
  if (!done.ok()) return done.error();
  for (std::size_t i = *done; i < all.size(); ++i) {
    const std::string name(all[i].name);
    // Divides by zero, and so rolls back, if another process leads.
    const std::string guard =
        "SELECT 1 / count(*) FROM (SELECT 1 FROM lead WHERE epoch = " + std::to_string(epoch) +
        " FOR SHARE) AS l; ";
    const PgResult applied =
        db.script("BEGIN; " + guard + std::string(all[i].sql) +
                  "; INSERT INTO migrations VALUES (" + std::to_string(i + 1) + ", '" + name +
                  "', '" + sha256_hex(all[i].sql) + "', " + std::to_string(now_ms) + "); COMMIT");
    if (applied.ok()) continue;
    const Error error = refused(db, "store.migration " + name, applied);
    db.script("ROLLBACK");
    return error;
  }
  return static_cast<int>(all.size() - *done);
}

}  // namespace subak::postgres
