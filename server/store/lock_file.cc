#include "server/store/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace subak {
namespace {

Error refused(const std::string& path, int fd) {
  if (errno != EWOULDBLOCK) {
    return Error{ErrorCode::kPrecondition, path, std::strerror(errno),
                 "want a lock file that can be written and locked"};
  }
  std::array<char, 32> owner{};
  const ssize_t n = pread(fd, owner.data(), owner.size() - 1, 0);
  std::string text(owner.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  if (const auto end = text.find('\n'); end != std::string::npos) text.resize(end);
  return Error{ErrorCode::kPrecondition, path, "locked by process " + text,
               "one subakd per store: stop that process first, or use another --state"};
}

}  // namespace

Result<LockFile> LockFile::acquire(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    return Error{ErrorCode::kPrecondition, path, std::strerror(errno),
                 "want a folder that exists and can be written"};
  }
  LockFile lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return refused(path, fd);
  const std::string owner = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd, 0) != 0 ||
      ::pwrite(fd, owner.data(), owner.size(), 0) != static_cast<ssize_t>(owner.size())) {
    return Error{ErrorCode::kPrecondition, path, std::strerror(errno), "want a disk with room"};
  }
  return lock;
}

LockFile::~LockFile() {
  if (fd_ >= 0) ::close(fd_);
}

LockFile::LockFile(LockFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

}  // namespace subak
