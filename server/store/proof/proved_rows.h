// Four readers of the store's tables: facts, ledger, audit log and checkpoint. Each reader checks
// that every row has the right checksum, and that no row is missing. Private to server/store.
//
// All four are used in the same way:
//   1. Begin a ReadTransaction, so that the rows and the head (head.h) are of one commit.
//   2. Call find(). It returns an error if the statement fails or the head cannot be read.
//   3. Call next() for each row, until it returns false.
//   4. Look at error(). If it is not set, all rows were read.
// If a row is damaged or missing, error() names the table and the row, and says_damage() is true
// for it (server/store/file/refusals.h).
//
// A chained checksum continues that of the row before, so it also shows a missing row. Each
// constructor gets `db`, which must outlive the reader, and `seed`, the result of read_seed().
// Threads: those that may use the connection.
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
  // The snapshot is the state at the first read (a deferred transaction). A connection may have
  // only one ReadTransaction at a time.
  explicit ReadTransaction(Connection& db) : db_(db), ok_(db.exec("BEGIN")) {}
  ~ReadTransaction() {
    if (ok_) db_.exec("COMMIT");
  }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;
  // False: BEGIN failed, see Connection::error(). Reads would then not be of one snapshot.
  bool ok() const { return ok_; }

 private:
  Connection& db_;
  bool ok_;
};

// Reads facts in order.
class FactRows {
 public:
  FactRows(Connection& db, std::uint32_t seed) : db_(db), seed_(seed) {}
  // Finds the first `most` facts with a number above `after`. The checksum of a fact continues the
  // checksum of the fact before it. `anchor`: the checksum of the fact `after`, if that fact is no
  // longer in the store (CheckpointMark::anchor); nullopt: the reader reads it from the store. If
  // more than `most` facts follow, next() does not compare the last one with the head.
  std::optional<Error> find(std::uint64_t after, std::optional<std::uint32_t> anchor,
                            std::uint64_t most);
  // True: row() is the next fact. False: there is no further fact, or error() is set.
  bool next();
  const std::optional<Error>& error() const { return error_; }
  // The present row, which is valid until next(). Its columns are seq, time_ms, kind and body.
  const Statement& row() const { return rows_; }
  // The number of the present row.
  std::uint64_t seq() const { return last_; }
  // The checksum of the present row. The checksum of the next row continues from it.
  std::uint32_t sum() const { return sum_; }

 private:
  // Stores the error and returns false.
  bool fail(Error error);
  // Compares the last row with the head, once. Returns false, since there is no further row.
  bool at_end();

  Connection& db_;
  std::uint32_t seed_;
  Head head_;
  Statement rows_;
  // `last_`: the number of the last fact that was read. `left_`: how many rows may still be read.
  std::uint64_t last_ = 0, left_ = 0;
  std::uint32_t sum_ = 0;
  // True: the end was compared with the head.
  bool ended_ = false;
  std::optional<Error> error_;
};

// Reads ledger rows in order. The column ord must rise by one from row to row, up to the number of
// rows in the head. So a removed row is detected.
class LedgerRows {
 public:
  LedgerRows(Connection& db, std::uint32_t seed) : db_(db), seed_(seed) {}
  // Finds the rows of all facts with a number above `after`.
  std::optional<Error> find(std::uint64_t after);
  // False: there is no further row, or error() is set.
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

// Reads rows of the audit log, newest first. The column ord must fall by one from row to row, down
// to 1.
class AuditRows {
 public:
  AuditRows(Connection& db, std::uint32_t seed) : db_(db), seed_(seed) {}
  // Finds the rows of all facts with a number below `before`.
  std::optional<Error> find(std::uint64_t before);
  // False: there is no further row, or error() is set.
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

// Reads the rows of the checkpoint in use, in order. If a row is wrong, missing or extra, only the
// checkpoint is damaged, and error() is a damaged_checkpoint() error. Subak can make the checkpoint
// again from the facts.
class CheckpointRows {
 public:
  CheckpointRows(Connection& db, std::uint32_t seed) : db_(db), seed_(seed) {}
  // Finds the rows of the checkpoint `mark`. If mark.seq is 0, there are no rows.
  std::optional<Error> find(const CheckpointMark& mark);
  // False: there is no further row, or error() is set.
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
  // `ord_`: the number of rows that were read. `sum_`: the chained checksum of the last row.
  std::uint64_t ord_ = 0;
  std::uint32_t sum_ = 0;
  std::optional<Error> error_;
};

}  // namespace subak
