// Writes one batch of facts into an open transaction of a SQLite store. It writes the facts, their
// rows in ledger and audit log, and the head. Private to the store.
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

// It does not check the order: the store must give the facts in order, without a gap.
class FactWriter {
 public:
  // Prepares the statements. Call it once, before the first batch. `seed`: start of the checksums.
  // `db` outlives the writer. False: it failed, see db.error().
  bool prepare(Connection& db, std::uint32_t seed);
  // Begins a batch, and clears refused().
  void begin() { refused_.reset(); }
  // Adds the fact, and its row in ledger or audit log. `head` and `version` are the store's before
  // the fact, and on return those after it. `known_version`: the newest fact version that this
  // program knows.
  // It refuses a kind, field or value of a newer version than the store's, since the previous
  // program may open this store next. A Finalized fact raises `version`, up to known_version.
  // False: it failed, see refused() or the database's error. Then roll back the transaction, and do
  // not use `head` and `version`.
  bool insert(const Fact& fact, std::uint32_t known_version, Head& head, std::uint32_t& version);
  // Replaces the row of the head.
  // False: it failed, see the database's error.
  bool write(const Head& head) { return head_.write(head); }
  // Sets why the batch is refused.
  void refuse(Error error) { refused_ = std::move(error); }
  // Returns why the batch since begin() is refused; nullopt: it is not refused.
  const std::optional<Error>& refused() const { return refused_; }
  // Returns the number of the fact whose audit row was altered after it was written, if insert()
  // failed because of that.
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
