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
#include "server/store/postgres/leadership.h"
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

// Each follows kIfLeading, and returns a row for the leader.
constexpr char kInsertPart[] = "INSERT INTO checkpoint SELECT $2, $3, $4 FROM l RETURNING part";
constexpr char kDropParts[] =
    ", d AS (DELETE FROM checkpoint USING l WHERE seq <> $2) SELECT epoch FROM l";
constexpr char kUseCheckpoint[] =
    "INSERT INTO meta SELECT 'checkpoint', $2, $3 FROM l "
    "ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, sum = EXCLUDED.sum RETURNING key";
constexpr char kWriteCalibration[] =
    "INSERT INTO told SELECT 1, $2 FROM l "
    "ON CONFLICT (id) DO UPDATE SET bytes = EXCLUDED.bytes RETURNING id";
constexpr char kLastEdits[] =
    "SELECT DISTINCT ON (thing) seq, time_ms, actor, what, thing, subject, reason, before, after, "
    "error, request_id, ord, sum FROM audit WHERE thing = ANY($1) ORDER BY thing, seq DESC";

}  // namespace

PostgresStore::PostgresStore(Address address, const PostgresOptions& options)
    : address_(std::move(address)),
      clock_(*options.clock),
      holder_(options.holder),
      known_version_(options.fact_version),
      ignore_checkpoint_(options.ignore_checkpoint),
      takes_lead_(options.take_lead),
      replicated_(options.replicated),
      copy_path_(options.copy_path),
      wanted_uuid_(options.uuid),
      advertise_(options.advertise),
      stop_(options.stop),
      may_lead_(options.may_lead),
      on_lost_(options.on_lost),
      on_time_(options.on_time) {}

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
  const Waiting waiting(waits_since_ms_, std::max<std::int64_t>(1, clock_.monotonic_ms()));
  DurationMs wait_ms = limits::kDatabaseRetryMs;
  Outcome outcome = db_.is_open() ? Outcome::kAgain : Outcome::kUnknown;
  while (true) {
    outcome = outcome == Outcome::kUnknown ? resolve() : attempt();
    in_trouble_ = outcome == Outcome::kUnknown;
    if (outcome == Outcome::kDone) return std::nullopt;
    if (outcome == Outcome::kRefused) return error_;
    if (stop_ && stop_() && error_) return error_;
    if (outcome == Outcome::kAgain) continue;
    log::warn("the database does not answer",
              {{"store", describe()}, {"error", error_ ? error_->message() : ""}});
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    wait_ms = std::min(2 * wait_ms, limits::kMaxDatabaseRetryMs);
  }
}

DurationMs PostgresStore::waiting_ms() const {
  const std::int64_t since_ms = waits_since_ms_;
  return since_ms == 0 ? 0 : std::max<DurationMs>(1, clock_.monotonic_ms() - since_ms);
}

std::optional<Error> PostgresStore::commit(std::span<const Fact> facts) {
  must(!facts.empty() && facts.front().seq == position_.head.facts + 1, "facts have no gap");
  sent_.reset();
  return insist([&] { return try_commit(facts); });
}

// An answer without a commit rests on the fact that no other process has led meanwhile. The check
// is also a heartbeat: a process that waits for silence takes over only after the answer has lost
// its validity.
std::optional<Error> PostgresStore::check_owned() {
  if (clock_.boot_ms() < owned_until_ms()) return std::nullopt;
  sent_.reset();
  return insist([&] { return beat(); });
}

PostgresStore::Outcome PostgresStore::try_commit(std::span<const Fact> facts) {
  LastEdits last;
  if (const Outcome read = last_edits(facts, last); read != Outcome::kDone) return read;
  const auto batch = Batch::make(facts, position_, seed_, known_version_, std::move(last));
  if (!batch.ok()) {
    error_ = batch.error();
    return Outcome::kRefused;
  }
  sent_ = batch->after();
  const PgResult row = db_.run(Batch::kSql.c_str(), batch->parameters(epoch_));
  const Outcome outcome = judge(row, "store.commit");
  if (row.sqlstate() == kDividedByZero) {
    error_ = Error{ErrorCode::kPrecondition, "store.commit",
                   "the database stored fewer rows than it was given",
                   "want no trigger, rule or row security on its tables"};
  }
  if (outcome != Outcome::kDone) return outcome;
  if (row.rows() == 0) return lost();
  position_ = *std::exchange(sent_, std::nullopt);
  version_ = position_.version;
  return Outcome::kDone;
}

