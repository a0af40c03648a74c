#include <unistd.h>

#include <array>
#include <utility>

#include "core/limits.h"
#include "server/log/log.h"
#include "server/store/file/file_system.h"
#include "server/store/file/row_sum.h"
#include "server/store/proof/checks.h"
#include "server/store/proof/log_scan.h"
#include "server/store/proof/migrate.h"
#include "server/store/sqlite/rebuild.h"
#include "server/store/sqlite/sqlite_impl.h"

namespace subak {
namespace {

bool is_unfounded(Connection& db) {
  return db.number(
             "SELECT (SELECT count(*) FROM meta) + (SELECT count(*) FROM head) + "
             "(SELECT count(*) FROM (SELECT 1 FROM facts LIMIT 1))") == 0;
}

// The checks before SQLite opens the file.
std::optional<Error> check_files(const std::string& path, const StoreLock& lock) {
  if (auto error = check_rights(path)) return error;
  if (auto error = check_header(path)) return error;
  if (auto error = check_log(path)) return error;
  const auto mark = lock.mark();
  if (file_size(path) > 0 || !mark || mark->facts == 0) return std::nullopt;
  return refuse_store(
      path, "empty, but there was a store of " + std::to_string(mark->facts) + " facts at least",
      "want that file back, or a backup (`subak admin restore`); to begin a new "
      "store, remove " +
          path + ".lock");
}

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const SqliteOptions& options) {
  const std::string path = real_path(options.path);
  const std::uint32_t kind = options.file_system != 0 ? options.file_system : file_system_of(path);
  if (auto error = check_file_system(path, kind)) return *error;
  auto lock = StoreLock::acquire(path, StoreLock::Missing::kMake);
  if (!lock.ok()) return lock.error();
  if (auto error = check_files(path, *lock)) return *error;
  ::unlink((path + kCopySuffix).c_str());  // of a process that was killed while it copied
  if (options.ignore_checkpoint && file_size(path) > 0) {
    const auto rebuilt = drop_checkpoint(path, options.fact_version);
    if (!rebuilt.ok()) return rebuilt.error();
    log::warn("the checkpoint is ignored", {{"store", path}, {"replaced", rebuilt->replaced}});
    if (auto error = lock.value().follow()) return *error;
  }
  auto store = std::make_unique<SqliteStore>(path, options.fact_version, std::move(*lock));
  if (auto error = store->open(options)) return *error;
  return std::unique_ptr<Store>(std::move(store));
}

std::optional<Error> SqliteStore::open(const SqliteOptions& options) {
  if (!db_.open(path_, OpenMode::kCreate)) return db_.error("store.open");
  db_.copy_log_at_close(false);
  if (auto error = take_ownership()) return error;
  if (!db_.exec("PRAGMA journal_mode=WAL") || !db_.exec("PRAGMA synchronous=FULL") ||
      !db_.exec("PRAGMA cache_size=-65536")) {
    return db_.error("store.open");
  }
  if (auto error = check(options.check)) return error;
  const Result<int> applied = migrate(db_, sqlite_migrations());
  if (!applied.ok()) return applied.error();
  if (*applied > 0) log::info("store migrated", {{"store", path_}, {"migrations", *applied}});
  if (auto error = found(options.uuid.empty() ? random_uuid() : options.uuid)) return error;
  const auto version = check_version(db_, path_, known_version_);
  if (!version.ok()) return version.error();
  version_ = *version;
  if (auto error = prepare(options.wal_pages)) return error;
  db_.copy_log_at_close(true);
  checking_.later = !*checking_.sound;
  if (options.on_lost) watch_.start(options.on_lost);
  return std::nullopt;
}

// Makes a new file Subak's.
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

// Checks the whole store if that is quick. A large store is read completely while the service runs.
// The start reads the checkpoint and the later facts anyway, and stops at the first damage.
std::optional<Error> SqliteStore::check(bool content) {
  const auto tables = db_.number("SELECT count(*) FROM sqlite_master");
  if (!tables) return unreadable_store(db_, path_);
  if (*tables == 0) {
    *checking_.sound = true;
    return std::nullopt;
  }
  const Result<std::size_t> applied = check_applied(db_, sqlite_migrations());
  if (!applied.ok()) return applied.error();
  if (*applied < sqlite_migrations().size())
    return check_pragma(db_, path_, "PRAGMA quick_check(1)");
  if (auto error = check_schema(db_, path_)) return error;
  if (is_unfounded(db_)) return std::nullopt;
  const auto version = check_version(db_, path_, known_version_);
  if (!version.ok()) return version.error();
  const auto pages = db_.number("PRAGMA page_count");
  const auto page = db_.number("PRAGMA page_size");
  if (!pages || !page) return unreadable_store(db_, path_);
  if (!content || *pages * *page > limits::kQuickCheckBytes) return std::nullopt;
  if (auto error = check_content(db_, true)) return error;
  *checking_.sound = true;
  return std::nullopt;
}

// Writes the first rows, in one transaction. A store that has tables and none of these rows is new.
std::optional<Error> SqliteStore::found(const std::string& uuid) {
  if (!is_unfounded(db_)) return std::nullopt;
  if (const auto mark = lock_.mark(); mark && mark->facts > 0) {
    return damaged_store(path_, "its tables are empty, but it had " + std::to_string(mark->facts) +
                                    " facts at least");
  }
  Head head;
  head.facts_sum = crc32c(uuid);
  HeadWriter writer;
  const bool ok = writer.prepare(db_, crc32c(uuid)) && db_.exec("BEGIN IMMEDIATE") &&
                  write_meta(db_, "fact_version", "1") && write_meta(db_, "uuid", uuid) &&
                  writer.write(head) && db_.exec("COMMIT");
  if (ok) return std::nullopt;
  const Error error = db_.error("store.meta");
  db_.exec("ROLLBACK");
  return error;
}

std::optional<Error> SqliteStore::check_mark() const {
  const auto mark = lock_.mark();
  if (!mark || mark->seed != seed_ || mark->facts <= head_.facts) return std::nullopt;
  return damaged_store(path_, "it ends with fact " + std::to_string(head_.facts) + ", but fact " +
                                  std::to_string(mark->facts) +
                                  " was durable; if you put an older copy here yourself, remove " +
                                  path_ + ".lock");
}

std::optional<Error> SqliteStore::prepare(int wal_pages) {
  const auto seed = read_seed(db_);
  if (!seed.ok()) return seed.error();
  seed_ = *seed;
  const auto head = read_head(db_, seed_);
  if (!head.ok()) return head.error();
  head_ = *head;
  if (auto error = check_mark()) return error;
  const auto checkpoint = read_checkpoint_mark(db_, seed_);
  if (!checkpoint.ok()) return checkpoint.error();
  checkpoint_.seq = checkpoint->seq;
  const bool ok =
      transaction_.begin.prepare(db_, "BEGIN IMMEDIATE") &&
      transaction_.commit.prepare(db_, "COMMIT") &&
      transaction_.rollback.prepare(db_, "ROLLBACK") &&
      checkpoint_.insert.prepare(db_, "INSERT INTO checkpoint VALUES (?, ?, ?, ?, ?, ?)") &&
      checkpoint_.drop.prepare(db_, "DELETE FROM checkpoint WHERE seq = ? AND ord < ?") &&
      facts_.prepare(db_, seed_);
  if (!ok) return db_.error("store.open");
  // A read-only store fails at the first write: make that one now.
  if (!facts_.write(head_)) return db_.error("store.open");
  opened_ = true;
  note_durable();
  lock_.watch();
  return copier_.start(path_, db_, wal_pages);
}

}  // namespace subak
