// Ensures one process per store, whatever name it is given. There is an advisory lock on a file
// beside the store, which names the owner, and one on the store's file itself. The owner holds both
// until it ends. The system releases them when the process dies, so there are no stale locks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// The lock file's note about its store between two runs of a service, by which a truncated file or
// log is found.
// It has a checksum of its own in the lock file.
struct StoreMark {
  std::uint32_t seed = 0;   // of the store (server/store/proof/head.h)
  std::uint64_t facts = 0;  // durable, and not in the log's last transaction
};

// Returns the store's real name, with links followed, so that its log and its lock lie beside the
// file itself. A file that does not exist keeps its name.
// Any other failure gives `path` too.
std::string real_path(const std::string& path);

class StoreLock {
 public:
  // For a store that does not exist: create its file, or lock the name alone.
  enum class Missing : std::uint8_t { kMake, kLeave };

  // Locks the store `path` (a real_path()) by "PATH.lock" and by its own file, which `missing` may
  // create empty. The error names the process that has it. Own the lock longer than any connection
  // to the store: closing a file drops the locks that SQLite has on it.
  // It does not wait: a taken lock is an error at once. kPrecondition also for a folder that is
  // missing or not writable, and for a file system without locks. The lock file stays when the lock
  // is released. Locks are flock(2); a child process does not inherit them across exec.
  static Result<StoreLock> acquire(const std::string& path, Missing missing);
  ~StoreLock();
  StoreLock(StoreLock&& other) noexcept;
  StoreLock& operator=(StoreLock&& other) noexcept;

  // Locks the file that has the store's name now, if another file took that name under this lock.
  // The lock of the old file then ends, also after an error. kPrecondition: another process has the
  // new file.
  std::optional<Error> follow();

  // Returns the note; nullopt: there is none, or it is not plausible.
  // Not plausible: a wrong checksum or form.
  std::optional<StoreMark> mark() const;
  // Writes the note without a sync: after a power cut it may be older than the store, never newer.
  // A failure is ignored.
  // `mark` and its line lie in one sector, so that a power cut leaves the old or the new one.
  void note(const StoreMark& mark) const;
  // Removes the note: another store comes into this place.
  void forget() const;

  // Records the store's files. From then on check() fails when the store's file or its log is no
  // longer the one under its name. Costs two system calls.
  // A log that does not exist at that time is not checked.
  void watch();
  // kPrecondition, with the file and a remedy. Threads: any, once watch() has returned.
  std::optional<Error> check() const;

 private:
  StoreLock(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::optional<Error> lock_store(Missing missing);

  std::string path_;
  int fd_ = -1;                                    // the file beside the store
  int store_fd_ = -1;                              // the store
  std::uint64_t store_inode_ = 0, log_inode_ = 0;  // 0: not there
};

}  // namespace subak
