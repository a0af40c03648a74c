#include "server/store/postgres/lead.h"

#include <chrono>
#include <thread>

#include "core/limits.h"
#include "server/log/log.h"

namespace subak::postgres {
namespace {

constexpr std::string_view kLocked = "55P03", kExists = "23505";

constexpr char kMake[] =
    "CREATE TABLE IF NOT EXISTS lead (id BIGINT PRIMARY KEY CHECK (id = 1), epoch BIGINT NOT NULL, "
    "holder TEXT NOT NULL, backend BIGINT NOT NULL); "
    "CREATE TABLE IF NOT EXISTS beat (id BIGINT PRIMARY KEY CHECK (id = 1), beats BIGINT NOT "
    "NULL); "
    "INSERT INTO lead VALUES (1, 0, '', 0) ON CONFLICT (id) DO NOTHING; "
    "INSERT INTO beat VALUES (1, 0) ON CONFLICT (id) DO NOTHING";

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
          Error{ErrorCode::kPrecondition, "store.lead", "the row of who leads is locked",
                "want the session that locks it to end (pg_locks shows it)"}};
}

Error stopped(const std::string& leader) {
  return {ErrorCode::kPrecondition, "state", "asked to stop while " + leader + " leads", ""};
}

}  // namespace

// A role that may not make tables may not say IF NOT EXISTS of one that is there either.
std::optional<Error> make_lead(PgConnection& db) {
  const PgResult there = db.run("SELECT epoch, beats FROM lead, beat");
  if (there.ok() && there.rows() == 1) return std::nullopt;
  PgResult made = db.script(kMake);
  if (!made.ok() && made.sqlstate() == kExists) made = db.script(kMake);
  if (!made.ok()) return db.error("store.lead", made);
  return std::nullopt;
}

Raised take_lead(PgConnection& db, const std::string& holder, const LeadSeen& seen) {
  if (!seen.holder.empty()) {  // rather than wait for its lock first
    db.run("SELECT pg_terminate_backend(backend::int) FROM lead WHERE backend <> 0 AND epoch = $1",
           Parameters().add(seen.epoch));
  }
  return raise(db,
               "UPDATE lead SET epoch = epoch + 1, holder = $1, backend = pg_backend_pid() "
               "WHERE id = 1 AND epoch = $2 RETURNING epoch",
               Parameters().add(std::string_view(holder)).add(seen.epoch));
}

Raised raise_own(PgConnection& db, const std::string& holder) {
  return raise(db,
               "UPDATE lead SET epoch = epoch + 1, backend = pg_backend_pid() "
               "WHERE id = 1 AND holder = $1 RETURNING epoch",
               Parameters().add(std::string_view(holder)));
}

Result<LeadSeen> look_at_lead(PgConnection& db) {
  const PgResult row = db.run("SELECT epoch, beats, holder FROM lead, beat");
  if (!row.ok()) return db.error("store.lead", row);
  if (row.rows() == 0) {
    return Error{ErrorCode::kPrecondition, "store.lead", "row 1 is missing",
                 "want a store of ours"};
  }
  return LeadSeen{row.number(0, 0), row.number(0, 1), std::string(row.bytes(0, 2))};
}

Result<LeadSeen> wait_for_lead(PgConnection& db, const Address& address, const Clock& clock,
                               const std::function<bool()>& stop,
                               const std::function<void()>& looked) {
  std::optional<LeadSeen> last;
  const std::int64_t begun_ms = clock.boot_ms();
  std::int64_t alive_ms = begun_ms;
  while (true) {
    if (!db.is_open()) db.open(address);
    auto seen = look_at_lead(db);
    if (seen.ok() && seen->holder.empty()) {
      // Who has just come lets those go first who know the state.
      if (seen->epoch == 0 || clock.boot_ms() - begun_ms >= limits::kBeatMs) return *seen;
      if (stop && stop()) return stopped("nobody");
      std::this_thread::sleep_for(std::chrono::milliseconds(limits::kLeadLookMs));
      continue;
    }
    const bool lives =
        !seen.ok() || !last || seen->epoch != last->epoch || seen->beats != last->beats;
    if (lives) alive_ms = clock.boot_ms();  // without a database nobody can tell
    if (clock.boot_ms() - alive_ms >= limits::kLeaderSilentMs) return *seen;
    if (seen.ok() && (!last || last->holder != seen->holder)) {
      log::info("waits, as another leads", {{"leader", seen->holder}});
    }
    if (seen.ok()) {
      last = *std::move(seen);
      looked();
    }
    if (stop && stop()) return stopped(last ? last->holder : "an unknown process");
    std::this_thread::sleep_for(std::chrono::milliseconds(limits::kLeadLookMs));
  }
}

void beat(PgConnection& db, std::int64_t epoch) {
  db.run("UPDATE beat SET beats = beats + 1 WHERE EXISTS (SELECT 1 FROM lead WHERE epoch = $1)",
         Parameters().add(epoch));
}

void give_up_lead(PgConnection& db, std::int64_t epoch) {
  db.run("UPDATE lead SET holder = '' WHERE id = 1 AND epoch = $1", Parameters().add(epoch));
}

std::string leader_of(PgConnection& db) {
  const PgResult row = db.run("SELECT holder FROM lead WHERE id = 1");
  return row.ok() && row.rows() == 1 ? std::string(row.bytes(0, 0)) : "unknown";
}

}  // namespace subak::postgres
