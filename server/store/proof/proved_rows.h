// Reads rows with proof: each has its checksum, and none is missing. The reader holds a transaction
// (ReadTransaction), so that the head belongs to the rows. Private to server/store.
// All four readers work alike. find() comes first, and its error is that of the statement or of the
// head. Then next() returns the rows. `db` outlives the reader. Damage is a says_damage() error
// that names table and row.
#pragma once

#include <cstdint>
#include <optional>

#include "core/error.h"
#include "server/runtime/ports.h"
#include "server/store/file/connection.h"
#include "server/store/proof/audit_rows.h"
#include "server/store/proof/head.h"

namespace subak {

// One consistent snapshot for several statements.
class ReadTransaction {
 public:
  // Deferred: the snapshot is that of the first read. Only one at a time per connection.
  explicit ReadTransaction(Connection& db) : db_(db), ok_(db.exec("BEGIN")) {}
  ~ReadTransaction() {
    if (ok_) db_.exec("COMMIT");
  }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;
  // False: ask the connection; the reads would not be of one snapshot.
  bool ok() const { return ok_; }

 private:
  Connection& db_;
  bool ok_;
};

// Facts in order. After next() returned false, error() tells whether that was the end.
class FactRows {
 public:
  FactRows(Connection& db, std::uint32_t seed) : db_(db), seed_(seed) {}
  // Finds the facts after `after`, at most `most`. Their checksums continue from `anchor`; without
  // it, from the row of `after`.
  // `anchor`: of CheckpointMark. `most` cut short, the end is not compared with the head.
  std::optional<Error> find(std::uint64_t after, std::optional<std::uint32_t> anchor,
                            std::uint64_t most);
  // True: row() is the next fact. False: the end, or error().
  bool next();
  const std::optional<Error>& error() const { return error_; }
  // Columns of the present row, valid until next().
  // The columns are seq, time_ms, kind and body.
  const Statement& row() const { return rows_; }
  // The number of the present row.
  std::uint64_t seq() const { return last_; }
  // The checksum of the present row, from which the next one continues.
  std::uint32_t sum() const { return sum_; }

 private:
  // Notes the error. Always false.
  bool fail(Error error);
  // Compares with the head, once. Always false: there is no further row.
  bool at_end();

  Connection& db_;
  std::uint32_t seed_;
  Head head_;
  Statement rows_;
  // The last fact read, and the rows that may still be read.
  std::uint64_t last_ = 0, left_ = 0;
  std::uint32_t sum_ = 0;
  // The end was compared with the head.
  bool ended_ = false;
  std::optional<Error> error_;
};

// All rows of the ledger after `after`, in order.
// `ord` of the rows must rise by one, up to the head's count. So a row that was removed is noticed.
class LedgerRows {
 public:
  LedgerRows(Connection& db, std::uint32_t seed) : db_(db), seed_(seed) {}
  std::optional<Error> find(std::uint64_t after);
  // False: the end, or error().
  bool next(LedgerEntry& entry);
  const std::optional<Error>& error() const { return error_; }

 private:
  bool fail(Error error);

  Connection& db_;
  std::uint32_t seed_;
  Head head_;
  Statement rows_;
  // The number of the last row.
  std::uint64_t ord_ = 0;
  std::optional<Error> error_;
};

// All rows of the audit log below `before`, newest first.
// `ord` of the rows must fall by one, down to 1.
class AuditRows {
 public:
  AuditRows(Connection& db, std::uint32_t seed) : db_(db), seed_(seed) {}
  std::optional<Error> find(std::uint64_t before);
  // False: the end, or error().
  bool next(AuditRow& row);
  const std::optional<Error>& error() const { return error_; }

 private:
  bool fail(Error error);

  Connection& db_;
  std::uint32_t seed_;
  Statement rows_;
  // The number of the next row.
  std::uint64_t ord_ = 0;
  std::optional<Error> error_;
};

// The rows of the checkpoint in use, in order.
// A wrong, missing or extra row is damage of the checkpoint alone: the facts can replace it
// (damaged_checkpoint()). With mark.seq 0 there are no rows.
class CheckpointRows {
 public:
  CheckpointRows(Connection& db, std::uint32_t seed) : db_(db), seed_(seed) {}
  std::optional<Error> find(const CheckpointMark& mark);
  // False: the end, or error().
  bool next();
  const std::optional<Error>& error() const { return error_; }
  // The columns are 0, time_ms, kind and body.
  const Statement& row() const { return rows_; }

 private:
  bool fail(std::string got);

  Connection& db_;
  std::uint32_t seed_;
  CheckpointMark mark_;
  Statement rows_;
  // Rows read, and the chained checksum of the last one.
  std::uint64_t ord_ = 0;
  std::uint32_t sum_ = 0;
  std::optional<Error> error_;
};

}  // namespace subak
