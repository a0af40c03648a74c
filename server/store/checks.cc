#include "server/store/checks.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace subak {
namespace {

std::uint32_t big_endian(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  }
  return value;
}

}  // namespace

Error refuse_store(const std::string& path, std::string got, std::string want) {
  return Error{ErrorCode::kPrecondition, path, std::move(got), std::move(want)};
}

Error damaged_store(const std::string& path, std::string got) {
  return refuse_store(path, std::move(got),
                      "want an undamaged store: restore a backup (the file was not changed)");
}

Error unreadable_store(Connection& db, const std::string& path) {
  const Error error = db.error("store.open");
  switch (db.code()) {
    case SQLITE_OK:
    case SQLITE_DONE:
      return damaged_store(path, "a row is missing");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return damaged_store(path, error.got);
    default:
      return error;
  }
}

std::int64_t file_size(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::int64_t>(info.st_size) : -1;
}

// SQLite would open what it may not write, and leave a log behind that nobody may write.
std::optional<Error> check_rights(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const std::string file = path + suffix;
    if (::access(file.c_str(), R_OK | W_OK) == 0 || errno == ENOENT) continue;
    return refuse_store(file, std::strerror(errno), "want a file that this user can write");
  }
  return std::nullopt;
}

// https://www.sqlite.org/fileformat.html, 1.3. With a log beside it the header may be ahead; with a
// journal, after a cut in the first moments of a store, all of it may be anything, and SQLite
// undoes it.
std::optional<Error> check_header(const std::string& path) {
  constexpr std::size_t kHeaderBytes = 100;
  const std::int64_t size = file_size(path);
  if (size <= 0 || file_size(path + "-journal") > 0) return std::nullopt;
  std::string header(kHeaderBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file) return refuse_store(path, std::strerror(errno), "want a file that this user can read");
  file.read(header.data(), kHeaderBytes);
  if (header.compare(0, 16, "SQLite format 3\0", 16) != 0) {
    return refuse_store(path, "not an SQLite file", "want a store of subakd, or a new path");
  }
  std::int64_t page = big_endian(header, 16, 2);
  if (page == 1) page = 65536;
  const std::int64_t pages = big_endian(header, 28, 4);
  if (file_size(path + "-wal") <= 0 && size < page * pages) {
    return damaged_store(path, "cut off: " + std::to_string(size) + " of " +
                                   std::to_string(page * pages) + " bytes");
  }
  return std::nullopt;
}

std::optional<Error> check_owner(Connection& db, const std::string& path) {
  const auto id = db.number("PRAGMA application_id");
  if (!id) return unreadable_store(db, path);
  if (*id == kApplicationId) return std::nullopt;
  return refuse_store(path, "an SQLite file of another program",
                      "want a store of subakd, or a new path");
}

std::optional<Error> check_pragma(Connection& db, const std::string& path, const std::string& sql) {
  const auto verdict = db.text(sql.c_str());
  if (!verdict) return unreadable_store(db, path);
  if (*verdict != "ok") return damaged_store(path, *verdict);
  return std::nullopt;
}

Result<std::uint32_t> check_version(Connection& db, const std::string& path, std::uint32_t known) {
  const auto version = db.number("SELECT value FROM meta WHERE key = 'fact_version'");
  if (!version) return unreadable_store(db, path);
  if (*version <= static_cast<std::int64_t>(known)) return static_cast<std::uint32_t>(*version);
  return refuse_store(path, "finalized to fact version " + std::to_string(*version),
                      "want fact version " + std::to_string(known) +
                          " or older, which is all that this program knows: run the newer subakd "
                          "that finalized it, or restore a backup made before that");
}

}  // namespace subak
