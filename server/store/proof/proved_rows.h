// Reads rows and checks that each has its checksum and that none is missing. The caller must hold a
// ReadTransaction, so that head and rows are of the same commit. Private to server/store.
// All four readers have the same use. Call find() first, then next() for each row. An error of
// find() is that of the statement or of the head. `db` outlives the reader. Damage is a
// says_damage() error that names table and row.
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
  // The snapshot is that of the first read (a deferred transaction). A connection may have only one
  // at a time.
  explicit ReadTransaction(Connection& db) : db_(db), ok_(db.exec("BEGIN")) {}
  ~ReadTransaction() {
    if (ok_) db_.exec("COMMIT");
  }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;
  // False: BEGIN failed, see Connection::error(). The reads would then not be of one snapshot.
  bool ok() const { return ok_; }

 private:
  Connection& db_;
  bool ok_;
};

// Reads facts in order. When next() has returned false, error() says whether that was the end.
class FactRows {
 public:
  FactRows(Connection& db, std::uint32_t seed) : db_(db), seed_(seed) {}
  // Finds the facts after number `after`, at most `most`. Their checksums continue from `anchor`.
  // Without `anchor`, they continue from the row of `after`.
  // `anchor`: CheckpointMark::anchor. If there are more than `most` facts, the end is not compared
  // with the head.
  std::optional<Error> find(std::uint64_t after, std::optional<std::uint32_t> anchor,
                            std::uint64_t most);
  // True: row() is the next fact. False: there is no further fact, or error() is set.
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
  // Stores the error. Always returns false.
  bool fail(Error error);
  // Compares the end with the head, once. Always returns false, since there is no further row.
  bool at_end();

  Connection& db_;
  std::uint32_t seed_;
  Head head_;
  Statement rows_;
  // `last_`: the last fact read. `left_`: how many rows may still be read.
  std::uint64_t last_ = 0, left_ = 0;
  std::uint32_t sum_ = 0;
  // True: the end was compared with the head.
  bool ended_ = false;
  std::optional<Error> error_;
};

// Reads all rows of the ledger after `after`, in order.
// The column ord must rise by one from row to row, up to the head's count.
// So a removed row is detected.
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

// Reads all rows of the audit log below `before`, newest first.
// The column ord must fall by one from row to row, down to 1.
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

// Reads the rows of the checkpoint in use, in order.
// A wrong, missing or extra row is damage of only the checkpoint, which can be rebuilt from the
// facts (damaged_checkpoint()). If mark.seq is 0, there are no rows.
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
  // `ord_`: the number of rows read. `sum_`: the chained checksum of the last row.
  std::uint64_t ord_ = 0;
  std::uint32_t sum_ = 0;
  std::optional<Error> error_;
};

}  // namespace subak
