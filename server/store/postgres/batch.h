// A batch of facts, as the parameters of the one SQL statement that makes the facts durable.
// Threads: values.
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
  // The subject and the state after the edit, as in its audit row.
  std::string subject, after;
};
using LastEdits = std::map<std::string, LastEdit>;

// Returns the things (AuditRow::thing) that these facts edit, if their last edit must be known.
// Each thing occurs once, sorted.
std::vector<std::string> edited_things(std::span<const Fact> facts);

// The position of a store before or after a batch.
// In a store without facts, head.facts_sum is the seed.
struct Position {
  // The last fact, and the number of rows in ledger and audit log.
  Head head;
  // The fact version of the store.
  std::uint32_t version = 1;
};

// One batch. It has copies of all values, so that the same batch can be sent
// again after a lost answer.
class Batch {
 public:
  // Makes the batch. It refuses a fact that no start could read again, or of a newer version than
  // the store's. An error names "store.fact N FIELD".
  // `facts` have consecutive numbers and follow `before` without a gap. `seed`: start of the
  // checksums. `known`: the newest fact version that this program knows. `last`: the last edit of
  // each of edited_things(), if there was one.
  static Result<Batch> make(std::span<const Fact> facts, const Position& before, std::uint32_t seed,
                            std::uint32_t known, LastEdits last);

  // The position once the batch is durable.
  const Position& after() const { return after_; }
  // Returns the parameters of kSql. The statement returns one row if it was done. If it returns no
  // row, another process leads.
  // `epoch`: the epoch in which this process leads. If the statement stores fewer rows than it was
  // given, it rolls back.
  Parameters parameters(std::int64_t epoch) const;
  static const std::string kSql;

 private:
  // The number of number columns in the ledger, and of text columns in the audit log.
  static constexpr std::size_t kLedgerNumbers = 15, kAuditTexts = 9;

  // Adds a ledger row with the next ordinal and its checksum.
  void add_ledger(const LedgerEntry& entry, std::uint32_t seed);
  // As add_ledger(), for a row of the audit log.
  void add_audit(const AuditRow& row, std::uint32_t seed);

  Position after_;
  // Columns of the facts. `ledger_` and `audit_`: the number of ledger rows and audit rows after
  // the fact.
  std::vector<std::int64_t> seq_, time_ms_, kind_, ledger_, audit_, sum_;
  std::vector<std::string> body_;
  // All columns of the ledger except the product, in the order of kSql.
  std::array<std::vector<std::int64_t>, kLedgerNumbers> ledger_numbers_;
  // The text column of the ledger.
  std::vector<std::string> product_;
  // Columns of the audit log that are numbers.
  std::vector<std::int64_t> audit_seq_, audit_time_ms_, audit_ord_, audit_sum_;
  // The text columns of the audit log, in the order of audit_texts().
  std::array<std::vector<std::string>, kAuditTexts> audit_texts_;
};

}  // namespace subak::postgres
