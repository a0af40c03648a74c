// One process per store, whatever name it is given: an advisory lock on a file beside it, which
// names the owner, and one on the store's file itself. Held until the owner goes; the system takes
// both back when the process dies, so no stale lock needs removing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// What the lock's file remembers of its store between two lives of a service, so that a file or a
// log that has lost its end is found.
struct StoreMark {
  std::uint32_t seed = 0;   // of the store (server/store/head.h)
  std::uint64_t facts = 0;  // were durable, and are not in the log's last transaction
};

// The store's own name: links followed, so that its log and its lock lie beside the file itself. A
// file that is not there yet keeps its name.
std::string real_path(const std::string& path);

class StoreLock {
 public:
  enum class Missing : std::uint8_t { kMake, kLeave };

  // Locks the store `path` (a real_path()) by "PATH.lock" and by its own file, which `missing` may
  // make empty. The error names the process that has it. Own it longer than any connection to the
  // store: closing a file drops the locks that SQLite has on it.
  static Result<StoreLock> acquire(const std::string& path, Missing missing);
  ~StoreLock();
  StoreLock(StoreLock&& other) noexcept;
  StoreLock& operator=(StoreLock&& other) noexcept;

  // Another file may have taken the store's name, under this lock: locks that one instead.
  std::optional<Error> follow();

  // Nullopt: nothing was noted, or it cannot be believed.
  std::optional<StoreMark> mark() const;
  // Not synced: it may be older than the truth after a power cut, never newer. A failure is none.
  void note(const StoreMark& mark) const;
  // Another store comes into this place.
  void forget() const;

  // Notes which files are the store's now; from then on check() tells when the store's file or its
  // log is not the one under its name any more. Costs two system calls.
  void watch();
  std::optional<Error> check() const;

 private:
  StoreLock(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::optional<Error> lock_store(Missing missing);

  std::string path_;
  int fd_ = -1;                                    // the file beside it
  int store_fd_ = -1;                              // the store
  std::uint64_t store_inode_ = 0, log_inode_ = 0;  // 0: not there
};

}  // namespace subak
