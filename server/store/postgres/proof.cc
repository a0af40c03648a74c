#include "server/store/postgres/proof.h"

#include <utility>

#include "core/limits.h"
#include "server/codec/codec.h"
#include "server/log/log.h"
#include "server/log/thread_name.h"
#include "server/store/file/row_sum.h"
#include "server/store/postgres/rows.h"
#include "server/store/proof/audit_rows.h"
#include "server/store/proof/head.h"

namespace subak::postgres {
namespace {

class Prover {
 public:
  Prover(PgConnection& db, std::uint32_t seed, std::uint32_t fact_version,
         const std::function<bool()>& wanted)
      : db_(db), seed_(seed), fact_version_(fact_version), wanted_(wanted) {}

  std::optional<Error> run() {
    const auto head = read_head(db_, seed_);
    if (!head.ok()) return head.error();
    head_ = *head;
    const auto mark = read_checkpoint(db_, seed_);
    if (!mark.ok()) return mark.error();
    mark_ = *mark;
    if (auto error = facts()) return error;
    if (auto error = ledger()) return error;
    return audit();
  }

 private:
  // Reads the columns of a table's rows up to the head, in order, a page at a time: fn(rows, row).
  template <class Fn>
  std::optional<Error> each_row(const std::string& table, const std::string& columns, Fn&& fn) {
    const std::string sql = "SELECT " + columns + " FROM " + table +
                            " WHERE seq > $1 AND seq <= $2 ORDER BY seq LIMIT $3";
    const auto page = static_cast<std::uint64_t>(limits::kDatabasePageRows);
    for (std::uint64_t after = 0;;) {
      if (!wanted_())
        return Error{ErrorCode::kPrecondition, "store", "the check was stopped before its end", ""};
      const PgResult rows =
          db_.run(sql.c_str(), Parameters().add(after).add(head_.facts).add(page));
      if (!rows.ok()) return db_.error("store." + table, rows);
      for (int i = 0; i < rows.rows(); ++i) {
        if (auto error = fn(rows, i)) return error;
        after = rows.unsigned_number(i, 0);
      }
      if (static_cast<std::uint64_t>(rows.rows()) < page) return std::nullopt;
    }
  }

  std::optional<Error> facts() {
    std::uint32_t sum = seed_;
    bool fits = mark_.seq == 0;
    Head seen{0, seed_, 0, 0};
    auto error =
        each_row("facts", "seq, time_ms, kind, body, sum, ledger, audit",
                 [&](const PgResult& rows, int i) -> std::optional<Error> {
                   const std::uint64_t seq = rows.unsigned_number(i, 0);
                   if (seq != seen.facts + 1) return damaged("facts", seen.facts + 1, "missing");
                   const auto kind = static_cast<std::uint32_t>(rows.number(i, 2));
                   sum = fact_sum(sum, seq, rows.number(i, 1), kind, rows.bytes(i, 3));
                   if (sum != sum_of(rows.number(i, 4))) return damaged("facts", seq);
                   const auto body = codec::decode(kind, rows.bytes(i, 3), fact_version_);
                   if (!body.ok())
                     return damaged("facts", seq, "not readable: " + body.error().message());
                   seen.facts = seq;
                   seen.ledger += std::holds_alternative<fact::Charged>(*body) ? 1 : 0;
                   seen.audit += audit_row(*body) ? 1 : 0;
                   const bool counted = rows.unsigned_number(i, 5) == seen.ledger &&
                                        rows.unsigned_number(i, 6) == seen.audit;
                   if (!counted)
                     return damaged("facts", seq, "altered: its counts of rows are not right");
                   fits = fits || (seq == mark_.seq && sum == mark_.anchor);
                   return std::nullopt;
                 });
    if (error) return error;
    if (seen.facts != head_.facts) return damaged("facts", seen.facts + 1, "missing");
    return fits ? std::nullopt : std::optional(misfit(mark_));
  }

  std::optional<Error> ledger() {
    std::uint64_t rows_seen = 0;
    auto error = each_row("ledger", kLedgerColumns,
                          [&](const PgResult& rows, int i) -> std::optional<Error> {
                            const std::uint64_t seq = rows.unsigned_number(i, 0);
                            if (!ledger_entry(rows, i, seed_)) return damaged("ledger", seq);
                            return next("ledger", rows.unsigned_number(i, kLedgerOrd), rows_seen);
                          });
    if (error) return error;
    return count("ledger", rows_seen, head_.ledger);
  }

  std::optional<Error> audit() {
    std::uint64_t rows_seen = 0;
    auto error =
        each_row("audit", kAuditColumns, [&](const PgResult& rows, int i) -> std::optional<Error> {
          const std::uint64_t seq = rows.unsigned_number(i, 0);
          if (!audit_entry(rows, i, seed_)) return damaged("audit", seq);
          return next("audit", rows.unsigned_number(i, kAuditOrd), rows_seen);
        });
    if (error) return error;
    return count("audit", rows_seen, head_.audit);
  }

  static std::optional<Error> next(const char* table, std::uint64_t ord, std::uint64_t& seen) {
    if (ord == ++seen) return std::nullopt;
    return damaged(table, seen, "missing, counted from 1 in order of seq");
  }
  std::optional<Error> count(const std::string& table, std::uint64_t seen, std::uint64_t want) {
    if (seen != want) return damaged(table, seen + 1, "missing, counted from 1 in order of seq");
    // A row behind the last fact belongs to no batch.
    const PgResult last = db_.run(("SELECT coalesce(max(seq), 0) FROM " + table +
                                   " WHERE seq > (SELECT coalesce(max(seq), 0) FROM facts)")
                                      .c_str());
    if (!last.ok()) return db_.error("store." + table, last);
    const std::uint64_t beyond = last.rows() == 1 ? last.unsigned_number(0, 0) : 0;
    if (beyond == 0) return std::nullopt;
    return damaged(table, beyond, "of no fact: facts are missing");
  }

  static constexpr int kLedgerOrd = 14, kAuditOrd = 11;
  PgConnection& db_;
  const std::uint32_t seed_, fact_version_;
  const std::function<bool()>& wanted_;
  Head head_;
  Checkpoint mark_;
};

}  // namespace

std::optional<Error> prove_rows(PgConnection& db, std::uint32_t seed, std::uint32_t fact_version,
                                const std::function<bool()>& wanted) {
  return Prover(db, seed, fact_version, wanted).run();
}

Proof::~Proof() {
  stopping_ = true;
  wait();
}

void Proof::wait() {
  if (thread_.joinable()) thread_.join();
}

void Proof::start(const Address& address, std::uint32_t seed, std::uint32_t fact_version) {
  if (thread_.joinable()) return;
  thread_ = std::thread([this, address, seed, fact_version] {
    name_thread("check");
    PgConnection db;
    auto error = db.open(address);
    if (error) return log::warn("store not checked", {{"error", error->message()}});
    error = prove_rows(db, seed, fact_version, [this] { return !stopping_; });
    if (stopping_) return;
    const bool away = error && error->want == kWantServer;
    if (away) return log::warn("store not checked", {{"error", error->message()}});
    if (error) return log::error("the store is damaged", {{"error", error->message()}});
    log::info("store checked", {{"store", address.shown}});
  });
}

}  // namespace subak::postgres