PostgresStore::Outcome PostgresStore::beat() {
  const std::int64_t began_ms = clock_.boot_ms();
  const PgResult row = postgres::beat(db_, epoch_, "");
  const Outcome outcome = judge(row, "store.lead");
  if (outcome != Outcome::kDone) return outcome;
  if (row.rows() == 0) return lost();
  note_confirmed(confirmed_ms_, began_ms);
  if (on_time_) on_time_({row.number(0, kTimeOfHeartbeat), began_ms, clock_.boot_ms()});
  return Outcome::kDone;
}

// A warning beside success: the server stopped waiting for its synchronous standby, so the commit
// may be lost.
PostgresStore::Outcome PostgresStore::judge(const PgResult& result, std::string_view what) {
  if (result.ok() && db_.broken() == Broken::kNo && !db_.warned()) return Outcome::kDone;
  error_ = db_.error(what, result);
  if (db_.broken() != Broken::kNo || db_.warned() || is_end_of_server(result.sqlstate())) {
    return Outcome::kUnknown;
  }
  return is_again(result.sqlstate()) ? Outcome::kAgain : Outcome::kRefused;
}

PostgresStore::Outcome PostgresStore::lost() {
  error_ = leads_by_now(leader_of(db_));
  return Outcome::kRefused;
}

// Raises the epoch first, so that statements still on their way to the server do not become
// durable. Only then does the last fact show whether the batch is there.
PostgresStore::Outcome PostgresStore::resolve() {
  if ((error_ = db_.open(address_))) return Outcome::kUnknown;
  const Raised raised = raise_own(db_, holder_);
  if (raised.how == Raised::How::kOther) return lost();
  if (raised.how == Raised::How::kUnknown) {
    error_ = raised.error;
    return Outcome::kUnknown;
  }
  epoch_ = raised.epoch;
  const auto head = read_head(db_, seed_);
  if (!head.ok()) {
    error_ = head.error();
    return Outcome::kUnknown;
  }
  const auto is = [&](const Head& other) {
    return head->facts == other.facts && head->facts_sum == other.facts_sum;
  };
  if (is(position_.head)) return Outcome::kAgain;
  if (head->facts < position_.head.facts) {  // a failover to a copy that was behind
    error_ = Error{ErrorCode::kPrecondition, "store.facts",
                   "the database ends with fact " + std::to_string(head->facts) + ", and fact " +
                       std::to_string(position_.head.facts) + " was durable",
                   "want a database that keeps what it has: this process ends"};
    return Outcome::kRefused;
  }
  if (sent_ && is(sent_->head)) {
    position_ = *std::exchange(sent_, std::nullopt);
    version_ = position_.version;
    return Outcome::kDone;
  }
  error_ = damaged("facts", head->facts, "the last, and not what was committed");
  return Outcome::kRefused;
}

PostgresStore::Outcome PostgresStore::last_edits(std::span<const Fact> facts, LastEdits& out) {
  const std::vector<std::string> things = edited_things(facts);
  if (things.empty()) return Outcome::kDone;
  const PgResult rows = db_.run(kLastEdits, Parameters().add_bytes(things));
  const Outcome outcome = judge(rows, "store.audit");
  if (outcome != Outcome::kDone) return outcome;
  for (int i = 0; i < rows.rows(); ++i) {
    auto row = audit_entry(rows, i, seed_);
    if (!row) {
      error_ = damaged("audit", rows.unsigned_number(i, 0));
      return Outcome::kRefused;
    }
    out[row->thing] = {std::move(row->entry.subject), std::move(row->entry.after)};
  }
  return Outcome::kDone;
}

// --- checkpoints ---------------------------------------------------------------------------------

std::optional<Error> PostgresStore::open_background() {
  return background_.is_open() ? std::nullopt : background_.open(address_);
}

std::optional<Error> PostgresStore::run_as_leader(const char* rest, Parameters& parameters) {
  if (auto error = open_background()) return error;
  const PgResult row = background_.run((std::string(kIfLeading) + rest).c_str(), parameters);
  if (!row.ok()) return background_.error("store.checkpoint", row);
  if (row.rows() > 0) return std::nullopt;
  return Error{ErrorCode::kPrecondition, "store.checkpoint", "another process leads by now",
               "want one leader"};
}

