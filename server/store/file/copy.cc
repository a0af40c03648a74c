#include "server/store/file/copy.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "server/store/file/connection.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

constexpr int kPagesAtOnce = 2048;

Error refuse(std::string field, std::string got, std::string want) {
  return {ErrorCode::kPrecondition, std::move(field), std::move(got), std::move(want)};
}

std::string folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

// Creates a new file for the owner alone; SQLite would follow the umask.
std::optional<Error> make_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return refuse(path, std::strerror(errno), "want a new file in a folder that exists");
  ::close(fd);
  return std::nullopt;
}

// Copies the pages. False: an error of `to`, or a stop was requested.
bool copy_pages(Connection& from, Connection& to, const std::function<bool()>& wanted) {
  sqlite3_backup* copy = sqlite3_backup_init(to.get(), "main", from.get(), "main");
  if (copy == nullptr) return false;
  int rc = SQLITE_OK;
  while (rc == SQLITE_OK && wanted()) rc = sqlite3_backup_step(copy, kPagesAtOnce);
  return sqlite3_backup_finish(copy) == SQLITE_OK && rc == SQLITE_DONE;
}

std::optional<Error> copy_to(const std::string& to, Connection& source,
                             const std::function<bool()>& wanted) {
  Connection target;
  if (!target.open(to, OpenMode::kReadWrite) || !target.exec("PRAGMA synchronous=OFF")) {
    return target.error("store.copy");
  }
  if (!copy_pages(source, target, wanted)) {
    return wanted() ? target.error("store.copy") : refuse(to, "", "the copy is no longer wanted");
  }
  // In the source's mode, readers would need a log beside the file.
  if (!target.exec("PRAGMA journal_mode=DELETE")) return target.error("store.copy");
  return std::nullopt;
}

}  // namespace

std::optional<Error> check_room(const std::string& to, std::int64_t needed) {
  struct statvfs info {};
  const std::string folder = folder_of(to);
  if (::statvfs(folder.c_str(), &info) != 0) {
    return refuse(folder, std::strerror(errno), "want a folder that exists");
  }
  const auto free =
      static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
  if (free >= needed) return std::nullopt;
  return refuse(folder, std::to_string(free >> 20) + " MiB free",
                "want " + std::to_string(needed >> 20) + " MiB: the new file and some to spare");
}

// The copy must not use the room of the next commit: without disk space the service ends.
std::optional<Error> copy_store(const std::string& from, const std::string& to,
                                const std::function<bool()>& wanted, std::int64_t spare_bytes) {
  Connection source;
  // The transaction fixes the snapshot: without it a commit would restart the copy.
  if (!source.open(from, OpenMode::kReadOnly) || !source.exec("BEGIN"))
    return source.error("store.copy");
  const auto pages = source.number("PRAGMA page_count");
  const auto page = source.number("PRAGMA page_size");
  if (!pages || !page || !source.number("SELECT count(*) FROM sqlite_master")) {
    return source.error("store.copy");
  }
  if (auto error = check_room(to, *pages * *page + spare_bytes)) return error;
  if (auto error = make_file(to)) return error;
  auto error = copy_to(to, source, wanted);
  if (error) ::unlink(to.c_str());
  return error;
}

std::optional<Error> sync_file(const std::string& path) {
  for (const std::string& name : {path, folder_of(path)}) {
    const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    const bool ok = fd >= 0 && ::fsync(fd) == 0;
    const int why = errno;
    if (fd >= 0) ::close(fd);
    if (!ok) return refuse(name, std::strerror(why), "want a disk that can be written");
  }
  return std::nullopt;
}

}  // namespace subak
