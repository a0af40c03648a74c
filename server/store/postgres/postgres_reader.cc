#include "server/store/postgres/postgres_reader.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "accounting/account.h"
#include "core/limits.h"
#include "server/codec/codec.h"
#include "server/codec/kept_row.h"
#include "server/store/days/ledger_filter.h"
#include "server/store/days/read_usage.h"
#include "server/store/file/row_sum.h"
#include "server/store/postgres/day_sum_rows.h"
#include "server/store/postgres/past_rows.h"
#include "server/store/proof/ledger_rows.h"

namespace subak::postgres {

Result<std::unique_ptr<StoreReader>> PostgresReader::open(const Address& address,
                                                          std::uint32_t fact_version) {
  auto reader = std::make_unique<PostgresReader>(address, fact_version);
  if (auto error = reader->db_.open(address)) return *error;
  if (auto error = reader->seed()) return *error;
  return std::unique_ptr<StoreReader>(std::move(reader));
}

std::optional<Error> PostgresReader::seed() {
  const auto uuid = read_meta(db_, "uuid");
  if (!uuid.ok()) return uuid.error();
  if (!*uuid) {
    return damaged_meta("uuid");
  }
  seed_ = crc32c(**uuid);
  return std::nullopt;
}

std::optional<Error> PostgresReader::begin() {
  constexpr char kBegin[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
  PgResult begun = db_.script(kBegin);
  if (!begun.ok() && !db_.is_open()) {
    if (auto error = db_.open(address_)) return error;
    begun = db_.script(kBegin);
  }
  if (begun.ok()) return std::nullopt;
  return db_.error("store.read", begun);
}

template <class T, class F>
Result<T> PostgresReader::in_picture(F&& read) {
  if (auto error = begin()) return *error;
  Result<T> out = read();
  db_.script("COMMIT");
  return out;
}

Result<Fact> PostgresReader::fact_of(std::uint64_t seq, TimeMs time_ms, std::uint32_t kind,
                                     std::string_view body) {
  auto decoded = codec::decode(kind, body, fact_version_);
  const std::string place = "store.fact " + std::to_string(seq) + " ";
  if (!decoded.ok()) {
    Error error = decoded.error();
    error.field = place + error.field;
    if (error.code != ErrorCode::kPrecondition) return error;
    return newer_facts(error.field, "to come", fact_version_);
  }
  // The first fact from which on an older program must not continue; facts of new kinds follow it.
  const auto* const finalized = std::get_if<fact::Finalized>(&*decoded);
  if (seq > 0 && finalized != nullptr && finalized->version > fact_version_) {
    return newer_facts(place + "finalized", std::to_string(finalized->version), fact_version_);
  }
  return Fact{seq, time_ms, *std::move(decoded)};
}

Result<Recovered> PostgresReader::recover(FactSink& sink) {
  return in_picture<Recovered>([&]() -> Result<Recovered> {
    const auto version = read_meta(db_, "fact_version");
    if (!version.ok()) return version.error();
    if (std::strtoul(version->value_or("0").c_str(), nullptr, 10) > fact_version_) {
      return newer_facts("state", version->value_or(""), fact_version_);
    }
    Recovered out;
    std::uint32_t anchor = 0;
    if (auto error = recover_checkpoint(sink, out, anchor)) return *error;
    auto error = each_fact(out.seq, anchor, UINT64_MAX, [&](const Fact& fact) {
      sink.fact(fact);
      out.seq = fact.seq;
      ++out.tail_facts;
    });
    if (error) return *error;
    return out;
  });
}

std::optional<Error> PostgresReader::recover_checkpoint(FactSink& sink, Recovered& out,
                                                        std::uint32_t& anchor) {
  const auto mark = read_checkpoint(db_, seed_);
  if (!mark.ok()) return mark.error();
  if (auto error = check_checkpoint(db_, *mark)) return error;
  std::uint32_t sum = seed_;
  for (std::uint64_t part = 0; part < mark->parts; ++part) {
    const PgResult rows = db_.run("SELECT rows FROM checkpoint WHERE seq = $1 AND part = $2",
                                  Parameters().add(mark->seq).add(part));
    if (!rows.ok()) return db_.error("store.checkpoint", rows);
    if (auto error = read_part(rows, part, out, sum, sink)) return error;
  }
  if (mark->seq > 0 && (out.checkpoint_facts != mark->facts || sum != mark->sum)) {
    return damaged("checkpoint", mark->parts, "not the last: facts are missing");
  }
  sink.checkpoint_end(mark->seq);
  out.seq = out.checkpoint_seq = mark->seq;
  anchor = mark->anchor;
  return std::nullopt;
}

std::optional<Error> PostgresReader::read_part(const PgResult& rows, std::uint64_t part,
                                               Recovered& out, std::uint32_t& sum, FactSink& sink) {
  if (rows.rows() == 0) return damaged("checkpoint", part, "missing");
  std::string_view bytes = rows.bytes(0, 0);
  while (!bytes.empty()) {
    const auto row = next_kept(bytes);
    if (!row) return damaged("checkpoint", part);
    const auto fact = fact_of(0, row->time_ms, row->kind, row->body);
    if (!fact.ok()) return fact.error();
    sum = fact_sum(sum, out.checkpoint_facts, row->time_ms, row->kind, row->body);
    ++out.checkpoint_facts;
    sink.checkpoint_fact(*fact);
  }
  return std::nullopt;
}

std::optional<Error> PostgresReader::each_fact(std::uint64_t after, std::uint32_t anchor,
                                               std::uint64_t most,
                                               const std::function<void(Fact)>& fn) {
  std::uint32_t sum = anchor;
  while (most > 0) {
    const std::uint64_t page = std::min<std::uint64_t>(most, limits::kDatabasePageRows);
    const PgResult rows = db_.run(
        "SELECT seq, time_ms, kind, body, sum FROM facts WHERE seq > $1 ORDER BY seq LIMIT $2",
        Parameters().add(after).add(page));
    if (!rows.ok()) return db_.error("store.facts", rows);
    for (int i = 0; i < rows.rows(); ++i) {
      const std::uint64_t seq = rows.unsigned_number(i, 0);
      if (seq != after + 1) return damaged("facts", after + 1, "missing");
      const auto kind = static_cast<std::uint32_t>(rows.number(i, 2));
      sum = fact_sum(sum, seq, rows.number(i, 1), kind, rows.bytes(i, 3));
      if (sum != sum_of(rows.number(i, 4))) return damaged("facts", seq);
      auto fact = fact_of(seq, rows.number(i, 1), kind, rows.bytes(i, 3));
      if (!fact.ok()) return fact.error();
      fn(*std::move(fact));
      after = seq;
    }
    most -= static_cast<std::uint64_t>(rows.rows());
    if (static_cast<std::uint64_t>(rows.rows()) < page) return std::nullopt;
  }
  return std::nullopt;
}

Result<StoredCheckpoint> PostgresReader::checkpoint_in_use() {
  return in_picture<StoredCheckpoint>([&]() -> Result<StoredCheckpoint> {
    const auto mark = read_checkpoint(db_, seed_);
    if (!mark.ok()) return mark.error();
    return StoredCheckpoint{mark->seq, mark->facts, 0};
  });
}

Result<std::vector<StoredCheckpoint>> PostgresReader::past_checkpoints() {
  return in_picture<std::vector<StoredCheckpoint>>(
      [&] { return list_past_checkpoints(db_, seed_); });
}

std::optional<Error> PostgresReader::read_past_checkpoint(std::uint64_t seq, FactSink& sink) {
  const auto read = in_picture<bool>([&]() -> Result<bool> {
    auto error = postgres::read_past_checkpoint(db_, seed_, fact_version_, seq, sink);
    if (error) return *error;
    return true;
  });
  return read.ok() ? std::nullopt : std::optional(read.error());
}

Result<std::vector<Fact>> PostgresReader::facts(std::uint64_t after_seq, std::size_t most) {
  return in_picture<std::vector<Fact>>([&]() -> Result<std::vector<Fact>> {
    std::uint32_t anchor = seed_;
    if (after_seq > 0) {
      const PgResult row =
          db_.run("SELECT sum FROM facts WHERE seq = $1", Parameters().add(after_seq));
      if (!row.ok()) return db_.error("store.facts", row);
      if (row.rows() == 1) anchor = sum_of(row.number(0, 0));
    }
    std::vector<Fact> out;
    auto error =
        each_fact(after_seq, anchor, most, [&](Fact fact) { out.push_back(std::move(fact)); });
    if (error) return *error;
    return out;
  });
}

Result<std::uint64_t> PostgresReader::last_seq() {
  const auto head = read_head(db_, seed_);
  if (!head.ok()) return head.error();
  return head->facts;
}

Result<std::uint64_t> PostgresReader::last_seq_until(TimeMs t) {
  const Result<std::uint64_t> last = last_seq();
  if (!last.ok()) return last.error();
  return subak::last_seq_until(*last, t, [&](std::uint64_t seq) -> Result<TimeMs> {
    const PgResult row = db_.run("SELECT time_ms FROM facts WHERE seq = $1", Parameters().add(seq));
    if (!row.ok()) return db_.error("store.ledger", row);
    if (row.rows() == 0) return damaged("facts", seq, "missing");
    return row.number(0, 0);
  });
}

namespace {

// Returns the condition on the payers, which lets the database use its index; empty: there is none.
std::string only_payers(const LedgerQuery& query) {
  if (query.payers.empty() || query.payers.size() > limits::kMaxIndexedPayers) return "";
  std::string list;
  for (const AccountId payer : query.payers) list += std::to_string(payer.value) + ",";
  list += std::to_string(query.with_platform ? kPlatform.value : query.payers[0].value);
  return "AND payer IN (" + list + ") ";
}

}  // namespace

std::optional<Error> PostgresReader::each_entry(const LedgerQuery& query,
                                                const std::function<bool(LedgerEntry)>& fn) {
  const auto first = last_seq_until(query.from_ms);
  if (!first.ok()) return first.error();
  std::uint64_t after = std::max(*first, query.after_seq);
  const LedgerFilter filter(query);
  const std::string sql =
      std::string("SELECT ") + kLedgerColumns + " FROM ledger WHERE seq > $1 AND seq <= $2 " +
      (query.job ? "AND job = $4 " : "") + only_payers(query) + "ORDER BY seq LIMIT $3";
  while (true) {
    Parameters p;
    p.add(after).add(query.last_seq).add(static_cast<std::uint64_t>(limits::kDatabasePageRows));
    if (query.job) p.add(query.job->value);
    const PgResult rows = db_.run(sql.c_str(), p);
    if (!rows.ok()) return db_.error("store.ledger", rows);
    for (int i = 0; i < rows.rows(); ++i) {
      auto entry = ledger_entry(rows, i, seed_);
      if (!entry) return damaged("ledger", rows.unsigned_number(i, 0));
      after = entry->seq;
      if (filter.wants(entry->row) && !fn(*std::move(entry))) return std::nullopt;
    }
    if (static_cast<std::size_t>(rows.rows()) < limits::kDatabasePageRows) return std::nullopt;
  }
}

Result<std::vector<LedgerEntry>> PostgresReader::ledger(const LedgerQuery& query) {
  return in_picture<std::vector<LedgerEntry>>([&]() -> Result<std::vector<LedgerEntry>> {
    std::vector<LedgerEntry> out;
    if (query.most == 0) return out;
    auto error = each_entry(query, [&](LedgerEntry entry) {
      out.push_back(std::move(entry));
      return out.size() < query.most;
    });
    if (error) return *error;
    return out;
  });
}

Result<std::vector<DailyUsage>> PostgresReader::daily_usage(const LedgerQuery& query) {
  return in_picture<std::vector<DailyUsage>>([&]() -> Result<std::vector<DailyUsage>> {
    UsageReads reads;
    reads.sums = [&](std::int64_t from, std::int64_t to) {
      return read_day_sums(db_, seed_, from, to);
    };
    reads.last_until = [&](TimeMs t) { return last_seq_until(t); };
    reads.rows = [&](std::uint64_t after, std::uint64_t last,
                     const std::function<void(const LedgerRow&)>& fn) {
      LedgerQuery all;
      all.after_seq = after;
      all.last_seq = last;
      return each_entry(all, [&](const LedgerEntry& entry) {
        fn(entry.row);
        return true;
      });
    };
    return read_usage(query, reads);
  });
}

Result<DaySums> PostgresReader::day_sums(std::int64_t from_day, std::int64_t to_day) {
  return in_picture<DaySums>([&] { return read_day_sums(db_, seed_, from_day, to_day); });
}

Result<std::vector<AuditEntry>> PostgresReader::audit(const AuditQuery& query) {
  return in_picture<std::vector<AuditEntry>>([&]() -> Result<std::vector<AuditEntry>> {
    std::vector<AuditEntry> out;
    std::uint64_t before = query.before_seq;
    const std::string sql = std::string("SELECT ") + kAuditColumns +
                            " FROM audit WHERE seq < $1 ORDER BY seq DESC LIMIT $2";
    while (out.size() < query.most) {
      const PgResult rows = db_.run(
          sql.c_str(),
          Parameters().add(before).add(static_cast<std::uint64_t>(limits::kDatabasePageRows)));
      if (!rows.ok()) return db_.error("store.audit", rows);
      for (int i = 0; i < rows.rows() && out.size() < query.most; ++i) {
        auto row = audit_entry(rows, i, seed_);
        if (!row) return damaged("audit", rows.unsigned_number(i, 0));
        before = row->entry.seq;
        if (row->entry.time_ms < query.from_ms) return out;  // time never falls
        if (wants(query, row->entry)) out.push_back(std::move(row->entry));
      }
      if (static_cast<std::size_t>(rows.rows()) < limits::kDatabasePageRows) break;
    }
    return out;
  });
}

}  // namespace subak::postgres
