#include "server/store/move/restore.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "server/store/file/copy.h"
#include "server/store/file/store_lock.h"
#include "server/store/move/copy_history.h"
#include "server/store/proof/checks.h"
#include "server/store/proof/head.h"
#include "server/store/proof/log_scan.h"
#include "server/store/proof/migrate.h"
#include "server/store/proof/sqlite_reader.h"
#include "server/store/sqlite/replace.h"
#include "server/store/sqlite/sqlite_store.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

// The copy until it is in place, with the files beside an open store. It first removes what an
// interrupted restore left.
struct Draft {
  std::string path;
  explicit Draft(std::string at) : path(std::move(at)) { remove(); }
  ~Draft() { remove(); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  void remove() const {
    for (const char* const end : {"", "-wal", "-shm", ".lock"}) ::unlink((path + end).c_str());
  }
};

std::optional<Error> make_folder(const std::string& state) {
  const fs::path folder = fs::path(state).parent_path();
  std::error_code error;
  if (folder.empty() || fs::is_directory(folder, error)) return std::nullopt;
  if (fs::create_directories(folder, error)) {
    fs::permissions(folder, fs::perms::owner_all, error);
  }
  if (!error) return std::nullopt;
  return refuse_store(folder.string(), error.message(), "want a folder that can be made");
}

// Migrates a copy of a store of an older version. Leaves all other files as they are: the check of
// the copy says what is wrong with them.
std::optional<Error> migrate_old(const std::string& path) {
  Connection db;
  if (!db.open(path, OpenMode::kReadWrite) || check_owner(db, path)) return std::nullopt;
  const auto applied = check_applied(db, sqlite_migrations());
  if (!applied.ok() || *applied == 0 || *applied == sqlite_migrations().size()) {
    return std::nullopt;
  }
  const Result<int> made = migrate(db, sqlite_migrations());
  return made.ok() ? std::nullopt : std::optional(made.error());
}

// The error names the operator's file, not its copy.
Error named_as(Error error, const std::string& draft, const std::string& from) {
  if (const auto at = error.field.find(draft); at != std::string::npos) {
    error.field.replace(at, draft.size(), from);
  }
  return of_backup(std::move(error));
}

// Copies the facts up to `last`, under the same uuid.
std::optional<Error> copy_until(StoreReader& from, const std::string& uuid, const std::string& to,
                                std::uint64_t last) {
  SqliteOptions options{to};
  options.uuid = uuid;
  auto store = open_sqlite_store(options);
  if (!store.ok()) return store.error();
  const auto copied = copy_history(
      from, **store, [] { return true; }, last);
  if (!copied.ok()) return copied.error();
  return std::nullopt;
}

// Makes `draft` a store that ends where `until` says, and proves it.
Result<Restored> shorten(const Draft& draft, const Until& until) {
  const Draft whole(draft.path + "-whole");
  std::error_code error;
  fs::rename(draft.path, whole.path, error);
  if (error) return refuse_store(whole.path, error.message(), "want a folder that can be written");
  auto reader = SqliteReader::open(whole.path, kFactVersion);
  if (!reader.ok()) return reader.error();
  auto cut = find_cut(**reader, until);
  if (!cut.ok()) return cut.error();
  const auto uuid = read_uuid(whole.path);
  if (!uuid.ok()) return uuid.error();
  if (auto failed = copy_until(**reader, *uuid, draft.path, cut->state.seq)) return *failed;
  auto report = verify_store(draft.path, cut->state);
  if (!report.ok()) return report.error();
  return Restored{std::move(*report), "", std::move(*cut)};
}

}  // namespace

Error of_backup(Error error) {
  if (says_damage(error))
    error.want = "want an undamaged backup: use another one; nothing was changed";
  return error;
}

Result<Restored> restore_store(const RestoreOptions& options) {
  const std::string state = real_path(options.state);
  if (file_size(options.from) <= 0) {
    return Error{ErrorCode::kNotFound, options.from, "there is no such file, or it is empty",
                 "want a backup, or the state file of a subakd that is stopped"};
  }
  if (auto error = check_header(options.from)) return of_backup(*error);
  if (auto error = check_log(options.from)) return of_backup(*error);
  if (auto error = make_folder(state)) return *error;
  const auto lock = StoreLock::acquire(state, StoreLock::Missing::kLeave);
  if (!lock.ok()) return lock.error();
  if (store_is_there(state) && !options.force) {
    return Error{ErrorCode::kExists, state, "there is a store already",
                 "want a new path; or use --force, which puts the old store aside"};
  }
  const Draft draft(state + ".restoring");
  if (auto error = copy_store(options.from, draft.path, [] { return true; }))
    return of_backup(*error);
  if (auto error = migrate_old(draft.path)) return named_as(*error, draft.path, options.from);
  Result<StoreReport> report = verify_store(draft.path, std::nullopt);
  if (!report.ok()) return named_as(report.error(), draft.path, options.from);
  Restored done{std::move(*report), "", std::nullopt};
  if (options.until) {
    auto shortened = shorten(draft, *options.until);
    if (!shortened.ok()) return named_as(shortened.error(), draft.path, options.from);
    done = std::move(*shortened);
  }
  if (auto error = sync_file(draft.path)) return *error;
  auto replaced = replace_store(draft.path, state);
  if (!replaced.ok()) return replaced.error();
  lock->forget();
  done.replaced = std::move(*replaced);
  return done;
}

}  // namespace subak
