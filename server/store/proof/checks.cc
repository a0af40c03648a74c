#include "server/store/proof/checks.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>

#include "server/store/proof/head.h"
#include "server/store/proof/migrate.h"

namespace subak {
namespace {

std::uint32_t big_endian(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  }
  return value;
}

// Nullopt: it is unreadable.
std::optional<std::set<std::string>> schema_of(Connection& db) {
  Statement rows;
  if (!rows.prepare(db, "SELECT type, name, tbl_name, sql FROM sqlite_master")) return std::nullopt;
  std::set<std::string> out;
  while (rows.step()) {
    std::string row;
    for (int column = 0; column < 4; ++column) row += std::string(rows.text(column)) + "\n";
    out.insert(std::move(row));
  }
  return rows.failed() ? std::nullopt : std::optional(std::move(out));
}

}  // namespace

std::optional<Error> check_schema(Connection& db, const std::string& path) {
  const auto there = schema_of(db);
  if (!there) return unreadable_store(db, path);
  Connection fresh;
  if (!fresh.open(":memory:", OpenMode::kCreate)) return fresh.error("store.open");
  const Result<int> made = migrate(fresh, sqlite_migrations());
  if (!made.ok()) return made.error();
  const auto wanted = schema_of(fresh);
  if (!wanted) return fresh.error("store.open");
  if (!std::includes(there->begin(), there->end(), wanted->begin(), wanted->end())) {
    return damaged_store(path, "its tables are not as they were made (table sqlite_master)");
  }
  for (const std::string& row : *there) {
    constexpr std::string_view kTrigger = "trigger\n";
    if (!row.starts_with(kTrigger) || wanted->contains(row)) continue;
    const std::string name =
        row.substr(kTrigger.size(), row.find('\n', kTrigger.size()) - kTrigger.size());
    return damaged_store(path, "there is trigger " + name + ", which can change rows");
  }
  return std::nullopt;
}

// SQLite would open a file that it may not write, and leave a log behind that no process may write.
std::optional<Error> check_rights(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const std::string file = path + suffix;
    if (::access(file.c_str(), R_OK | W_OK) == 0 || errno == ENOENT) continue;
    return refuse_store(file, std::strerror(errno), "want a file that this user can write");
  }
  return std::nullopt;
}

// https://www.sqlite.org/fileformat.html, 1.3. With a log beside it the header may be ahead. With a
// journal, after a crash in the first moments of a store, the header may have any content, and
// SQLite rolls it back.
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
  const auto text = read_meta(db, "fact_version");
  if (!text.ok()) return text.error();
  if (!*text) return damaged_store(path, "row fact_version of table meta is missing");
  std::uint64_t version = 0;
  std::from_chars((*text)->data(), (*text)->data() + (*text)->size(), version);
  if (version <= known) return static_cast<std::uint32_t>(version);
  return refuse_store(path, "finalized to fact version " + **text,
                      "want fact version " + std::to_string(known) +
                          " or older, which is all that this program knows: run the newer subakd "
                          "that finalized it, or restore a backup made before that");
}

}  // namespace subak
