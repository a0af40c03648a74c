// One process per store: an advisory lock on a file beside it, held until the owner goes. The
// system takes it back when the process dies, so no stale lock needs removing.
#pragma once

#include <string>

#include "core/error.h"

namespace subak {

class LockFile {
 public:
  // Creates `path` if missing and locks it. The error names the process that has it.
  static Result<LockFile> acquire(const std::string& path);
  ~LockFile();
  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&& other) noexcept;

 private:
  explicit LockFile(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace subak
