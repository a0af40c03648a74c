// Writes one batch of facts into an open transaction of a SQLite store: the facts, their rows of
// ledger and audit, and the head. Private to the store.
//
// Threads: that of the commits. It uses the store's connection while its transaction is open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"
#include "model/fact.h"
#include "server/store/file/connection.h"
#include "server/store/proof/audit_rows.h"
#include "server/store/proof/head.h"
#include "server/store/proof/ledger_rows.h"

namespace subak {

// It checks nothing of the order: the store gives facts in order, without a gap.
class FactWriter {
 public:
  // `seed`: start of the checksums. False: the database's error.
  // Once, before the first batch. `db` outlives the writer.
  bool prepare(Connection& db, std::uint32_t seed);
  // Begins a batch: forgets why the last one was refused.
  void begin() { refused_.reset(); }
  // Adds the fact and its row of ledger or audit. `head` and `version` are the store's up to here,
  // and on return those after the fact. `known_version`: the newest that this program knows. False:
  // refused(), else the database's error. A kind, field or value of a newer version than the
  // store's is refused: the previous program may open this store next.
  // A Finalized fact raises `version`, up to known_version. After false the transaction must be
  // rolled back, and `head` and `version` are not to be used.
  bool insert(const Fact& fact, std::uint32_t known_version, Head& head, std::uint32_t& version);
  // Replaces the row of the head.
  // False: the database's error.
  bool write(const Head& head) { return head_.write(head); }
  // Sets why the batch is refused.
  void refuse(Error error) { refused_ = std::move(error); }
  // Why the batch since begin() is refused; nullopt: it is not.
  const std::optional<Error>& refused() const { return refused_; }
  // The row of the audit log that is not what was written, if that made insert() fail.
  std::optional<std::uint64_t> damaged_audit() const { return audit_.damaged(); }

 private:
  Statement insert_;
  LedgerWriter ledger_;
  AuditWriter audit_;
  HeadWriter head_;
  std::string body_;  // of the row that is being written
  std::optional<Error> refused_;
};

}  // namespace subak
