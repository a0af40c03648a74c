// Ensures that only one process uses a store, even if two processes use different paths for it.
// There are two advisory locks: one on a file beside the store, which names the process, and one on
// the store's file itself. The process holds both locks until it ends. The system releases them
// when the process dies, so there are no stale locks. Threads: one at a time, unless a comment says
// otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// A note about the store, which stays in the lock file between two runs of a service. At a start, a
// store with fewer facts than the note says is refused: its file or log was truncated. In the lock
// file, the note has its own checksum.
struct StoreMark {
  std::uint32_t seed = 0;   // the store's seed (server/store/proof/head.h)
  std::uint64_t facts = 0;  // durable facts before the log's last transaction
};

// Follows links, and returns the path of the store's file itself. The log and the lock file are
// beside that file. If the file does not exist, or if anything else fails, it returns `path`.
std::string real_path(const std::string& path);

// The locks of one store, from acquire() to the destructor.
class StoreLock {
 public:
  // What acquire() does if the store does not exist. kMake: it creates the store's file. kLeave: it
  // locks only the file beside the store.
  enum class Missing : std::uint8_t { kMake, kLeave };

  // Locks the store by "PATH.lock" and by the store's own file, both with flock(2). It does not
  // wait. `path`: the result of real_path(). `missing`: kMake creates a missing store as an empty
  // file. The lock must exist longer than any connection to the store. Otherwise SQLite loses its
  // own locks, because the system drops a process's locks on a file when the process closes any
  // descriptor of the file. If another process has the lock, it fails with kPrecondition and names
  // that process. It also fails if the folder is missing or not writable, or if the file system has
  // no locks. The lock file stays when the lock is released. A program that a child process
  // executes does not inherit the lock.
  static Result<StoreLock> acquire(const std::string& path, Missing missing);
  ~StoreLock();
  StoreLock(StoreLock&& other) noexcept;
  StoreLock& operator=(StoreLock&& other) noexcept;

  // If another file has got the store's path since acquire(), locks that file. The lock of the old
  // file then ends, even if this fails. The error is kPrecondition if another process has locked
  // the new file.
  std::optional<Error> follow();

  // Returns the note. nullopt: there is no note, or its checksum or form is wrong.
  std::optional<StoreMark> mark() const;
  // Writes the note without a sync, after the commits that it counts. So after a power cut, the
  // note may be older than the store, but never newer. The note is in one sector of the disk, so a
  // power cut leaves either the old note or the new one. A failure is ignored.
  void note(const StoreMark& mark) const;
  // Removes the note. Call it before another store gets this path.
  void forget() const;

  // Remembers which files the store has now. From then on, check() fails if another file has the
  // path of the store's file or of its log. If there is no log now, check() does not look for
  // another one.
  void watch();
  // Returns an error if a file was removed or replaced since watch(). The error is kPrecondition;
  // it names the file and says what to do. The function makes two system calls. Threads: any, once
  // watch() has returned.
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
