// Writes one batch of facts into an open transaction of a SQLite store: the facts, their rows in
// the ledger and the audit log, and the head. Private to the store.
//
// FactWriter uses the store's connection while the transaction is open. Threads: only the thread of
// the commits.
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

// FactWriter does not check the order of the facts: the store must pass the facts in order, without
// a gap.
class FactWriter {
 public:
  // Prepares the statements. Call it once, before the first batch. `seed`: the start of the
  // checksums. `db` must outlive the writer. False: the call failed, see db.error().
  bool prepare(Connection& db, std::uint32_t seed);
  // Begins a batch, and clears refused().
  void begin() { refused_.reset(); }
  // Adds the fact, and its row in the ledger or the audit log. `head` and `version`: the head and
  // the fact version of the store before the fact; the function sets them to those after the fact.
  // `known_version`: the newest fact version that this program knows. It refuses a kind, field or
  // value that is newer than the version of the store, since an older program may open this store
  // next. A fact Finalized raises `version`, up to `known_version`. False: the call failed, see
  // refused() or the error of the connection. The caller must then roll back the transaction, and
  // must not use `head` and `version`.
  bool insert(const Fact& fact, std::uint32_t known_version, Head& head, std::uint32_t& version);
  // Replaces the row of the head. False: the call failed, see the error of the connection.
  bool write(const Head& head) { return head_.write(head); }
  // Records why the batch is refused.
  void refuse(Error error) { refused_ = std::move(error); }
  // Returns why the present batch is refused; nullopt: it is not refused.
  const std::optional<Error>& refused() const { return refused_; }
  // If insert() failed because it found an audit row that was altered after it was written, returns
  // the number of the fact of that row. nullopt: that was not the cause.
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
