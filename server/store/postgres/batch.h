// Converts a batch of facts to the parameters of one SQL statement, which makes the facts durable.
// Private to the PostgreSQL store. Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "model/fact.h"
#include "server/store/postgres/database/pg_connection.h"
#include "server/store/proof/audit_rows.h"
#include "server/store/proof/head.h"

namespace subak::postgres {

// The state of an object after its last edit (AuditRow::thing in server/store/proof/audit_rows.h).
struct LastEdit {
  // The subject, and the state after the edit, as in the audit row of the edit.
  std::string subject, after;
};
using LastEdits = std::map<std::string, LastEdit>;

// Returns the objects (AuditRow::thing) that these facts edit; Batch::make() needs the last edit of
// each of them. The result is sorted, and each object occurs once.
std::vector<std::string> edited_things(std::span<const Fact> facts);

// The position of a store before or after a batch. If the store has no facts, head.facts_sum is the
// seed.
struct Position {
  // The last fact, and the numbers of rows in the ledger and the audit log.
  Head head;
  // The fact version of the store.
  std::uint32_t version = 1;
};

// One batch. A Batch has copies of all values, so that the same batch can be sent again if an
// answer was lost.
class Batch {
 public:
  // Makes the batch. It refuses a fact that no program could read again, or that has a newer
  // version than the store. The field of an error is "store.fact N FIELD". `facts`: they have
  // consecutive numbers and follow `before` without a gap. `seed`: the start of the checksums.
  // `known`: the newest fact version that this program knows. `last`: for each of edited_things()
  // that was edited before, its last edit.
  static Result<Batch> make(std::span<const Fact> facts, const Position& before, std::uint32_t seed,
                            std::uint32_t known, LastEdits last);

  // Returns the position of the store when the batch is durable.
  const Position& after() const { return after_; }
  // Returns the parameters for the statement kSql.
  // `epoch`: the epoch in which this process leads. The statement returns one row if it has stored
  // the batch. If it returns no row, another process leads. If the statement could store only some
  // of the rows, it rolls back.
  Parameters parameters(std::int64_t epoch) const;
  static const std::string kSql;

 private:
  // The numbers of number columns and text columns in the ledger, and of text columns in the audit
  // log.
  static constexpr std::size_t kLedgerNumbers = 16, kLedgerTexts = 4, kAuditTexts = 9;

  // Adds a row of the ledger, with the next number and the row's checksum.
  void add_ledger(const LedgerEntry& entry, std::uint32_t seed);
  // Works as add_ledger(), for a row of the audit log.
  void add_audit(const AuditRow& row, std::uint32_t seed);

  Position after_;
  // The columns of the facts. `ledger_` and `audit_`: the numbers of ledger rows and audit rows
  // that the store has after each fact.
  std::vector<std::int64_t> seq_, time_ms_, kind_, ledger_, audit_, sum_;
  std::vector<std::string> body_;
  // The number columns of the ledger, in the order of the table. The last one is booked_ms.
  std::array<std::vector<std::int64_t>, kLedgerNumbers> ledger_numbers_;
  // The text columns of the ledger: product, cluster, namespace and profile.
  std::array<std::vector<std::string>, kLedgerTexts> ledger_texts_;
  // The number columns of the audit log.
  std::vector<std::int64_t> audit_seq_, audit_time_ms_, audit_ord_, audit_sum_;
  // The text columns of the audit log, in the order of audit_texts().
  std::array<std::vector<std::string>, kAuditTexts> audit_texts_;
};

}  // namespace subak::postgres
