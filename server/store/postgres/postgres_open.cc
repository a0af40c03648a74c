// The checks of a store before it is used: a server with durable commits, the lead, the tables, the
// first rows.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/limits.h"
#include "server/log/log.h"
#include "server/store/file/row_sum.h"
#include "server/store/postgres/database/migrations.h"
#include "server/store/postgres/database/tables.h"
#include "server/store/postgres/leadership.h"
#include "server/store/postgres/postgres_impl.h"
#include "server/store/proof/migrate.h"

namespace subak {
namespace postgres {
namespace {

Error refuse(std::string got, std::string want) {
  return {ErrorCode::kPrecondition, "state", std::move(got), std::move(want)};
}

}  // namespace

// synchronous_commit is set by this session, and a pooler may have lost it.
// Checks the settings of the server that a durable commit needs. `replicated`: also the synchronous
// standbys.
std::optional<Error> check_server(PgConnection& db, bool replicated) {
  for (const char* const setting :
       {"fsync", "full_page_writes", "synchronous_commit", "synchronous_standby_names"}) {
    const PgResult row =
        db.run("SELECT current_setting($1)", Parameters().add(std::string_view(setting)));
    if (!row.ok()) return db.error("store.open", row);
    const std::string_view value = row.bytes(0, 0);
    if (std::string_view(setting) == "synchronous_standby_names") {
      if (!replicated || !value.empty()) continue;
      return refuse(
          "a database server without synchronous standbys (synchronous_standby_names is empty)",
          "want a synchronous standby, or databaseDurability: local (--database-durability local), "
          "if acknowledged facts need only survive a crash of the server, not the loss of its "
          "machine");
    }
    if (value != "on") {
      return refuse(std::string(setting) + " = " + std::string(value) + " on the server",
                    "want on: without it, a crash of the server loses or damages the ledger");
    }
  }
  return std::nullopt;
}

// Warns about a role that can change rows and so forge the ledger. Skipped if a database does not
// know the question.
namespace {

// Logs a warning if the database role may change or delete rows, because the service does not need
// these rights. The warning does not prevent a start. `store`: describes the store.
void check_role(PgConnection& db, const std::string& store) {
  const PgResult row = db.run(
      "SELECT count(*)::bigint FROM (VALUES ('facts'), ('ledger'), ('audit')) AS t(name) "
      "WHERE has_table_privilege(name, 'UPDATE, DELETE, TRUNCATE')");
  if (!row.ok() || row.number(0, 0) == 0) return;
  log::warn("the database role may do more than the service needs",
            {{"store", store},
             {"may", "change or delete rows of facts, ledger, audit"},
             {"want", "a role of its own: deploy/postgres/service_role.sql"}});
}

// Refuses a store with facts of a version after `known`. Accepts a store that has no tables yet.
std::optional<Error> check_version(PgConnection& db, std::uint32_t known) {
  const PgResult row = db.run("SELECT value FROM meta WHERE key = 'fact_version'");
  if (!row.ok() || row.rows() == 0) return std::nullopt;  // no tables yet; load() looks again
  const std::string version(row.bytes(0, 0));
  if (std::strtoul(version.c_str(), nullptr, 10) <= known) return std::nullopt;
  return newer_facts("state", version, known);
}

// Refuses a store whose last fact has an epoch above the lead's: the row of the lead was lost, and
// epochs began again.
std::optional<Error> check_epoch(PgConnection& db) {
  const PgResult row = db.run(
      "SELECT (SELECT max(epoch) FROM lead), (SELECT epoch FROM facts ORDER BY seq DESC LIMIT 1)");
  if (!row.ok() || row.number(0, 1) <= row.number(0, 0)) return std::nullopt;
  return damaged(
      "lead", 1,
      "not what was written: the last fact has epoch " + std::to_string(row.number(0, 1)));
}

}  // namespace

std::optional<Error> PostgresStore::open() {
  if (auto error = db_.open(address_)) {
    if (is_refusal(address_, error->got)) error->want.clear();
    return error;
  }
  if (auto error = check_server(db_, options_.replicated)) return error;
  if (auto error = check_rights(db_)) return error;
  return make_lead(db_);
}

Result<bool> PostgresStore::look(LeadershipSeen& seen) {
  watch_.begin_look(clock().boot_ms());
  const auto failed = [&](const Error& error) {
    watch_.saw_nothing(clock().boot_ms());
    return error;
  };
  if (!db_.is_open()) {
    if (auto error = db_.open(address_)) return failed(*error);
  }
  const std::int64_t began_ms = clock().boot_ms();
  auto rows = look_at_lead(db_);
  if (!rows.ok()) return failed(rows.error());
  if (options_.on_time) options_.on_time({rows->time_ms, began_ms, clock().boot_ms()});
  seen = *std::move(rows);
  {
    const MutexLock lock(seen_.mutex);
    seen_.lead = seen.lead;
  }
  return watch_.is_free(seen, clock().boot_ms());
}

void PostgresStore::watch() {
  LeadershipSeen seen;
  if (!leads() && watch_.since_look_ms(clock().boot_ms()) >= limits::kHeartbeatMs) (void)look(seen);
}

Result<bool> PostgresStore::try_lead() {
  if (leads()) return true;
  LeadershipSeen seen;
  const Result<bool> is_free = look(seen);
  if (!is_free.ok()) return is_free.error();
  if (!*is_free && !options_.take_lead) return false;
  return options_.may_lead && !options_.may_lead() ? false : take(seen);
}

// A process that cannot read the facts must not raise the epoch, which would end a leader that can.
Result<bool> PostgresStore::take(const LeadershipSeen& seen) {
  if (auto error = check_version(db_, options_.fact_version)) return *error;
  if (auto error = check_epoch(db_)) return *error;
  confirmed_ms_ = clock().boot_ms();
  const Raised raised = take_lead(db_, options_.holder, options_.advertise, seen);
  if (raised.how == Raised::How::kUnknown) {
    const bool is_refused = db_.broken() == Broken::kNo && !db_.warned();
    if (is_refused || options_.take_lead) return *raised.error;
    // If it was raised after all, this process waits until it counts as dead.
    log::warn("the lead was not taken",
              {{"store", describe()}, {"error", raised.error->message()}});
    return false;
  }
  if (raised.how == Raised::How::kOther) return false;
  epoch_ = raised.epoch;
  took_over_ = !seen.lead.holder.empty() && watch_.saw_life();
  heartbeat_ = std::make_unique<Heartbeat>(Heartbeat::Of{address_, clock(), options_.holder, epoch_,
                                                         trouble_.no_answer, confirmed_ms_,
                                                         options_.on_lost, options_.on_time});
  if (auto error = prepare()) return *error;
  return true;
}

std::optional<Error> PostgresStore::prepare() {
  const Result<int> applied = migrate(db_, postgres_migrations(), epoch_, clock().wall_ms());
  if (!applied.ok()) return applied.error();
  if (*applied > 0) log::info("store migrated", {{"store", describe()}, {"migrations", *applied}});
  if (auto error = check_rights(db_)) return error;
  if (auto error = check_tables(db_)) return error;
  if (options_.uuid.empty()) check_role(db_, describe());  // else its owner puts a copy there
  if (auto error = found()) return error;
  if (options_.ignore_checkpoint) {
    log::warn("the checkpoint is ignored", {{"store", describe()}});
    const std::string sql =
        std::string(kIfLeading) + "DELETE FROM meta USING l WHERE key = 'checkpoint'";
    const PgResult dropped = db_.run(sql.c_str(), Parameters().add(epoch_.load()));
    if (!dropped.ok()) return db_.error("store.checkpoint", dropped);
  }
  if (auto error = load()) return error;
  return check_rows();
}

// As the file store: a small store is proved completely before it is used. After a take-over it is
// proved later, so that callers do not wait for it.
std::optional<Error> PostgresStore::check_rows() {
  constexpr std::uint64_t kRowBytes = 512;
  const Head& head = batch_.position.head;
  const std::uint64_t rows = head.facts + head.ledger + head.audit;
  if (!took_over_ && rows <= limits::kQuickCheckBytes / kRowBytes) {
    return prove_rows(db_, identity_.seed, options_.fact_version,
                      [this] { return !options_.stop || !options_.stop(); });
  }
  proof_.start(address_, identity_.seed, options_.fact_version);
  return std::nullopt;
}

void PostgresStore::tell(const KnownAs& known_as) {
  if (heartbeat_ != nullptr) heartbeat_->tell(known_as_text(known_as));
}

// Removes the random word that makes a holder's name unique: it is not for readers.
Leadership PostgresStore::lead() const {
  Leadership lead;
  if (const std::int64_t ours = epoch_; ours != 0) {
    lead = {ours, options_.holder, options_.advertise, {}};
  } else {
    const MutexLock lock(seen_.mutex);
    lead = seen_.lead;
  }
  lead.holder.resize(std::min(lead.holder.rfind(' '), lead.holder.size()));
  return lead;
}

// Writes the first rows, in one statement. A store that has tables and none of these rows is new.
std::optional<Error> PostgresStore::found() {
  const auto uuid = read_meta(db_, "uuid");
  if (!uuid.ok()) return uuid.error();
  if (*uuid) {
    if (options_.uuid.empty()) return std::nullopt;
    const PgResult fact = db_.run("SELECT seq FROM facts LIMIT 1");
    if (!fact.ok()) return db_.error("store.facts", fact);
    if (fact.rows() == 0 && **uuid == options_.uuid) return std::nullopt;
    return Error{ErrorCode::kExists, "state", "a store is there already in " + describe(),
                 "want a database without one: make a new database"};
  }
  const std::string name = options_.uuid.empty() ? random_uuid() : options_.uuid;
  Parameters p;
  p.add(epoch_.load()).add(std::string_view(name)).add(sum_column(meta_sum("uuid", name)));
  p.add(sum_column(meta_sum("fact_version", "1")));
  const std::string sql =
      std::string(kIfLeading) +
      "INSERT INTO meta SELECT v.* FROM l, (VALUES ('uuid', $2, $3), ('fact_version', '1', $4)) "
      "AS v WHERE NOT EXISTS (SELECT 1 FROM facts) RETURNING key";
  const PgResult row = db_.run(sql.c_str(), p);
  if (!row.ok()) return db_.error("store.meta", row);
  if (row.rows() == 2) return std::nullopt;
  return damaged_meta("uuid");
}

std::optional<Error> PostgresStore::load() {
  const auto uuid = read_meta(db_, "uuid");
  if (!uuid.ok()) return uuid.error();
  identity_.uuid = uuid->value_or("");
  identity_.seed = crc32c(identity_.uuid);
  const auto version = read_meta(db_, "fact_version");
  if (!version.ok()) return version.error();
  if (!*version) return damaged_meta("fact_version");
  batch_.position.version =
      static_cast<std::uint32_t>(std::strtoul((*version)->c_str(), nullptr, 10));
  if (batch_.position.version == 0 || batch_.position.version > options_.fact_version) {
    return newer_facts("state", **version, options_.fact_version);
  }
  version_ = batch_.position.version;
  const auto head = read_head(db_, identity_.seed);
  if (!head.ok()) return head.error();
  batch_.position.head = *head;
  const auto mark = read_checkpoint(db_, identity_.seed);
  if (!mark.ok()) return mark.error();
  return check_checkpoint(db_, *mark);
}

}  // namespace postgres

bool says_away(const Error& error) { return error.want == postgres::kWantServer; }
bool says_other_leads(const Error& error) { return error.want == postgres::kWantOneLeader; }
bool says_newer(const Error& error) { return error.want.starts_with(postgres::kWantOlder); }

Result<std::unique_ptr<SharedStore>> open_shared_store(const PostgresOptions& options) {
  auto address = postgres::parse_address(options.address);
  if (!address.ok()) return address.error();
  PostgresOptions named = options;
  named.holder += " " + random_uuid();
  auto store = std::make_unique<postgres::PostgresStore>(*std::move(address), named);
  if (auto error = store->open()) return *error;
  return std::unique_ptr<SharedStore>(std::move(store));
}

// A failed look while another process leads does not end the wait: without a database the leader is
// unknown.
Result<std::unique_ptr<Store>> open_postgres_store(const PostgresOptions& options) {
  auto store = open_shared_store(options);
  if (!store.ok()) return store.error();
  bool has_looked = false;
  while (true) {
    const Result<bool> led = (*store)->try_lead();
    if (led.ok() && *led) return std::unique_ptr<Store>(std::move(*store));
    if (!led.ok() && (!has_looked || (*store)->leads())) return led.error();
    has_looked = true;
    if (options.stop && options.stop()) {
      return Error{ErrorCode::kPrecondition, "state",
                   "asked to stop while " + (*store)->lead().holder + " leads", ""};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(limits::kLeadLookMs));
  }
}

}  // namespace subak
