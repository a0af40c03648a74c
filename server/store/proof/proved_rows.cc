#include "server/store/proof/proved_rows.h"

#include <algorithm>
#include <utility>

#include "server/store/file/row_sum.h"
#include "server/store/proof/checks.h"
#include "server/store/proof/ledger_rows.h"

namespace subak {
namespace {

Error missing_row(const Connection& db, std::string_view table, const std::string& which) {
  return damaged_store(db.path(),
                       "row " + which + " of table " + std::string(table) + " is missing");
}

std::string after(std::uint64_t count) { return "after the first " + std::to_string(count); }

}  // namespace

bool FactRows::fail(Error error) {
  error_ = std::move(error);
  return false;
}

std::optional<Error> FactRows::find(std::uint64_t after, std::optional<std::uint32_t> anchor,
                                    std::uint64_t most) {
  auto head = read_head(db_, seed_);
  if (!head.ok()) return head.error();
  head_ = *head;
  last_ = after;
  left_ = after < head_.facts ? std::min(most, head_.facts - after) : 0;
  sum_ = anchor.value_or(seed_);
  if (!anchor && after > 0 && after <= head_.facts) {
    Statement row;
    if (!row.prepare(db_, "SELECT sum FROM facts WHERE seq = ?")) {
      return unreadable_store(db_, db_.path());
    }
    row.bind(1, after);
    if (!row.step() && row.failed()) return unreadable_store(db_, db_.path());
    sum_ = sum_of(row.number(0));
  }
  if (!rows_.prepare(
          db_, "SELECT seq, time_ms, kind, body, sum FROM facts WHERE seq > ? ORDER BY seq")) {
    return unreadable_store(db_, db_.path());
  }
  rows_.bind(1, after);
  return std::nullopt;
}

// A head that is older than its rows has lost a write.
bool FactRows::at_end() {
  if (std::exchange(ended_, true) || last_ != head_.facts) return false;
  if (sum_ != head_.facts_sum) {
    return fail(damaged_row(db_.path(), "facts", std::to_string(last_)));
  }
  if (rows_.step()) {
    return fail(damaged_store(db_.path(), "row " + std::to_string(rows_.number(0)) +
                                              " of table facts is none that table head knows"));
  }
  return rows_.failed() ? fail(unreadable_store(db_, db_.path())) : false;
}

bool FactRows::next() {
  if (error_) return false;
  if (left_ == 0) return at_end();
  if (!rows_.step()) {
    if (rows_.failed()) return fail(unreadable_store(db_, db_.path()));
    return fail(missing_row(db_, "facts", std::to_string(last_ + 1)));
  }
  const std::uint64_t seq = rows_.unsigned_number(0);
  if (seq != last_ + 1) return fail(missing_row(db_, "facts", std::to_string(last_ + 1)));
  sum_ = fact_sum(sum_, seq, rows_.number(1), rows_.unsigned_number(2), rows_.blob(3));
  if (sum_ != sum_of(rows_.number(4))) {
    return fail(damaged_row(db_.path(), "facts", std::to_string(seq)));
  }
  last_ = seq;
  --left_;
  return true;
}

bool LedgerRows::fail(Error error) {
  error_ = std::move(error);
  return false;
}

std::optional<Error> LedgerRows::find(std::uint64_t after) {
  auto head = read_head(db_, seed_);
  if (!head.ok()) return head.error();
  head_ = *head;
  const std::string columns = "SELECT " + std::string(kLedgerColumns) + " FROM ledger ";
  Statement before;
  if (!before.prepare(db_, columns + "WHERE seq <= ? ORDER BY seq DESC LIMIT 1") ||
      !rows_.prepare(db_, columns + "WHERE seq > ? ORDER BY seq")) {
    return unreadable_store(db_, db_.path());
  }
  before.bind(1, after);
  rows_.bind(1, after);
  if (before.step()) {
    const auto entry = ledger_entry(before, seed_);
    if (!entry) return damaged_row(db_.path(), "ledger", std::to_string(before.number(0)));
    ord_ = ledger_ord(before);
  }
  if (before.failed()) return unreadable_store(db_, db_.path());
  return std::nullopt;
}

bool LedgerRows::next(LedgerEntry& entry) {
  if (error_) return false;
  if (!rows_.step()) {
    if (rows_.failed()) return fail(unreadable_store(db_, db_.path()));
    if (ord_ == head_.ledger) return false;
    return fail(missing_row(db_, "ledger", after(ord_)));
  }
  auto read = ledger_entry(rows_, seed_);
  if (!read) return fail(damaged_row(db_.path(), "ledger", std::to_string(rows_.number(0))));
  if (ledger_ord(rows_) != ord_ + 1) return fail(missing_row(db_, "ledger", after(ord_)));
  ++ord_;
  entry = std::move(*read);
  return true;
}

bool AuditRows::fail(Error error) {
  error_ = std::move(error);
  return false;
}

std::optional<Error> AuditRows::find(std::uint64_t before) {
  auto head = read_head(db_, seed_);
  if (!head.ok()) return head.error();
  ord_ = head->audit;
  const std::string columns = "SELECT " + std::string(kAuditColumns) + " FROM audit ";
  Statement above;
  if (!above.prepare(db_, columns + "WHERE seq >= ? ORDER BY seq LIMIT 1") ||
      !rows_.prepare(db_, columns + "WHERE seq < ? ORDER BY seq DESC")) {
    return unreadable_store(db_, db_.path());
  }
  above.bind(1, before);
  rows_.bind(1, before);
  if (above.step()) {
    if (!read_audit_row(above, seed_)) {
      return damaged_row(db_.path(), "audit", std::to_string(above.number(0)));
    }
    ord_ = audit_ord(above) - 1;
  }
  if (above.failed()) return unreadable_store(db_, db_.path());
  return std::nullopt;
}

bool AuditRows::next(AuditRow& row) {
  if (error_) return false;
  if (!rows_.step()) {
    if (rows_.failed()) return fail(unreadable_store(db_, db_.path()));
    return ord_ == 0 ? false : fail(missing_row(db_, "audit", after(ord_ - 1)));
  }
  auto read = read_audit_row(rows_, seed_);
  if (!read) return fail(damaged_row(db_.path(), "audit", std::to_string(rows_.number(0))));
  if (audit_ord(rows_) != ord_) return fail(missing_row(db_, "audit", after(ord_ - 1)));
  --ord_;
  row = std::move(*read);
  return true;
}

bool CheckpointRows::fail(std::string got) {
  error_ = damaged_checkpoint(db_.path(), std::move(got));
  return false;
}

std::optional<Error> CheckpointRows::find(const CheckpointMark& mark) {
  mark_ = mark;
  sum_ = seed_;
  if (!rows_.prepare(db_,
                     "SELECT 0, time_ms, kind, body, ord, sum FROM checkpoint WHERE seq = ? "
                     "ORDER BY ord")) {
    return unreadable_store(db_, db_.path());
  }
  rows_.bind(1, mark.seq);
  return std::nullopt;
}

bool CheckpointRows::next() {
  if (error_ || mark_.seq == 0) return false;
  if (!rows_.step()) {
    const Error read = rows_.failed() ? unreadable_store(db_, db_.path()) : Error{};
    if (rows_.failed() && !says_damage(read)) return error_ = read, false;
    if (rows_.failed()) return fail(read.got + " after " + std::to_string(ord_) + " rows");
    if (ord_ == mark_.facts && sum_ == mark_.sum) return false;
    return fail(std::to_string(ord_) + " of " + std::to_string(mark_.facts) + " rows");
  }
  const std::uint64_t ord = rows_.unsigned_number(4);
  if (ord != ord_) return fail("row " + std::to_string(ord_) + " is missing");
  sum_ = fact_sum(sum_, ord, rows_.number(1), rows_.unsigned_number(2), rows_.blob(3));
  if (sum_ != sum_of(rows_.number(5))) {
    return fail("row " + std::to_string(ord) + " is not what was written: its checksum differs");
  }
  ++ord_;
  return true;
}

}  // namespace subak
