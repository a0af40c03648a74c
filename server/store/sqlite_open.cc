#include <openssl/rand.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/limits.h"
#include "server/log/log.h"
#include "server/store/migrate.h"
#include "server/store/sqlite_impl.h"

namespace subak {
namespace {

constexpr std::int64_t kApplicationId = 0x5342414b;  // "SBAK", in the header of our files

Error refuse(const std::string& path, std::string got, std::string want) {
  return Error{ErrorCode::kPrecondition, path, std::move(got), std::move(want)};
}

Error damaged(const std::string& path, std::string got) {
  return refuse(path, std::move(got),
                "an undamaged store: restore a backup (the file was not changed)");
}

std::int64_t file_size(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::int64_t>(info.st_size) : -1;
}

std::uint32_t big_endian(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  }
  return value;
}

// What can be said before SQLite touches the file (https://www.sqlite.org/fileformat.html, 1.3): it
// has the magic words, and all the pages that its header counts. With a log beside it the header
// may be ahead.
std::optional<Error> check_header(const std::string& path) {
  constexpr std::size_t kHeaderBytes = 100;
  const std::int64_t size = file_size(path);
  if (size <= 0) return std::nullopt;  // new
  std::string header(kHeaderBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file) return refuse(path, std::strerror(errno), "a file that this user can read");
  file.read(header.data(), kHeaderBytes);
  if (header.compare(0, 16, "SQLite format 3\0", 16) != 0) {
    return refuse(path, "not an SQLite file", "a store of subakd, or a new path");
  }
  std::int64_t page = big_endian(header, 16, 2);
  if (page == 1) page = 65536;
  const std::int64_t pages = big_endian(header, 28, 4);
  if (file_size(path + "-wal") <= 0 && size < page * pages) {
    return damaged(path, "cut off: " + std::to_string(size) + " of " +
                             std::to_string(page * pages) + " bytes");
  }
  return std::nullopt;
}

std::string random_uuid() {
  std::array<unsigned char, 16> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  return sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).substr(0, 32);
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options) {
  auto lock = LockFile::acquire(options.path + ".lock");
  if (!lock.ok()) return lock.error();
  if (auto error = check_header(options.path)) return *error;
  auto store = std::make_unique<SqliteStore>(options, std::move(*lock));
  if (auto error = store->open(options)) return *error;
  return std::unique_ptr<Store>(std::move(store));
}

std::optional<Error> SqliteStore::open(const SqliteOptions& options) {
  if (!db_.open(path_, OpenMode::kCreate)) return db_.error("store.open");
  if (auto error = check_owner()) return error;
  if (!db_.exec("PRAGMA journal_mode=WAL") || !db_.exec("PRAGMA synchronous=FULL") ||
      !db_.exec("PRAGMA cache_size=-65536")) {
    return db_.error("store.open");
  }
  if (options.check) {
    if (auto error = check_whole()) return error;
  }
  const Result<int> applied = migrate(db_, sqlite_migrations());
  if (!applied.ok()) return applied.error();
  if (*applied > 0) log::info("store migrated", {{"store", path_}, {"migrations", *applied}});
  if (auto error = check_version()) return error;
  return prepare(options.wal_pages);
}

std::optional<Error> SqliteStore::check_owner() {
  const auto id = db_.number("PRAGMA application_id");
  const auto tables = db_.number("SELECT count(*) FROM sqlite_master");
  if (!id || !tables) return damaged(path_, db_.error("").got);
  if (*id == kApplicationId) return std::nullopt;
  if (*id != 0 || *tables != 0) {
    return refuse(path_, "an SQLite file of another program", "a store of subakd, or a new path");
  }
  const std::string sql = "PRAGMA application_id=" + std::to_string(kApplicationId);
  if (!db_.exec(sql.c_str())) return db_.error("store.open");
  return std::nullopt;
}

// All of it where that is quick. Of a large store only what decides about the start; recovery reads
// the checkpoint and the tail anyway, and stops at the first damage.
std::optional<Error> SqliteStore::check_whole() {
  const auto pages = db_.number("PRAGMA page_count");
  const auto page = db_.number("PRAGMA page_size");
  if (!pages || !page) return damaged(path_, db_.error("").got);
  const bool all = *pages * *page <= limits::kQuickCheckBytes;
  std::vector<std::string> checks{"PRAGMA quick_check(1)"};
  if (!all) checks = {"PRAGMA quick_check(meta)", "PRAGMA quick_check(migrations)"};
  for (const std::string& sql : checks) {
    const auto verdict = db_.text(sql.c_str());
    if (!verdict) return damaged(path_, db_.error("").got);
    if (*verdict != "ok") return damaged(path_, *verdict);
  }
  return std::nullopt;
}

std::optional<Error> SqliteStore::check_version() {
  const std::string sql =
      "INSERT OR IGNORE INTO meta VALUES ('fact_version', '1'), ('uuid', '" + random_uuid() + "')";
  const bool is_new = !db_.text("SELECT value FROM meta WHERE key = 'uuid'");
  if (is_new && !db_.exec(sql.c_str())) return db_.error("store.meta");
  const auto version = db_.number("SELECT value FROM meta WHERE key = 'fact_version'");
  if (!version) return damaged(path_, "no fact_version");
  if (*version > static_cast<std::int64_t>(known_version_)) {
    return refuse(path_, "finalized to fact version " + std::to_string(*version),
                  "want fact version " + std::to_string(known_version_) +
                      " or older, which is all that this program knows: run the newer subakd that "
                      "finalized it, or restore a backup made before that");
  }
  version_ = static_cast<std::uint32_t>(*version);
  return std::nullopt;
}

std::optional<Error> SqliteStore::prepare(int wal_pages) {
  const bool ok = begin_.prepare(db_, "BEGIN IMMEDIATE") && commit_.prepare(db_, "COMMIT") &&
                  rollback_.prepare(db_, "ROLLBACK") &&
                  insert_fact_.prepare(db_, "INSERT INTO facts VALUES (?, ?, ?, ?)") &&
                  insert_kept_.prepare(db_, "INSERT INTO checkpoint VALUES (?, ?, ?, ?, ?)") &&
                  drop_kept_.prepare(db_, "DELETE FROM checkpoint WHERE seq = ? AND ord < ?") &&
                  ledger_.prepare(db_) && audit_.prepare(db_);
  if (!ok) return db_.error("store.open");
  last_seq_ = static_cast<std::uint64_t>(db_.number("SELECT max(seq) FROM facts").value_or(0));
  const auto checkpoint = db_.number("SELECT value FROM meta WHERE key = 'checkpoint_seq'");
  checkpoint_seq_ = static_cast<std::uint64_t>(checkpoint.value_or(0));
  return copier_.start(path_, db_, wal_pages);
}

}  // namespace subak
