// The SQLite store's implementation for writes. Other code uses
// open_sqlite_store() (sqlite_store.h).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "server/codec/packed_facts.h"
#include "server/runtime/ports.h"
#include "server/store/file/calibration_file.h"
#include "server/store/file/connection.h"
#include "server/store/file/store_lock.h"
#include "server/store/file/wal_copier.h"
#include "server/store/file/write_gate.h"
#include "server/store/proof/file_watch.h"
#include "server/store/proof/full_check.h"
#include "server/store/proof/head.h"
#include "server/store/sqlite/fact_writer.h"
#include "server/store/sqlite/sqlite_store.h"

namespace subak {

// make_copy() writes to the store's path with this suffix.
inline constexpr char kCopySuffix[] = ".copy";

// Call open() first. After it, one thread commits. Checkpoints, copies and readers may run
// meanwhile, each on its own thread. Write transactions take turns by `gate_`.
class SqliteStore final : public Store {
 public:
  // `path`: a real_path().
  SqliteStore(std::string path, std::uint32_t known_version, StoreLock lock)
      : path_(std::move(path)), known_version_(known_version), lock_(std::move(lock)) {}
  // Copies the log into the file, if no other connection is open, and writes the StoreMark into the
  // lock file.
  ~SqliteStore() override;
  // Checks the store, migrates it and prepares the statements. Call it first.
  // check_files() (sqlite_open.cc) must have checked the file before. After an error, finished
  // migrations stay, and the log is not copied into the file.
  std::optional<Error> open(const SqliteOptions& options);

  // Commits a batch with one sync (WAL with synchronous=FULL). The facts are durable on return.
  // After an error the store has no part of the batch. Asserts that the facts follow the last one.
  std::optional<Error> commit(std::span<const Fact> facts) override;
  // Checks, without a transaction, that no other file has got the name of the store or of its log.
  std::optional<Error> check_owned() override { return lock_.check(); }
  // Writes the checkpoint in chunks of limits::kCheckpointChunkFacts. Each chunk is a transaction,
  // so that commits can run between them. Does nothing if this checkpoint is in use already.
  std::optional<Error> write_checkpoint(std::uint64_t seq, const PackedFacts& facts) override;
  std::optional<Error> write_calibration(std::string_view bytes) override {
    return write_calibration_file(path_ + kCalibrationSuffix, seed_, bytes);
  }
  Result<std::string> read_calibration() override {
    return read_calibration_file(path_ + kCalibrationSuffix, seed_);
  }
  Result<std::unique_ptr<StoreReader>> open_reader() override;
  Result<std::string> make_copy(const std::function<bool()>& wanted) override;
  std::string describe() const override { return "sqlite " + path_; }

 private:
  // Writes the application id into a new file, and checks it in an old one.
  std::optional<Error> take_ownership();
  // Makes the checks before use. `content`: also reads all rows, if the file is small
  // (limits::kQuickCheckBytes).
  std::optional<Error> check(bool content);
  // Writes the first rows of a new store.
  std::optional<Error> found(const std::string& uuid);
  // Refuses a store with fewer facts than the lock file's note says.
  std::optional<Error> check_mark() const;
  // Reads seed, head and checkpoint, checks them against the lock file, and prepares the
  // statements. `wal_pages`: for WalCopier.
  std::optional<Error> prepare(int wal_pages);
  // Stores the new fact version, within the transaction of the commit that finalizes.
  bool set_version(std::uint32_t version);
  // Writes the StoreMark into the lock file, without a sync.
  void note_durable() const;
  // Checks that the batch changed `wanted` rows. False:
  // the number differs, and the batch is refused.
  bool stored(std::uint64_t wanted, std::int64_t rows_before);
  // Returns the error of a failed commit: damage of the audit log, or SQLite's error.
  Error commit_error() const;
  // Inserts a row of a checkpoint. `sum`: the checksum of the previous row, and on return that of
  // this row.
  bool insert_kept(std::uint64_t seq, std::size_t ord, const PackedFacts::Row& row,
                   std::uint32_t& sum);
  // Refuses a checkpoint with facts of a newer version than the store's.
  std::optional<Error> check_needs(const PackedFacts& facts);
  // Writes the rows [from, to) in one transaction. `sum` as in insert_kept().
  std::optional<Error> write_chunk(std::uint64_t seq, PackedFacts::Cursor& facts, std::size_t from,
                                   std::size_t to, std::uint32_t& sum);
  // Returns the stored checksum of a fact's row.
  Result<std::uint32_t> sum_of_fact(std::uint64_t seq);
  // Puts the checkpoint in use, in one transaction.
  std::optional<Error> use_checkpoint(const CheckpointMark& mark);
  // Deletes the rows of all other checkpoints, chunk by chunk.
  std::optional<Error> drop_checkpoints_except(std::uint64_t seq);

  const std::string path_;
  const std::uint32_t known_version_;
  // The lock must outlive the connections.
  StoreLock lock_;
  // A thread may use db_ and the statements only while it holds this gate.
  WriteGate gate_;
  Connection db_;
  struct Transaction {
    Statement begin, commit, rollback;
  };
  Transaction transaction_;
  FactWriter facts_;
  // The start of the checksums.
  std::uint32_t seed_ = 0;
  // The head as of the last commit.
  Head head_;
  // True: prepare() has read the store, so note_durable() may write.
  bool opened_ = false;
  struct Checkpoint {
    // The last fact of the checkpoint in use; 0: there is none.
    std::uint64_t seq = 0;
    Statement insert, drop;
  };
  Checkpoint checkpoint_;
  // The fact version of the store.
  std::uint32_t version_ = 1;
  WalCopier copier_{gate_};
  // The check of the whole store.
  struct Checking {
    // True once the whole store is checked. Readers share it.
    std::shared_ptr<std::atomic<bool>> sound = std::make_shared<std::atomic<bool>>(false);
    // True: the check begins after the first commit, so that it does not slow the start.
    bool later = false;
    FullCheck full{sound};
  };
  Checking checking_;
  FileWatch watch_{lock_};
};

}  // namespace subak
