#include "server/store/postgres/postgres_store.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "server/log/log.h"
#include "server/store/file/row_sum.h"
#include "server/store/move/copy_history.h"
#include "server/store/postgres/day_sum_rows.h"
#include "server/store/postgres/leadership.h"
#include "server/store/postgres/past_rows.h"
#include "server/store/postgres/postgres_impl.h"
#include "server/store/postgres/postgres_reader.h"
#include "server/store/sqlite/sqlite_store.h"

namespace subak::postgres {
namespace {

// SQLSTATE classes and codes: PostgreSQL's manual, appendix A.
bool is_again(std::string_view state) {
  return state == "40001" || state == "40P01" || state == "55P03";
}
bool is_end_of_server(std::string_view state) {
  return state.starts_with("08") || state.starts_with("57P") || state == "40003" ||
         state.starts_with("53") || state.starts_with("58");
}

constexpr std::string_view kDividedByZero = "22012";  // Batch::kSql: rows are missing

constexpr char kLastEdits[] =
    "SELECT DISTINCT ON (thing) seq, time_ms, actor, what, thing, subject, reason, before, after, "
    "error, request_id, ord, sum FROM audit WHERE thing = ANY($1) ORDER BY thing, seq DESC";

}  // namespace

PostgresStore::PostgresStore(Address address, PostgresOptions options)
    : address_(std::move(address)),
      options_(std::move(options)),
      checkpoints_{CheckpointWriter(address_), {}} {}

void PostgresStore::give_up_lead() {
  heartbeat_ = nullptr;
  if (epoch_ != 0 && db_.is_open()) postgres::give_up_lead(db_, epoch_);
}

// --- commits -------------------------------------------------------------------------------------

template <class F>
std::optional<Error> PostgresStore::insist(F&& attempt) {
  class Waiting {
   public:
    Waiting(std::atomic<std::int64_t>& since, std::int64_t now) : since_(since) { since_ = now; }
    ~Waiting() { since_ = 0; }

   private:
    std::atomic<std::int64_t>& since_;
  };
  const Waiting waiting(trouble_.waits_since_ms, std::max<std::int64_t>(1, clock().monotonic_ms()));
  DurationMs wait_ms = limits::kDatabaseRetryMs;
  Outcome outcome = db_.is_open() ? Outcome::kAgain : Outcome::kUnknown;
  while (true) {
    outcome = outcome == Outcome::kUnknown ? resolve() : attempt();
    trouble_.no_answer = outcome == Outcome::kUnknown;
    if (outcome == Outcome::kDone) return std::nullopt;
    if (outcome == Outcome::kRefused) return batch_.error;
    if (options_.stop && options_.stop() && batch_.error) return batch_.error;
    if (outcome == Outcome::kAgain) continue;
    log::warn("the database does not answer",
              {{"store", describe()}, {"error", batch_.error ? batch_.error->message() : ""}});
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    wait_ms = std::min(2 * wait_ms, limits::kMaxDatabaseRetryMs);
  }
}

DurationMs PostgresStore::waiting_ms() const {
  const std::int64_t since_ms = trouble_.waits_since_ms;
  return since_ms == 0 ? 0 : std::max<DurationMs>(1, clock().monotonic_ms() - since_ms);
}

std::optional<Error> PostgresStore::commit(std::span<const Fact> facts) {
  must(!facts.empty() && facts.front().seq == batch_.position.head.facts + 1, "facts have no gap");
  batch_.sent.reset();
  return insist([&] { return try_commit(facts); });
}

// An answer without a commit rests on the fact that no other process has led meanwhile. The check
// is also a heartbeat: a process that waits for silence takes over only after the answer has lost
// its validity.
std::optional<Error> PostgresStore::check_owned() {
  if (clock().boot_ms() < owned_until_ms()) return std::nullopt;
  batch_.sent.reset();
  return insist([&] { return beat(); });
}

PostgresStore::Outcome PostgresStore::try_commit(std::span<const Fact> facts) {
  LastEdits last;
  if (const Outcome read = last_edits(facts, last); read != Outcome::kDone) return read;
  const auto batch =
      Batch::make(facts, batch_.position, identity_.seed, options_.fact_version, std::move(last));
  if (!batch.ok()) {
    batch_.error = batch.error();
    return Outcome::kRefused;
  }
  batch_.sent = batch->after();
  const PgResult row = db_.run(Batch::kSql.c_str(), batch->parameters(epoch_));
  const Outcome outcome = judge(row, "store.commit");
  if (row.sqlstate() == kDividedByZero) {
    batch_.error = Error{ErrorCode::kPrecondition, "store.commit",
                         "the database stored fewer rows than it was given",
                         "want no trigger, rule or row security on its tables"};
  }
  if (outcome != Outcome::kDone) return outcome;
  if (row.rows() == 0) return lost();
  batch_.position = *std::exchange(batch_.sent, std::nullopt);
  version_ = batch_.position.version;
  return Outcome::kDone;
}

PostgresStore::Outcome PostgresStore::beat() {
  const std::int64_t began_ms = clock().boot_ms();
  const PgResult row = postgres::beat(db_, epoch_, "");
  const Outcome outcome = judge(row, "store.lead");
  if (outcome != Outcome::kDone) return outcome;
  if (row.rows() == 0) return lost();
  note_confirmed(confirmed_ms_, began_ms);
  if (options_.on_time)
    options_.on_time({row.number(0, kTimeOfHeartbeat), began_ms, clock().boot_ms()});
  return Outcome::kDone;
}

// A warning beside success: the server stopped waiting for its synchronous standby, so the commit
// may be lost.
PostgresStore::Outcome PostgresStore::judge(const PgResult& result, std::string_view what) {
  if (result.ok() && db_.broken() == Broken::kNo && !db_.warned()) return Outcome::kDone;
  batch_.error = db_.error(what, result);
  if (db_.broken() != Broken::kNo || db_.warned() || is_end_of_server(result.sqlstate())) {
    return Outcome::kUnknown;
  }
  return is_again(result.sqlstate()) ? Outcome::kAgain : Outcome::kRefused;
}

PostgresStore::Outcome PostgresStore::lost() {
  batch_.error = leads_by_now(leader_of(db_));
  return Outcome::kRefused;
}

// Raises the epoch first, so that statements still on their way to the server do not become
// durable. Only then does the last fact show whether the batch is there.
PostgresStore::Outcome PostgresStore::resolve() {
  if ((batch_.error = db_.open(address_))) return Outcome::kUnknown;
  const Raised raised = raise_own(db_, options_.holder);
  if (raised.how == Raised::How::kOther) return lost();
  if (raised.how == Raised::How::kUnknown) {
    batch_.error = raised.error;
    return Outcome::kUnknown;
  }
  epoch_ = raised.epoch;
  const auto head = read_head(db_, identity_.seed);
  if (!head.ok()) {
    batch_.error = head.error();
    return Outcome::kUnknown;
  }
  const auto is = [&](const Head& other) {
    return head->facts == other.facts && head->facts_sum == other.facts_sum;
  };
  if (is(batch_.position.head)) return Outcome::kAgain;
  if (head->facts < batch_.position.head.facts) {  // a failover to a copy that was behind
    batch_.error =
        Error{ErrorCode::kPrecondition, "store.facts",
              "the database ends with fact " + std::to_string(head->facts) + ", and fact " +
                  std::to_string(batch_.position.head.facts) + " was durable",
              "want a database that loses no facts: this process ends"};
    return Outcome::kRefused;
  }
  if (batch_.sent && is(batch_.sent->head)) {
    batch_.position = *std::exchange(batch_.sent, std::nullopt);
    version_ = batch_.position.version;
    return Outcome::kDone;
  }
  batch_.error = damaged("facts", head->facts, "the last, and not what was committed");
  return Outcome::kRefused;
}

PostgresStore::Outcome PostgresStore::last_edits(std::span<const Fact> facts, LastEdits& out) {
  const std::vector<std::string> things = edited_things(facts);
  if (things.empty()) return Outcome::kDone;
  const PgResult rows = db_.run(kLastEdits, Parameters().add_bytes(things));
  const Outcome outcome = judge(rows, "store.audit");
  if (outcome != Outcome::kDone) return outcome;
  for (int i = 0; i < rows.rows(); ++i) {
    auto row = audit_entry(rows, i, identity_.seed);
    if (!row) {
      batch_.error = damaged("audit", rows.unsigned_number(i, 0));
      return Outcome::kRefused;
    }
    out[row->thing] = {std::move(row->entry.subject), std::move(row->entry.after)};
  }
  return Outcome::kDone;
}

// --- checkpoints ---------------------------------------------------------------------------------

std::optional<Error> PostgresStore::write_checkpoint(std::uint64_t seq, const PackedFacts& facts) {
  return checkpoints_.writer.write({epoch_, version_, identity_.seed}, seq, facts);
}

std::optional<Error> PostgresStore::add_past_checkpoint(
    std::uint64_t seq, const std::function<const PackedFacts*()>& facts) {
  if (!leads()) return std::nullopt;
  const MutexLock lock(checkpoints_.past);
  PastRows rows(address_, epoch_, identity_.seed);
  return subak::add_past_checkpoint(rows, identity_.seed, seq, facts);
}

std::optional<Error> PostgresStore::write_calibration(std::string_view bytes) {
  return checkpoints_.writer.write_calibration(epoch_, bytes);
}

Result<std::string> PostgresStore::read_calibration() {
  PgConnection db;
  if (auto error = db.open(address_)) return *error;
  const PgResult row = db.run("SELECT bytes FROM told WHERE id = 1");
  if (!row.ok()) return db.error("store.told", row);
  return row.rows() == 0 ? std::string() : std::string(row.bytes(0, 0));
}

// The follower's thread uses `checkpoints_`, so a write has a connection of its own.
std::optional<Error> PostgresStore::write_activity(std::int64_t part, std::string_view bytes) {
  return CheckpointWriter(address_).write_activity(epoch_, part, bytes);
}

Result<std::string> PostgresStore::read_activity(std::int64_t part) {
  PgConnection db;
  if (auto error = db.open(address_)) return *error;
  const PgResult row = db.run("SELECT bytes FROM activity WHERE part = $1", Parameters().add(part));
  if (!row.ok()) return db.error("store.activity", row);
  return row.rows() == 0 ? std::string() : std::string(row.bytes(0, 0));
}

std::optional<Error> PostgresStore::write_notice_marks(std::string_view bytes) {
  return CheckpointWriter(address_).write_notice_marks(epoch_, bytes);
}

Result<std::string> PostgresStore::read_notice_marks() {
  PgConnection db;
  if (auto error = db.open(address_)) return *error;
  const PgResult row = db.run("SELECT bytes FROM notices WHERE id = 1");
  if (!row.ok()) return db.error("store.notices", row);
  return row.rows() == 0 ? std::string() : std::string(row.bytes(0, 0));
}

std::optional<Error> PostgresStore::add_day_sums(const std::function<bool()>& wanted) {
  if (!leads()) return std::nullopt;
  auto reader = open_reader();
  if (!reader.ok()) return reader.error();
  DaySumRows table(address_, epoch_, identity_.seed);
  return subak::add_day_sums(**reader, table, wanted);
}

// Makes a file store of the same facts, so that a backup is one file, proved like any other.
Result<std::string> PostgresStore::make_copy(const std::function<bool()>& wanted) {
  if (options_.copy_path.empty()) return Store::make_copy(wanted);
  const auto remove = [&](bool all) {
    for (const char* end : {"", "-wal", "-shm", ".lock"}) {
      if (all || *end != 0) ::unlink((options_.copy_path + end).c_str());
    }
  };
  remove(true);
  auto reader = open_reader();
  if (!reader.ok()) return reader.error();
  SqliteOptions options{options_.copy_path};
  options.uuid = identity_.uuid;
  options.fact_version = options_.fact_version;
  auto copy = open_sqlite_store(options);
  if (!copy.ok()) return copy.error();
  const auto copied = copy_history(**reader, **copy, wanted);
  copy = std::unique_ptr<Store>();  // closes it: the file has all data
  remove(!copied.ok());
  if (!copied.ok()) return copied.error();
  return options_.copy_path;
}

Result<std::unique_ptr<StoreReader>> PostgresStore::open_reader() {
  return PostgresReader::open(address_, options_.fact_version);
}

}  // namespace subak::postgres
