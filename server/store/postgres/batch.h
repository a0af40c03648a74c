// A batch of facts as the one statement that makes them durable. Threads: values.
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

// The state that the last edit of a thing left (server/store/proof/audit_rows.h), by thing.
struct LastEdit {
  // As in the row of the audit log of that edit.
  std::string subject, after;
};
using LastEdits = std::map<std::string, LastEdit>;

// Returns the things that these facts edit and whose last edit must be known, each once.
// Sorted. Facts that are no edit have none.
std::vector<std::string> edited_things(std::span<const Fact> facts);

// The position of a store before or after a batch.
// A store without facts has facts_sum = seed.
struct Position {
  // The last fact, and the numbers of rows of ledger and audit log.
  Head head;
  // The version of the facts.
  std::uint32_t version = 1;
};

// Holds copies of all values, so that the same batch can be sent again after a lost answer.
class Batch {
 public:
  // Makes the batch. `seed`: start of the checksums. `known`: the newest fact version that this
  // program knows. Refuses a fact that no start could read again, or of a version that the store
  // was not finalized to.
  // `facts` follow `before` without a gap and have consecutive numbers. `last`: for each of
  // edited_things(), if it was edited before. An error names "store.fact N FIELD".
  static Result<Batch> make(std::span<const Fact> facts, const Position& before, std::uint32_t seed,
                            std::uint32_t known, LastEdits last);

  // The position once the batch is durable.
  const Position& after() const { return after_; }
  // Returns the parameters of kSql. The statement's one row says that it was done; no row: another
  // process leads.
  // `epoch`: of this process's lead. The statement rolls back if fewer rows were stored than given.
  Parameters parameters(std::int64_t epoch) const;
  static const std::string kSql;

 private:
  // Columns of the ledger that are numbers, and columns of the audit log that are texts.
  static constexpr std::size_t kLedgerNumbers = 15, kAuditTexts = 9;

  // Adds a row with the next ordinal and its checksum.
  void add_ledger(const LedgerEntry& entry, std::uint32_t seed);
  // As add_ledger(), for a row of the audit log.
  void add_audit(const AuditRow& row, std::uint32_t seed);

  Position after_;
  // Columns of the facts. `ledger_` and `audit_`: the numbers of those rows after the fact.
  std::vector<std::int64_t> seq_, time_ms_, kind_, ledger_, audit_, sum_;
  std::vector<std::string> body_;
  // All columns of the ledger but the product, in the order of kSql.
  std::array<std::vector<std::int64_t>, kLedgerNumbers> ledger_numbers_;
  // The column of the ledger that is text.
  std::vector<std::string> product_;
  // Columns of the audit log that are numbers.
  std::vector<std::int64_t> audit_seq_, audit_time_ms_, audit_ord_, audit_sum_;
  // In the order of audit_texts().
  std::array<std::vector<std::string>, kAuditTexts> audit_texts_;
};

}  // namespace subak::postgres
