#include "server/store/file/store_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "server/store/file/refusals.h"
#include "server/store/file/row_sum.h"

namespace subak {
namespace {

// The file: the owner's process id in the first line, the note in a line of its own in the same
// sector.
constexpr off_t kMarkAt = 32;
constexpr std::size_t kMarkBytes = 64;

Error refused(const std::string& path, int fd) {
  if (errno != EWOULDBLOCK) {
    return refuse_store(path, std::strerror(errno),
                        "want a lock file that can be written and locked");
  }
  std::array<char, 32> owner{};
  const ssize_t n = pread(fd, owner.data(), owner.size() - 1, 0);
  std::string text(owner.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  if (const auto end = text.find('\n'); end != std::string::npos) text.resize(end);
  return refuse_store(path, "locked by process " + text,
                      "one subakd per store: stop that process first, or use another --state");
}

std::uint64_t inode_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_ino) : 0;
}

std::string mark_text(const StoreMark& mark) {
  std::array<char, kMarkBytes + 1> text{};
  const int size = std::snprintf(text.data(), text.size(), "store %08" PRIx32 " facts %020" PRIu64,
                                 mark.seed, mark.facts);
  std::string out(text.data(), static_cast<std::size_t>(size));
  std::snprintf(text.data(), text.size(), " sum %08" PRIx32, crc32c(out));
  out += text.data();
  out.resize(kMarkBytes - 1, ' ');
  return out + "\n";
}

bool write_at(int fd, std::string_view text, off_t at) {
  return ::pwrite(fd, text.data(), text.size(), at) == static_cast<ssize_t>(text.size());
}

}  // namespace

std::string real_path(const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

Result<StoreLock> StoreLock::acquire(const std::string& path, Missing missing) {
  const std::string name = path + ".lock";
  const int fd = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    return refuse_store(name, std::strerror(errno), "want a folder that exists and can be written");
  }
  StoreLock lock(path, fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return refused(name, fd);
  std::string owner = std::to_string(::getpid()) + "\n";
  owner.resize(kMarkAt, '\n');
  if (!write_at(fd, owner, 0))
    return refuse_store(name, std::strerror(errno), "want a disk with room");
  if (auto error = lock.lock_store(missing)) return *error;
  return lock;
}

// SQLite's own locks are of another kind (fcntl) and do not interfere.
std::optional<Error> StoreLock::lock_store(Missing missing) {
  const int make = missing == Missing::kMake ? O_CREAT : 0;
  store_fd_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | make, 0600);
  if (store_fd_ < 0 && errno == ENOENT && make == 0) return std::nullopt;
  if (store_fd_ < 0) {
    return refuse_store(path_, std::strerror(errno), "want a file that this user can write");
  }
  if (::flock(store_fd_, LOCK_EX | LOCK_NB) == 0) return std::nullopt;
  if (errno != EWOULDBLOCK) {
    return refuse_store(path_, std::strerror(errno), "want a file system that can lock files");
  }
  return refuse_store(path_, "locked by another process, which has it under another name",
                      "one subakd per store: stop that process first, or use another --state");
}

std::optional<Error> StoreLock::follow() {
  struct stat info {};
  if (::fstat(store_fd_, &info) == 0 && inode_of(path_) == info.st_ino) return std::nullopt;
  const int old = std::exchange(store_fd_, -1);
  if (auto error = lock_store(Missing::kLeave)) {
    ::close(old);
    return error;
  }
  ::close(old);
  return std::nullopt;
}

StoreLock::~StoreLock() {
  if (store_fd_ >= 0) ::close(store_fd_);
  if (fd_ >= 0) ::close(fd_);
}

StoreLock::StoreLock(StoreLock&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      store_fd_(std::exchange(other.store_fd_, -1)),
      store_inode_(other.store_inode_),
      log_inode_(other.log_inode_) {}

StoreLock& StoreLock::operator=(StoreLock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(store_fd_, other.store_fd_);
  std::swap(store_inode_, other.store_inode_);
  std::swap(log_inode_, other.log_inode_);
  return *this;
}

std::optional<StoreMark> StoreLock::mark() const {
  std::string text(kMarkBytes, '\0');
  if (::pread(fd_, text.data(), text.size(), kMarkAt) != static_cast<ssize_t>(text.size())) {
    return std::nullopt;
  }
  StoreMark mark;
  const int read =
      std::sscanf(text.c_str(), "store %8" SCNx32 " facts %20" SCNu64, &mark.seed, &mark.facts);
  return read == 2 && mark_text(mark) == text ? std::optional(mark) : std::nullopt;
}

void StoreLock::note(const StoreMark& mark) const { write_at(fd_, mark_text(mark), kMarkAt); }

void StoreLock::forget() const { write_at(fd_, std::string(kMarkBytes, '\n'), kMarkAt); }

void StoreLock::watch() {
  store_inode_ = inode_of(path_);
  log_inode_ = inode_of(path_ + "-wal");
}

std::optional<Error> StoreLock::check() const {
  for (const auto& [name, inode] :
       {std::pair{path_, store_inode_}, std::pair{path_ + "-wal", log_inode_}}) {
    if (inode == 0 || inode_of(name) == inode) continue;
    return refuse_store(name, "removed or replaced while the service ran",
                        "want the file left where it is: put it back, or restore a backup with "
                        "`subak admin restore`");
  }
  return std::nullopt;
}

}  // namespace subak