std::optional<Error> PostgresStore::write_part(std::uint64_t seq, std::uint64_t part,
                                               std::string_view rows) {
  Parameters p;
  p.add(epoch_.load()).add(seq).add(part).add_bytes(rows);
  return run_as_leader(kInsertPart, p);
}

Result<std::uint32_t> PostgresStore::anchor_of(std::uint64_t seq) {
  const PgResult row =
      background_.run("SELECT sum FROM facts WHERE seq = $1", Parameters().add(seq));
  if (!row.ok()) return background_.error("store.checkpoint", row);
  if (row.rows() == 0) return damaged("facts", seq, "missing");
  return sum_of(row.number(0, 0));
}

// Parts of a checkpoint that is not in use are never read. The next checkpoint drops those that a
// crash left.
std::optional<Error> PostgresStore::write_checkpoint(std::uint64_t seq, const PackedFacts& facts) {
  if (auto error = open_background()) return error;
  if (facts.needs() > version_) {
    return Error{ErrorCode::kPrecondition, "store.checkpoint",
                 "of fact version " + std::to_string(facts.needs()),
                 "want facts of version " + std::to_string(version_) + ", which the store has"};
  }
  const auto used = read_checkpoint(background_, seed_);
  if (!used.ok()) return used.error();
  if (used->seq == seq) return std::nullopt;
  const auto drop_except = [&](std::uint64_t keep) {
    Parameters p;
    p.add(epoch_.load()).add(keep);
    return run_as_leader(kDropParts, p);
  };
  if (auto error = drop_except(used->seq)) return error;
  Checkpoint mark{seq, facts.size(), 0, seed_, 0};
  std::string part;
  PackedFacts::Cursor cursor(facts);
  std::uint64_t ord = 0;
  for (PackedFacts::Row row; cursor.next(row); ++ord) {
    append_kept(part, {row.time_ms, row.kind, row.body});
    mark.sum = fact_sum(mark.sum, ord, row.time_ms, row.kind, row.body);
    if (part.size() < limits::kCheckpointPartBytes) continue;
    if (auto error = write_part(seq, mark.parts++, part)) return error;
    part.clear();
  }
  if (!part.empty()) {
    if (auto error = write_part(seq, mark.parts++, part)) return error;
  }
  const auto anchor = anchor_of(seq);
  if (!anchor.ok()) return anchor.error();
  mark.anchor = *anchor;
  const std::string text = mark.text();
  Parameters use;
  use.add(epoch_.load()).add(std::string_view(text)).add(sum_column(meta_sum("checkpoint", text)));
  if (auto error = run_as_leader(kUseCheckpoint, use)) return error;
  return drop_except(seq);
}

std::optional<Error> PostgresStore::write_calibration(std::string_view bytes) {
  Parameters p;
  p.add(epoch_.load()).add_bytes(bytes);
  return run_as_leader(kWriteCalibration, p);
}

Result<std::string> PostgresStore::read_calibration() {
  PgConnection db;
  if (auto error = db.open(address_)) return *error;
  const PgResult row = db.run("SELECT bytes FROM told WHERE id = 1");
  if (!row.ok()) return db.error("store.told", row);
  return row.rows() == 0 ? std::string() : std::string(row.bytes(0, 0));
}

// Makes a file store of the same facts, so that a backup is one file, proved like any other.
Result<std::string> PostgresStore::make_copy(const std::function<bool()>& wanted) {
  if (copy_path_.empty()) return Store::make_copy(wanted);
  const auto remove = [&](bool all) {
    for (const char* end : {"", "-wal", "-shm", ".lock"}) {
      if (all || *end != 0) ::unlink((copy_path_ + end).c_str());
    }
  };
  remove(true);
  auto reader = open_reader();
  if (!reader.ok()) return reader.error();
  SqliteOptions options{copy_path_};
  options.uuid = uuid_;
  options.fact_version = known_version_;
  auto copy = open_sqlite_store(options);
  if (!copy.ok()) return copy.error();
  const auto copied = copy_history(**reader, **copy, wanted);
  copy = std::unique_ptr<Store>();  // closes it: the file has all data
  remove(!copied.ok());
  if (!copied.ok()) return copied.error();
  return copy_path_;
}

Result<std::unique_ptr<StoreReader>> PostgresStore::open_reader() {
  return PostgresReader::open(address_, known_version_);
}

}  // namespace subak::postgres
