#include "server/store/sqlite_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "server/codec/codec.h"
#include "server/store/audit_rows.h"
#include "server/store/ledger_rows.h"

namespace subak {
namespace {

Error damaged(std::string_view what, const std::string& got) {
  return Error{ErrorCode::kPrecondition, "store." + std::string(what), got,
               "want an undamaged store: restore a backup; nothing was changed"};
}

// One consistent picture for several statements.
class ReadTransaction {
 public:
  explicit ReadTransaction(Connection& db) : db_(db), ok_(db.exec("BEGIN")) {}
  ~ReadTransaction() {
    if (ok_) db_.exec("COMMIT");
  }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;
  bool ok() const { return ok_; }

 private:
  Connection& db_;
  bool ok_;
};

}  // namespace

Result<std::unique_ptr<StoreReader>> SqliteReader::open(const std::string& path,
                                                        std::uint32_t fact_version) {
  auto reader = std::make_unique<SqliteReader>();
  reader->fact_version_ = fact_version;
  if (!reader->db_.open(path, OpenMode::kReadOnly)) return reader->db_.error("store.open");
  return std::unique_ptr<StoreReader>(std::move(reader));
}

Result<Fact> SqliteReader::fact_of(const Statement& query) {
  const auto kind = static_cast<std::uint32_t>(query.number(2));
  auto body = codec::decode(kind, query.blob(3), fact_version_);
  if (body.ok()) return Fact{query.unsigned_number(0), query.number(1), std::move(*body)};
  Error error = body.error();
  error.field = "store.fact " + std::to_string(query.number(0)) + " " + error.field;
  if (codec::version_of_kind(kind) > fact_version_) {
    const auto version = db_.text("SELECT value FROM meta WHERE key = 'fact_version'");
    error.got += " (the store is of fact version " + version.value_or("?") + ")";
    error.want += ": run the newer subakd that wrote it, or restore a backup made before that";
  }
  return error;
}

Result<Recovered> SqliteReader::recover(FactSink& sink) {
  const ReadTransaction picture(db_);
  if (!picture.ok()) return db_.error("store.recover");
  Recovered out;
  if (auto error = recover_checkpoint(sink, out)) return *error;
  if (auto error = recover_tail(sink, out)) return *error;
  return out;
}

std::optional<Error> SqliteReader::recover_checkpoint(FactSink& sink, Recovered& out) {
  const auto value = [&](const char* key) {
    const std::string sql = std::string("SELECT value FROM meta WHERE key = '") + key + "'";
    return db_.number(sql.c_str()).value_or(0);
  };
  out.checkpoint_seq = static_cast<std::uint64_t>(value("checkpoint_seq"));
  const auto expected = static_cast<std::uint64_t>(value("checkpoint_facts"));
  Statement query;
  if (!query.prepare(db_,
                     "SELECT 0, time_ms, kind, body FROM checkpoint WHERE seq = ? ORDER BY ord")) {
    return db_.error("store.checkpoint");
  }
  query.bind(1, out.checkpoint_seq);
  while (out.checkpoint_seq != 0 && query.step()) {
    const Result<Fact> fact = fact_of(query);
    if (!fact.ok()) return fact.error();
    sink.checkpoint_fact(*fact);
    ++out.checkpoint_facts;
  }
  if (query.failed()) return db_.error("store.checkpoint");
  if (out.checkpoint_facts != expected) {
    return damaged("checkpoint", std::to_string(out.checkpoint_facts) + " of " +
                                     std::to_string(expected) + " rows");
  }
  sink.checkpoint_end(out.checkpoint_seq);
  out.seq = out.checkpoint_seq;
  return std::nullopt;
}

std::optional<Error> SqliteReader::recover_tail(FactSink& sink, Recovered& out) {
  Statement query;
  if (!query.prepare(db_,
                     "SELECT seq, time_ms, kind, body FROM facts WHERE seq > ? ORDER BY seq")) {
    return db_.error("store.facts");
  }
  query.bind(1, out.seq);
  while (query.step()) {
    const Result<Fact> fact = fact_of(query);
    if (!fact.ok()) return fact.error();
    if (fact->seq != out.seq + 1) {
      return damaged("facts", "no fact " + std::to_string(out.seq + 1) + " before " +
                                  std::to_string(fact->seq));
    }
    sink.fact(*fact);
    out.seq = fact->seq;
    ++out.tail_facts;
  }
  if (query.failed()) return db_.error("store.facts");
  return std::nullopt;
}

Result<std::vector<Fact>> SqliteReader::facts(std::uint64_t after_seq, std::size_t most) {
  Statement query;
  if (!query.prepare(
          db_, "SELECT seq, time_ms, kind, body FROM facts WHERE seq > ? ORDER BY seq LIMIT ?")) {
    return db_.error("store.facts");
  }
  query.bind(1, after_seq);
  query.bind(2, static_cast<std::uint64_t>(most));
  std::vector<Fact> out;
  while (query.step()) {
    Result<Fact> fact = fact_of(query);
    if (!fact.ok()) return fact.error();
    out.push_back(std::move(*fact));
  }
  if (query.failed()) return db_.error("store.facts");
  return out;
}

Result<std::uint64_t> SqliteReader::last_seq_until(TimeMs t) {
  Statement at;
  if (!at.prepare(db_, "SELECT time_ms FROM facts WHERE seq = ?")) return db_.error("store.facts");
  std::int64_t low = 0;  // made at or before t, or none
  std::int64_t high = db_.number("SELECT max(seq) FROM facts").value_or(0) + 1;  // after t, or none
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    at.bind(1, middle);
    const bool later = at.step() && at.number(0) > t;
    if (at.failed()) return db_.error("store.facts");
    at.reset();
    (later ? high : low) = middle;
  }
  return static_cast<std::uint64_t>(low);
}

