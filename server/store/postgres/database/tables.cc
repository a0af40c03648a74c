#include "server/store/postgres/database/tables.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "server/log/log.h"
#include "server/store/sqlite/sqlite_store.h"

namespace subak::postgres {
namespace {

// As deploy/postgres/service_role.sql grants them.
constexpr char kMissingRights[] =
    "SELECT w || ' on ' || t FROM (VALUES ('lead', 'SELECT'), ('lead', 'UPDATE'), "
    "('beat', 'SELECT'), ('beat', 'UPDATE'), ('facts', 'SELECT'), ('facts', 'INSERT'), "
    "('ledger', 'SELECT'), ('ledger', 'INSERT'), ('audit', 'SELECT'), ('audit', 'INSERT'), "
    "('meta', 'SELECT'), ('meta', 'INSERT'), ('meta', 'UPDATE'), ('meta', 'DELETE'), "
    "('checkpoint', 'SELECT'), ('checkpoint', 'INSERT'), ('checkpoint', 'DELETE'), "
    "('told', 'SELECT'), ('told', 'INSERT'), ('told', 'UPDATE'), ('migrations', 'SELECT'), "
    "('activity', 'SELECT'), ('activity', 'INSERT'), ('activity', 'UPDATE'), "
    "('notices', 'SELECT'), ('notices', 'INSERT'), ('notices', 'UPDATE'), "
    "('usage_days', 'SELECT'), ('usage_days', 'INSERT'), ('usage_days', 'UPDATE'), "
    "('usage_days', 'DELETE'), ('usage_mark', 'SELECT'), ('usage_mark', 'INSERT'), "
    "('usage_mark', 'UPDATE'), ('usage_mark', 'DELETE'), "
    "('past_checkpoints', 'SELECT'), ('past_checkpoints', 'INSERT'), "
    "('past_checkpoints', 'DELETE')) "
    "AS r(t, w) WHERE to_regclass(t) IS NOT NULL AND NOT has_table_privilege(t, w)";

// `o`: Subak's tables, as the session finds them by their names.
constexpr char kOurs[] =
    "WITH o AS (SELECT c.oid, c.relname, c.relrowsecurity FROM pg_class c WHERE c.relkind IN "
    "('r', 'p') AND pg_table_is_visible(c.oid) AND c.relname IN ('meta', 'facts', 'ledger', "
    "'audit', 'checkpoint', 'told', 'activity', 'notices', 'migrations', 'lead', 'beat', "
    "'usage_days', 'usage_mark', 'past_checkpoints')) ";

constexpr char kThere[] =
    "SELECT o.relname || ' column ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) "
    "|| CASE WHEN a.attnotnull THEN ' not null' ELSE '' END FROM o JOIN pg_attribute a ON "
    "a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped "
    "UNION ALL SELECT o.relname || ' ' || pg_get_constraintdef(k.oid) FROM o JOIN pg_constraint k "
    "ON k.conrelid = o.oid AND k.contype IN ('p', 'c') AND k.convalidated "
    "UNION ALL SELECT o.relname || ' UNIQUE ' || substring(pg_get_indexdef(i.indexrelid) from "
    "'[(].*$') FROM o JOIN pg_index i ON i.indrelid = o.oid AND i.indisunique AND i.indisvalid";

constexpr char kChanging[] =
    "SELECT 'trigger ' || t.tgname || ' of table ' || o.relname FROM o JOIN pg_trigger t ON "
    "t.tgrelid = o.oid AND NOT t.tgisinternal "
    "UNION ALL SELECT 'rule ' || r.rulename || ' of table ' || o.relname FROM o JOIN pg_rewrite r "
    "ON r.ev_class = o.oid "
    "UNION ALL SELECT 'row security of table ' || o.relname FROM o WHERE o.relrowsecurity";

// The objects that migrations/postgres, leadership.cc and migrations.cc make, in the words of
// kThere. store_damages_test compares it with a new database.
constexpr const char* kMade[] = {
    "activity PRIMARY KEY (part)",
    "audit PRIMARY KEY (seq)",
    "beat PRIMARY KEY (id)",
    "checkpoint PRIMARY KEY (seq, part)",
    "facts PRIMARY KEY (seq)",
    "lead PRIMARY KEY (id)",
    "ledger PRIMARY KEY (seq)",
    "ledger CHECK ((from_ms < to_ms))",
    "ledger UNIQUE (job, rank, attempt, from_ms, corrects)",
    "meta PRIMARY KEY (key)",
    "migrations PRIMARY KEY (version)",
    "notices PRIMARY KEY (id)",
    "past_checkpoints PRIMARY KEY (seq, part)",
    "told PRIMARY KEY (id)",
    "usage_days PRIMARY KEY (day, part)",
    "usage_mark PRIMARY KEY (id)",
};
struct Columns {
  const char* table;
  const char* type;
  const char* names;  // separated by spaces
};
constexpr Columns kColumns[] = {
    {"meta", "text", "key value"},
    {"meta", "bigint", "sum"},
    {"facts", "bigint", "seq epoch time_ms kind ledger audit sum"},
    {"facts", "bytea", "body"},
    {"ledger", "bigint",
     "seq time_ms job rank attempt from_ms to_ms holder payer state node milligpu corrects ord "
     "sum booked_ms"},
    {"ledger", "bytea", "product cluster ns profile"},
    {"audit", "bigint", "seq time_ms ord sum"},
    {"audit", "bytea", "actor what thing subject reason before after error request_id"},
    {"checkpoint", "bigint", "seq part"},
    {"checkpoint", "bytea", "rows"},
    {"told", "bigint", "id"},
    {"told", "bytea", "bytes"},
    {"activity", "bigint", "part"},
    {"activity", "bytea", "bytes"},
    {"notices", "bigint", "id"},
    {"notices", "bytea", "bytes"},
    {"past_checkpoints", "bigint", "seq part"},
    {"past_checkpoints", "bytea", "bytes"},
    {"migrations", "bigint", "version applied_ms"},
    {"migrations", "text", "name checksum"},
    {"lead", "bigint", "id epoch backend"},
    {"lead", "text", "holder address"},
    {"beat", "bigint", "id beats"},
    {"beat", "bytea", "said"},
    {"usage_days", "bigint", "day part sum"},
    {"usage_days", "bytea", "sums"},
    {"usage_mark", "bigint", "id seq rows parts from_day to_day sum"},
};

std::set<std::string> wanted() {
  std::set<std::string> out(std::begin(kMade), std::end(kMade));
  for (const Columns& columns : kColumns) {
    std::string_view names = columns.names;
    while (!names.empty()) {
      const std::string_view name = names.substr(0, names.find(' '));
      out.insert(std::string(columns.table) + " column " + std::string(name) + " " + columns.type +
                 " not null");
      names.remove_prefix(std::min(name.size() + 1, names.size()));
    }
  }
  return out;
}

Error not_as_made(const std::string& got, const std::string& todo) {
  return {ErrorCode::kPrecondition, "store", got, kWantUndamaged + todo};
}

}  // namespace

std::optional<Error> check_rights(PgConnection& db) {
  const PgResult rows = db.run(kMissingRights);
  if (!rows.ok() || rows.rows() == 0) return std::nullopt;
  std::string missing;
  for (int i = 0; i < rows.rows(); ++i) {
    missing += (i > 0 ? ", " : "") + std::string(rows.bytes(i, 0));
  }
  return Error{ErrorCode::kPrecondition, "state", "the database role may not " + missing,
               kWantRights};
}

std::optional<Error> check_tables(PgConnection& db) {
  const PgResult rows = db.run((std::string(kOurs) + kThere).c_str());
  const PgResult changing = db.run((std::string(kOurs) + kChanging).c_str());
  if (!rows.ok() || !changing.ok()) {
    const PgResult& failed = rows.ok() ? changing : rows;
    log::warn("the tables could not be compared with the migrations",
              {{"error", db.error("store.tables", failed).message()}});
    return std::nullopt;
  }
  if (changing.rows() > 0) {
    return not_as_made(
        "there is " + std::string(changing.bytes(0, 0)) + ", which can change or hide rows",
        "drop it, then start again: the start checks whether rows were lost");
  }
  std::set<std::string> missing = wanted();
  for (int i = 0; i < rows.rows(); ++i) missing.erase(std::string(rows.bytes(i, 0)));
  if (missing.empty()) return std::nullopt;
  return not_as_made("table " + *missing.begin() + " is missing",
                     "restore a backup of the database");
}

}  // namespace subak::postgres
