#include <openssl/rand.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "core/limits.h"
#include "server/log/log.h"
#include "server/store/checks.h"
#include "server/store/migrate.h"
#include "server/store/sqlite_impl.h"

namespace subak {
namespace {

std::string random_uuid() {
  std::array<unsigned char, 16> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  return sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).substr(0, 32);
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options) {
  auto lock = LockFile::acquire(options.path + ".lock");
  if (!lock.ok()) return lock.error();
  if (auto error = check_rights(options.path)) return *error;
  if (auto error = check_header(options.path)) return *error;
  ::unlink((options.path + kCopySuffix).c_str());  // of a process that was killed while it copied
  auto store = std::make_unique<SqliteStore>(options, std::move(*lock));
  if (auto error = store->open(options)) return *error;
  return std::unique_ptr<Store>(std::move(store));
}

std::optional<Error> SqliteStore::open(const SqliteOptions& options) {
  if (!db_.open(path_, OpenMode::kCreate)) return db_.error("store.open");
  if (auto error = take_ownership()) return error;
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
  if (auto error = read_version()) return error;
  return prepare(options.wal_pages);
}

// A new file becomes ours.
std::optional<Error> SqliteStore::take_ownership() {
  const auto id = db_.number("PRAGMA application_id");
  if (!id) return unreadable_store(db_, path_);
  const auto tables = db_.number("SELECT count(*) FROM sqlite_master");
  if (!tables) return unreadable_store(db_, path_);
  if (*id != 0 || *tables != 0) return check_owner(db_, path_);
  const std::string sql = "PRAGMA application_id=" + std::to_string(kApplicationId);
  if (!db_.exec(sql.c_str())) return db_.error("store.open");
  return std::nullopt;
}

// All of it where that is quick. Of a large store only what decides about the start; recovery reads
// the checkpoint and the tail anyway, and stops at the first damage.
std::optional<Error> SqliteStore::check_whole() {
  const auto pages = db_.number("PRAGMA page_count");
  if (!pages) return unreadable_store(db_, path_);
  const auto page = db_.number("PRAGMA page_size");
  if (!page) return unreadable_store(db_, path_);
  const bool all = *pages * *page <= limits::kQuickCheckBytes;
  std::vector<std::string> checks{"PRAGMA quick_check(1)"};
  if (!all) checks = {"PRAGMA quick_check(meta)", "PRAGMA quick_check(migrations)"};
  for (const std::string& sql : checks) {
    if (auto error = check_pragma(db_, path_, sql)) return error;
  }
  return std::nullopt;
}

std::optional<Error> SqliteStore::read_version() {
  const std::string sql =
      "INSERT OR IGNORE INTO meta VALUES ('fact_version', '1'), ('uuid', '" + random_uuid() + "')";
  const bool is_new = !db_.text("SELECT value FROM meta WHERE key = 'uuid'");
  if (is_new && !db_.exec(sql.c_str())) return db_.error("store.meta");
  const Result<std::uint32_t> version = check_version(db_, path_, known_version_);
  if (!version.ok()) return version.error();
  version_ = *version;
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
  // What cannot be written shows at the first write: make that one now.
  if (!db_.exec("UPDATE meta SET value = value WHERE key = 'uuid'")) return db_.error("store.open");
  last_seq_ = static_cast<std::uint64_t>(db_.number("SELECT max(seq) FROM facts").value_or(0));
  const auto checkpoint = db_.number("SELECT value FROM meta WHERE key = 'checkpoint_seq'");
  checkpoint_seq_ = static_cast<std::uint64_t>(checkpoint.value_or(0));
  return copier_.start(path_, db_, wal_pages);
}

}  // namespace subak