Result<std::vector<LedgerEntry>> SqliteReader::ledger(const LedgerQuery& query) {
  const auto first = last_seq_until(query.from_ms);
  if (!first.ok()) return first.error();
  const std::string sql = "SELECT " + std::string(kLedgerColumns) +
                          ", facts.time_ms FROM ledger JOIN facts ON facts.seq = ledger.seq "
                          "WHERE ledger.seq > ?1" +
                          (query.job ? " AND job = ?2" : "") + " ORDER BY ledger.seq";
  Statement rows;
  if (!rows.prepare(db_, sql)) return db_.error("store.ledger");
  rows.bind(1, std::max(*first, query.after_seq));
  if (query.job) rows.bind(2, query.job->value);
  const LedgerFilter filter(query);
  std::vector<LedgerEntry> out;
  while (out.size() < query.most && rows.step()) {
    LedgerRow row = ledger_row(rows);
    if (filter.wants(row))
      out.push_back({rows.unsigned_number(0), rows.number(13), std::move(row)});
  }
  if (rows.failed()) return db_.error("store.ledger");
  return out;
}

Result<std::vector<DailyUsage>> SqliteReader::daily_usage(const LedgerQuery& query) {
  const auto first = last_seq_until(query.from_ms);
  if (!first.ok()) return first.error();
  Statement rows;
  if (!rows.prepare(db_, "SELECT " + std::string(kLedgerColumns) + " FROM ledger WHERE seq > ?")) {
    return db_.error("store.ledger");
  }
  rows.bind(1, *first);
  const LedgerFilter filter(query);
  DailySums sums(query.from_ms, query.to_ms);
  while (rows.step()) {
    const LedgerRow row = ledger_row(rows);
    if (filter.wants(row)) sums.add(row);
  }
  if (rows.failed()) return db_.error("store.ledger");
  return sums.take();
}

Result<std::vector<AuditEntry>> SqliteReader::audit(const AuditQuery& query) {
  return read_audit(db_, query);
}

}  // namespace subak
