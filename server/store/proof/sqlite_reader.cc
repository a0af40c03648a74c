#include "server/store/proof/sqlite_reader.h"

#include <algorithm>
#include <string>
#include <utility>

#include "accounting/account.h"
#include "server/codec/codec.h"
#include "server/store/days/ledger_filter.h"
#include "server/store/days/read_usage.h"
#include "server/store/days/sqlite_days.h"
#include "server/store/past/past_files.h"
#include "server/store/proof/audit_rows.h"
#include "server/store/proof/checks.h"
#include "server/store/proof/ledger_rows.h"
#include "server/store/proof/proved_rows.h"

namespace subak {
Result<std::unique_ptr<StoreReader>> SqliteReader::open(
    const std::string& path, std::uint32_t fact_version,
    std::shared_ptr<const std::atomic<bool>> indexes_sound) {
  auto reader = std::make_unique<SqliteReader>();
  reader->fact_version_ = fact_version;
  reader->indexes_sound_ = std::move(indexes_sound);
  if (!reader->db_.open(path, OpenMode::kReadOnly)) return reader->db_.error("store.open");
  const auto seed = read_seed(reader->db_);
  if (!seed.ok()) return seed.error();
  reader->seed_ = *seed;
  return std::unique_ptr<StoreReader>(std::move(reader));
}

Result<Fact> SqliteReader::fact_of(const Statement& query) {
  const auto kind = static_cast<std::uint32_t>(query.number(2));
  auto body = codec::decode(kind, query.blob(3), fact_version_);
  if (body.ok()) return Fact{query.unsigned_number(0), query.number(1), std::move(*body)};
  Error error = body.error();
  error.field = "store.fact " + std::to_string(query.number(0)) + " " + error.field;
  if (error.code == ErrorCode::kPrecondition) {  // a newer program wrote it
    const auto version = read_meta(db_, "fact_version");
    const std::string known = version.ok() ? version->value_or("?") : "?";
    error.got += " (the store is of fact version " + known + ")";
    error.want += ": run the newer subakd that wrote it, or restore a backup made before that";
  }
  return error;
}

Result<Recovered> SqliteReader::recover(FactSink& sink) {
  const ReadTransaction picture(db_);
  if (!picture.ok()) return db_.error("store.recover");
  Recovered out;
  std::uint32_t anchor = 0;
  if (auto error = recover_checkpoint(sink, out, anchor)) return *error;
  if (auto error = recover_tail(sink, out, anchor)) return *error;
  return out;
}

std::optional<Error> SqliteReader::recover_checkpoint(FactSink& sink, Recovered& out,
                                                      std::uint32_t& anchor) {
  const auto mark = read_checkpoint_mark(db_, seed_);
  if (!mark.ok()) return mark.error();
  CheckpointRows rows(db_, seed_);
  if (auto error = rows.find(*mark)) return error;
  while (rows.next()) {
    const Result<Fact> fact = fact_of(rows.row());
    if (!fact.ok()) return fact.error();
    sink.checkpoint_fact(*fact);
    ++out.checkpoint_facts;
  }
  if (rows.error()) return rows.error();
  sink.checkpoint_end(mark->seq);
  out.seq = out.checkpoint_seq = mark->seq;
  anchor = mark->anchor;
  return std::nullopt;
}

std::optional<Error> SqliteReader::recover_tail(FactSink& sink, Recovered& out,
                                                std::uint32_t anchor) {
  FactRows rows(db_, seed_);
  if (auto error = rows.find(out.seq, anchor, UINT64_MAX)) return error;
  while (rows.next()) {
    const Result<Fact> fact = fact_of(rows.row());
    if (!fact.ok()) return fact.error();
    sink.fact(*fact);
    out.seq = fact->seq;
    ++out.tail_facts;
  }
  return rows.error();
}

Result<StoredCheckpoint> SqliteReader::checkpoint_in_use() {
  const ReadTransaction picture(db_);
  if (!picture.ok()) return db_.error("store.checkpoint");
  const auto mark = read_checkpoint_mark(db_, seed_);
  if (!mark.ok()) return mark.error();
  return StoredCheckpoint{mark->seq, mark->facts, 0};
}

Result<std::vector<StoredCheckpoint>> SqliteReader::past_checkpoints() {
  return PastFiles(db_, seed_).list();
}

std::optional<Error> SqliteReader::read_past_checkpoint(std::uint64_t seq, FactSink& sink) {
  return PastFiles(db_, seed_).read(seq, fact_version_, sink);
}

Result<std::vector<Fact>> SqliteReader::facts(std::uint64_t after_seq, std::size_t most) {
  const ReadTransaction picture(db_);
  if (!picture.ok()) return db_.error("store.facts");
  FactRows rows(db_, seed_);
  if (auto error = rows.find(after_seq, std::nullopt, most)) return *error;
  std::vector<Fact> out;
  while (rows.next()) {
    Result<Fact> fact = fact_of(rows.row());
    if (!fact.ok()) return fact.error();
    out.push_back(std::move(*fact));
  }
  if (rows.error()) return *rows.error();
  return out;
}

Result<std::uint64_t> SqliteReader::last_seq() {
  const auto head = read_head(db_, seed_);
  if (!head.ok()) return head.error();
  return head->facts;
}

Result<std::uint64_t> SqliteReader::last_seq_until(TimeMs t) {
  const Result<std::uint64_t> last = last_seq();
  if (!last.ok()) return last.error();
  return subak::last_seq_until(*last, t, [&](std::uint64_t seq) -> Result<TimeMs> {
    FactRows at(db_, seed_);
    if (auto error = at.find(seq - 1, std::nullopt, 1)) return *error;
    if (!at.next()) return *at.error();
    return at.row().number(1);
  });
}

Result<std::vector<LedgerEntry>> SqliteReader::ledger(const LedgerQuery& query) {
  const ReadTransaction picture(db_);
  if (!picture.ok()) return db_.error("store.ledger");
  const auto first = last_seq_until(query.from_ms);
  if (!first.ok()) return first.error();
  const std::uint64_t after = std::max(*first, query.after_seq);
  const bool has_indexes = indexes_sound_ && *indexes_sound_;
  if (query.job && has_indexes) return ledger_of_job(query, after);
  if (has_indexes && !query.payers.empty() && query.payers.size() <= limits::kMaxIndexedPayers)
    return ledger_of_payers(query, after);
  LedgerRows rows(db_, seed_);
  if (auto error = rows.find(after)) return *error;
  const LedgerFilter filter(query);
  std::vector<LedgerEntry> out;
  LedgerEntry entry;
  while (out.size() < query.most && rows.next(entry) && entry.seq <= query.last_seq) {
    if (filter.wants(entry.row)) out.push_back(std::move(entry));
  }
  if (rows.error()) return *rows.error();
  return out;
}

std::optional<Error> SqliteReader::add_ledger_rows(const LedgerQuery& query, std::uint64_t after,
                                                   const char* key, std::uint64_t value,
                                                   std::vector<LedgerEntry>& out) {
  Statement rows;
  const std::string sql = "SELECT " + std::string(kLedgerColumns) + " FROM ledger WHERE " + key +
                          " = ?2 AND seq > ?1 AND seq <= ?3 ORDER BY seq";
  if (!rows.prepare(db_, sql)) return unreadable_store(db_, db_.path());
  rows.bind(1, after);
  rows.bind(2, value);
  rows.bind(3, query.last_seq);
  const LedgerFilter filter(query);
  for (std::size_t found = 0; found < query.most && rows.step();) {
    auto entry = ledger_entry(rows, seed_);
    if (!entry) return damaged_row(db_.path(), "ledger", std::to_string(rows.number(0)));
    if (!filter.wants(entry->row)) continue;
    out.push_back(std::move(*entry));
    ++found;
  }
  if (rows.failed()) return unreadable_store(db_, db_.path());
  return std::nullopt;
}

Result<std::vector<LedgerEntry>> SqliteReader::ledger_of_job(const LedgerQuery& query,
                                                             std::uint64_t after) {
  std::vector<LedgerEntry> out;
  if (auto error = add_ledger_rows(query, after, "job", query.job->value, out)) return *error;
  return out;
}

Result<std::vector<LedgerEntry>> SqliteReader::ledger_of_payers(const LedgerQuery& query,
                                                                std::uint64_t after) {
  std::vector<AccountId> payers = query.payers;
  if (query.with_platform) payers.push_back(kPlatform);
  std::vector<LedgerEntry> out;
  for (const AccountId payer : payers) {
    if (auto error = add_ledger_rows(query, after, "payer", payer.value, out)) return *error;
  }
  std::sort(out.begin(), out.end(),
            [](const LedgerEntry& a, const LedgerEntry& b) { return a.seq < b.seq; });
  if (out.size() > query.most) out.resize(query.most);
  return out;
}

Result<std::vector<DailyUsage>> SqliteReader::daily_usage(const LedgerQuery& query) {
  const ReadTransaction picture(db_);
  if (!picture.ok()) return db_.error("store.ledger");
  UsageReads reads;
  reads.sums = [&](std::int64_t from, std::int64_t to) {
    return read_day_sums(db_, seed_, from, to);
  };
  reads.last_until = [&](TimeMs t) { return last_seq_until(t); };
  reads.rows = [&](std::uint64_t after, std::uint64_t last,
                   const std::function<void(const LedgerRow&)>& fn) -> std::optional<Error> {
    LedgerRows rows(db_, seed_);
    if (auto error = rows.find(after)) return error;
    LedgerEntry entry;
    while (rows.next(entry) && entry.seq <= last) fn(entry.row);
    return rows.error();
  };
  return read_usage(query, reads);
}

Result<DaySums> SqliteReader::day_sums(std::int64_t from_day, std::int64_t to_day) {
  const ReadTransaction picture(db_);
  if (!picture.ok()) return db_.error("store.usage_days");
  return read_day_sums(db_, seed_, from_day, to_day);
}

Result<std::vector<AuditEntry>> SqliteReader::audit(const AuditQuery& query) {
  const ReadTransaction picture(db_);
  if (!picture.ok()) return db_.error("store.audit");
  AuditRows rows(db_, seed_);
  if (auto error = rows.find(query.before_seq)) return *error;
  std::vector<AuditEntry> out;
  AuditRow row;
  while (out.size() < query.most && rows.next(row)) {
    if (row.entry.time_ms < query.from_ms) break;  // time never falls
    if (wants(query, row.entry)) out.push_back(std::move(row.entry));
  }
  if (rows.error()) return *rows.error();
  return out;
}

}  // namespace subak
