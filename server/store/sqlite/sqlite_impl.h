// The write side of the SQLite store. Others use open_sqlite_store() (sqlite_store.h).
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

inline constexpr char kCopySuffix[] = ".copy";  // make_copy() writes there

// Order of use: open(), then commits by one thread. Checkpoints, copies and readers come beside
// them, each from a thread of its own. Write transactions take turns by `gate_`.
class SqliteStore final : public Store {
 public:
  // `path`: a real_path().
  SqliteStore(std::string path, std::uint32_t known_version, StoreLock lock)
      : path_(std::move(path)), known_version_(known_version), lock_(std::move(lock)) {}
  // Copies the log into the file, if no other connection is open, and notes the facts in the lock
  // file.
  ~SqliteStore() override;
  // Checks, migrates and prepares; call it first.
  // The file was checked before (check_files() in sqlite_open.cc). After an error finished
  // migrations stay, and the log is not copied into the file.
  std::optional<Error> open(const SqliteOptions& options);

  // Asserts that the facts follow the last one. Durable on return: WAL with synchronous=FULL, one
  // sync. After an error nothing of the batch is there.
  std::optional<Error> commit(std::span<const Fact> facts) override;
  // Checks that store and log still have their names, without a transaction.
  std::optional<Error> check_owned() override { return lock_.check(); }
  // In chunks of limits::kCheckpointChunkFacts, each a transaction, so that commits get in between.
  // Does nothing if it is the one in use.
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
  // `content`: read all rows, if the file is small (limits::kQuickCheckBytes).
  std::optional<Error> check(bool content);
  // Writes the first rows of a new store.
  std::optional<Error> found(const std::string& uuid);
  // Refuses a store with fewer facts than the lock file's note says.
  std::optional<Error> check_mark() const;
  std::optional<Error> prepare(int wal_pages);
  // Within the transaction of the commit that finalizes.
  bool set_version(std::uint32_t version);
  // Notes the facts that are not in the last transaction. No sync.
  void note_durable() const;
  // False, with a refusal, if another number of rows was changed than the batch has.
  bool stored(std::uint64_t wanted, std::int64_t rows_before);
  Error commit_error() const;
  // `sum`: of the previous row, and on return of this one.
  bool insert_kept(std::uint64_t seq, std::size_t ord, const PackedFacts::Row& row,
                   std::uint32_t& sum);
  std::optional<Error> check_needs(const PackedFacts& facts);
  std::optional<Error> write_chunk(std::uint64_t seq, PackedFacts::Cursor& facts, std::size_t from,
                                   std::size_t to, std::uint32_t& sum);
  // Of its row, as stored.
  Result<std::uint32_t> sum_of_fact(std::uint64_t seq);
  std::optional<Error> use_checkpoint(const CheckpointMark& mark);
  std::optional<Error> drop_checkpoints_except(std::uint64_t seq);

  const std::string path_;
  const std::uint32_t known_version_;
  StoreLock lock_;  // outlives the connections
  WriteGate gate_;  // its holder may use db_ and the statements
  Connection db_;
  struct Transaction {
    Statement begin, commit, rollback;
  };
  Transaction transaction_;
  FactWriter facts_;
  std::uint32_t seed_ = 0;  // start of the checksums
  Head head_;
  bool opened_ = false;
  struct Checkpoint {
    std::uint64_t seq = 0;  // of the one in use; 0: there is none
    Statement insert, drop;
  };
  Checkpoint checkpoint_;
  std::uint32_t version_ = 1;  // of the facts
  WalCopier copier_{gate_};
  // The check of the whole store.
  struct Checking {
    std::shared_ptr<std::atomic<bool>> sound = std::make_shared<std::atomic<bool>>(false);
    bool later = false;  // after the first commit, so that a start has the machine
    FullCheck full{sound};
  };
  Checking checking_;
  FileWatch watch_{lock_};
};

}  // namespace subak
