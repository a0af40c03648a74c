#include "server/store/postgres/leadership.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"

namespace subak::postgres {
namespace {

constexpr std::string_view kLocked = "55P03", kExists = "23505", kNoColumn = "42703";

constexpr char kMake[] =
    "CREATE TABLE IF NOT EXISTS lead (id BIGINT PRIMARY KEY CHECK (id = 1), epoch BIGINT NOT NULL, "
    "holder TEXT NOT NULL, backend BIGINT NOT NULL, address TEXT NOT NULL DEFAULT ''); "
    "CREATE TABLE IF NOT EXISTS beat (id BIGINT PRIMARY KEY CHECK (id = 1), beats BIGINT NOT "
    "NULL, said BYTEA NOT NULL DEFAULT ''); "
    "INSERT INTO lead VALUES (1, 0, '', 0) ON CONFLICT (id) DO NOTHING; "
    "INSERT INTO beat VALUES (1, 0) ON CONFLICT (id) DO NOTHING";

// UTC, at the time of the read and not of the transaction's begin.
constexpr char kTimeMs[] = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

Raised raise(PgConnection& db, const char* sql, const Parameters& parameters) {
  for (int i = 0; i < limits::kLeadTries; ++i) {
    const PgResult row = db.run(sql, parameters);
    const bool certain = row.ok() && !db.warned() && db.broken() == Broken::kNo;
    if (certain && row.rows() == 1) return {Raised::How::kRaised, row.number(0, 0), std::nullopt};
    if (certain) return {Raised::How::kOther, 0, std::nullopt};
    if (row.sqlstate() != kLocked) return {Raised::How::kUnknown, 0, db.error("store.lead", row)};
    db.run("SELECT pg_terminate_backend(backend::int) FROM lead WHERE backend <> 0");
  }
  return {Raised::How::kUnknown, 0,
          Error{ErrorCode::kPrecondition, "store.lead", "the row that names the leader is locked",
                "want the session that locks it to end (pg_locks shows it)"}};
}

// Adds a column to a database of an older version. It looks for the column first: ALTER TABLE waits
// for every lock on the table, even if the column exists.
std::optional<Error> add_column(PgConnection& db, const std::string& table,
                                const std::string& column, const std::string& type) {
  const PgResult there = db.run(("SELECT " + column + " FROM " + table + " LIMIT 0").c_str());
  if (there.ok()) return std::nullopt;
  if (there.sqlstate() != kNoColumn) return db.error("store.lead", there);
  const PgResult added = db.run(("ALTER TABLE " + table + " ADD COLUMN IF NOT EXISTS " + column +
                                 " " + type + " NOT NULL DEFAULT ''")
                                    .c_str());
  if (!added.ok()) return db.error("store.lead", added);
  return std::nullopt;
}

}  // namespace

// A role that may not create tables may not use IF NOT EXISTS for an existing table either.
std::optional<Error> make_lead(PgConnection& db) {
  const PgResult there = db.run("SELECT epoch, beats FROM lead, beat");
  if (!there.ok() || there.rows() != 1) {
    PgResult made = db.script(kMake);
    if (!made.ok() && made.sqlstate() == kExists) made = db.script(kMake);
    if (!made.ok()) return db.error("store.lead", made);
  }
  if (auto error = add_column(db, "lead", "address", "TEXT")) return error;
  return add_column(db, "beat", "said", "BYTEA");
}

Raised take_lead(PgConnection& db, const std::string& holder, const std::string& address,
                 const LeadershipSeen& seen) {
  if (!seen.lead.holder.empty()) {  // so that it need not wait for the lock first
    db.run("SELECT pg_terminate_backend(backend::int) FROM lead WHERE backend <> 0 AND epoch = $1",
           Parameters().add(seen.lead.epoch));
  }
  return raise(db,
               "UPDATE lead SET epoch = epoch + 1, holder = $1, address = $2, "
               "backend = pg_backend_pid() WHERE id = 1 AND epoch = $3 "
               "AND EXISTS (SELECT 1 FROM beat WHERE beats = $4) RETURNING epoch",
               Parameters()
                   .add(std::string_view(holder))
                   .add(std::string_view(address))
                   .add(seen.lead.epoch)
                   .add(seen.beats));
}

Raised raise_own(PgConnection& db, const std::string& holder) {
  return raise(db,
               "UPDATE lead SET epoch = epoch + 1, backend = pg_backend_pid() "
               "WHERE id = 1 AND holder = $1 RETURNING epoch",
               Parameters().add(std::string_view(holder)));
}

Result<LeadershipSeen> look_at_lead(PgConnection& db) {
  static const std::string kSql =
      std::string("SELECT epoch, beats, holder, address, said, ") + kTimeMs + " FROM lead, beat";
  const PgResult row = db.run(kSql.c_str());
  if (!row.ok()) return db.error("store.lead", row);
  if (row.rows() == 0) {
    return Error{ErrorCode::kPrecondition, "store.lead", "row 1 is missing",
                 "want a database of Subak"};
  }
  Leadership lead{row.number(0, 0), std::string(row.bytes(0, 2)), std::string(row.bytes(0, 3)),
                  read_known_as(row.bytes(0, 4))};
  return LeadershipSeen{std::move(lead), row.number(0, 1), row.number(0, 5)};
}

void LeadershipWatch::begin_look(std::int64_t boot_ms) {
  if (boot_ms - looked_ms_ > limits::kLeaderSilentMs / 2) alive_ms_ = boot_ms;
}

bool LeadershipWatch::is_free(const LeadershipSeen& seen, std::int64_t boot_ms) {
  if (!begun_ms_) begun_ms_ = boot_ms;
  const bool is_other = !last_ || last_->lead.epoch != seen.lead.epoch;
  if (is_other || last_->beats != seen.beats) {
    alive_ms_ = boot_ms;
    saw_life_ = last_.has_value();
  }
  last_ = seen;
  looked_ms_ = boot_ms;
  if (!seen.lead.holder.empty()) return boot_ms - alive_ms_ >= limits::kLeaderSilentMs;
  return seen.lead.epoch == 0 || boot_ms - *begun_ms_ >= limits::kHeartbeatMs;
}

PgResult beat(PgConnection& db, std::int64_t epoch, std::string_view said) {
  static const std::string kSql =
      std::string(
          "UPDATE beat SET beats = beats + 1, said = CASE WHEN $2 = ''::bytea THEN said ELSE $2 "
          "END WHERE EXISTS (SELECT 1 FROM lead WHERE epoch = $1) RETURNING beats, ") +
      kTimeMs;
  return db.run(kSql.c_str(), Parameters().add(epoch).add_bytes(said));
}

std::string known_as_text(const KnownAs& known_as) {
  std::string out;
  for (const auto& [cluster, user] : known_as) {
    if ((cluster + user).find_first_of("\t\n") != std::string::npos) continue;
    out += cluster + '\t' + user + '\n';
  }
  return out;
}

KnownAs read_known_as(std::string_view text) {
  KnownAs out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t tab = line.find('\t');
    if (tab != std::string_view::npos) out.emplace(line.substr(0, tab), line.substr(tab + 1));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return out;
}

void give_up_lead(PgConnection& db, std::int64_t epoch) {
  db.run("UPDATE lead SET holder = '' WHERE id = 1 AND epoch = $1", Parameters().add(epoch));
}

Error leads_by_now(const std::string& holder) {
  return {ErrorCode::kPrecondition, "store.lead", holder + " leads by now", kWantOneLeader};
}

std::string leader_of(PgConnection& db) {
  const PgResult row = db.run("SELECT holder FROM lead WHERE id = 1");
  return row.ok() && row.rows() == 1 ? std::string(row.bytes(0, 0)) : "unknown";
}

}  // namespace subak::postgres
