// Ensures that only one process uses a store, by whatever name. One advisory lock is on a file
// beside the store, which names the owner. Another is on the store's file itself. The owner holds
// both until it ends. The system releases them when the process dies, so there are no stale locks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// A note about the store that the lock file contains between two runs of a service. By it, a start
// detects a truncated file or log.
// The note has its own checksum in the lock file.
struct StoreMark {
  std::uint32_t seed = 0;   // the store's (server/store/proof/head.h)
  std::uint64_t facts = 0;  // durable facts before the log's last transaction
};

// Returns the path of the store's file after following links, so that log and
// lock are beside that file.
// Returns `path` if the file does not exist, and after any other failure.
std::string real_path(const std::string& path);

class StoreLock {
 public:
  // What to do if the store does not exist: create its file, or only lock the name.
  enum class Missing : std::uint8_t { kMake, kLeave };

  // Locks the store `path` (a real_path()), by "PATH.lock" and by the store's own file. `missing`:
  // whether to create a missing file, empty. The lock must exist longer than any connection to the
  // store, since closing a file drops the locks that SQLite has on it.
  // It does not wait. If another process has the lock, it fails with kPrecondition and names that
  // process. It also fails if the folder is missing or not writable, or if the
  // file system has no locks.
  // The lock file stays when the lock is released. Locks are flock(2); a child process does not
  // inherit them across exec.
  static Result<StoreLock> acquire(const std::string& path, Missing missing);
  ~StoreLock();
  StoreLock(StoreLock&& other) noexcept;
  StoreLock& operator=(StoreLock&& other) noexcept;

  // If another file has got the store's name since acquire(), locks that file. The lock of the old
  // file then ends, also after an error. kPrecondition: another process has locked the new file.
  std::optional<Error> follow();

  // Returns the note. nullopt: there is none, or its checksum or form is wrong.
  std::optional<StoreMark> mark() const;
  // Writes the note without a sync. So after a power cut the note may be older than the store, but
  // never newer. A failure is ignored.
  // The note is in one sector, so that a power cut leaves the old or the new note.
  void note(const StoreMark& mark) const;
  // Removes the note, because another store will get this path.
  void forget() const;

  // Records the store's files. From then on, check() fails if another file has got the name of the
  // store's file or of its log.
  // A log that does not exist at that time is not checked.
  void watch();
  // Returns an error, kPrecondition with the file and a remedy, if a file was exchanged. It costs
  // two system calls. Threads: any, once watch() has returned.
  std::optional<Error> check() const;

 private:
  StoreLock(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::optional<Error> lock_store(Missing missing);

  std::string path_;
  int fd_ = -1;                                    // the file beside the store
  int store_fd_ = -1;                              // the store
  std::uint64_t store_inode_ = 0, log_inode_ = 0;  // 0: no such file
};

}  // namespace subak
