// The part of the SQLite store that writes. Other code uses open_sqlite_store() (sqlite_store.h),
// which makes this object.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "server/codec/packed_facts.h"
#include "server/runtime/ports.h"
#include "server/store/file/activity_files.h"
#include "server/store/file/connection.h"
#include "server/store/file/side_files.h"
#include "server/store/file/store_lock.h"
#include "server/store/file/wal_copier.h"
#include "server/store/file/write_gate.h"
#include "server/store/proof/file_watch.h"
#include "server/store/proof/full_check.h"
#include "server/store/proof/head.h"
#include "server/store/sqlite/fact_writer.h"
#include "server/store/sqlite/sqlite_store.h"
#include "threads/mutex.h"

namespace subak {

// The file that make_copy() writes is the store's path with this suffix.
inline constexpr char kCopySuffix[] = ".copy";

// Call open() first. After that, one thread commits. Checkpoints, copies and readers may run at the
// same time, each on its own thread. Transactions that write take turns by `gate_`.
class SqliteStore final : public Store {
 public:
  // `path`: the result of real_path().
  SqliteStore(std::string path, std::uint32_t known_version, StoreLock lock)
      : path_(std::move(path)), known_version_(known_version), lock_(std::move(lock)) {}
  // The destructor writes the StoreMark into the lock file. If no other connection is open, it also
  // copies the log into the store's file.
  ~SqliteStore() override;
  // Checks the store, migrates it and prepares the statements. Call it before all other functions.
  // check_files() (sqlite_open.cc) must have checked the files before. After an error, migrations
  // that were finished stay, and the log is not copied into the store's file.
  std::optional<Error> open(const SqliteOptions& options);

  // Commits a batch with one sync (WAL with synchronous=FULL). The facts are durable when this
  // returns. After an error, the store has no part of the batch. Asserts that the facts follow the
  // last fact of the store.
  std::optional<Error> commit(std::span<const Fact> facts) override;
  // Checks, without a transaction, that no other file has got the path of the store or of its log.
  std::optional<Error> check_owned() override { return lock_.check(); }
  // Writes the checkpoint in chunks of limits::kCheckpointChunkFacts. Each chunk is one
  // transaction, so commits can run between two chunks. Does nothing if this checkpoint is in use
  // already.
  std::optional<Error> write_checkpoint(std::uint64_t seq, const PackedFacts& facts) override;
  // Writes a file beside the store. It reads on a separate connection, so commits never wait.
  std::optional<Error> add_past_checkpoint(
      std::uint64_t seq, const std::function<const PackedFacts*()>& facts) override;
  std::optional<Error> write_calibration(std::string_view bytes) override {
    return write_summed_file(path_ + kCalibrationSuffix, kCalibrationFile, seed_, bytes);
  }
  Result<std::string> read_calibration() override {
    return read_summed_file(path_ + kCalibrationSuffix, kCalibrationFile, seed_);
  }
  std::optional<Error> write_activity(std::int64_t part, std::string_view bytes) override {
    return write_activity_file(path_ + kActivitySuffix, seed_, part, bytes);
  }
  std::optional<Error> write_notice_marks(std::string_view bytes) override {
    return write_summed_file(path_ + kNoticeSuffix, kNoticeFile, seed_, bytes);
  }
  Result<std::string> read_notice_marks() override {
    return read_summed_file(path_ + kNoticeSuffix, kNoticeFile, seed_);
  }
  Result<std::string> read_activity(std::int64_t part) override {
    return read_activity_file(path_ + kActivitySuffix, seed_, part);
  }
  std::optional<Error> add_day_sums(const std::function<bool()>& wanted) override;
  Result<std::unique_ptr<StoreReader>> open_reader() override;
  Result<std::string> make_copy(const std::function<bool()>& wanted) override;
  std::string describe() const override { return "sqlite " + path_; }

 private:
  // Writes the application id into a new file, or checks the application id of an old file.
  std::optional<Error> take_ownership();
  // Makes the checks that come before the store is used. `content`: it also reads and checks all
  // rows, if the file has at most limits::kQuickCheckBytes.
  std::optional<Error> check(bool content);
  // Writes the first rows of a new store.
  std::optional<Error> found(const std::string& uuid);
  // Refuses a store that has fewer facts than the note in the lock file says.
  std::optional<Error> check_mark() const;
  // Reads the seed, the head and the checkpoint, compares them with the note in the lock file, and
  // prepares the statements. `wal_pages`: the length of the log at which WalCopier copies it.
  std::optional<Error> prepare(int wal_pages);
  // Stores the new fact version, in the transaction of the commit that finalizes the store.
  bool set_version(std::uint32_t version);
  // Writes the StoreMark into the lock file, without a sync.
  void note_durable() const;
  // Checks that the batch has changed `wanted` rows. False: the number differs, so the batch is
  // refused.
  bool stored(std::uint64_t wanted, std::int64_t rows_before);
  // Returns the error of a commit that failed: damage of the audit log, or SQLite's error.
  Error commit_error() const;
  // Inserts a row of a checkpoint. `sum`: the checksum of the previous row; the function sets it to
  // that of this row.
  bool insert_kept(std::uint64_t seq, std::size_t ord, const PackedFacts::Row& row,
                   std::uint32_t& sum);
  // Refuses a checkpoint whose facts need a newer version than that of the store.
  std::optional<Error> check_needs(const PackedFacts& facts);
  // Writes the rows [from, to) in one transaction. `sum`: as for insert_kept().
  std::optional<Error> write_chunk(std::uint64_t seq, PackedFacts::Cursor& facts, std::size_t from,
                                   std::size_t to, std::uint32_t& sum);
  // Returns the stored checksum of a fact's row.
  Result<std::uint32_t> sum_of_fact(std::uint64_t seq);
  // Makes this checkpoint the one in use, in one transaction.
  std::optional<Error> use_checkpoint(const CheckpointMark& mark);
  // Deletes the rows of all other checkpoints, chunk by chunk.
  std::optional<Error> drop_checkpoints_except(std::uint64_t seq);

  const std::string path_;
  const std::uint32_t known_version_;
  // The lock must outlive the connections.
  StoreLock lock_;
  // A thread may use `db_` and the statements only while it holds this gate.
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
  // True: prepare() has read the store, so note_durable() may write the note.
  bool opened_ = false;
  struct Checkpoint {
    // The last fact of the checkpoint in use; 0: there is none.
    std::uint64_t seq = 0;
    Statement insert, drop;
    // Held while past checkpoints are changed.
    Mutex past;
  };
  Checkpoint checkpoint_;
  // The fact version of the store.
  std::uint32_t version_ = 1;
  WalCopier copier_{gate_};
  // The check of the whole store.
  struct Checking {
    // True when the whole store was checked and is intact. Readers share this value.
    std::shared_ptr<std::atomic<bool>> sound = std::make_shared<std::atomic<bool>>(false);
    // True: the check begins after the first commit, so that it does not slow the start.
    bool later = false;
    FullCheck full{sound};
  };
  Checking checking_;
  FileWatch watch_{lock_};
};

}  // namespace subak
