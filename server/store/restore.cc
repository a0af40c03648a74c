#include "server/store/restore.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "server/store/checks.h"
#include "server/store/copy.h"
#include "server/store/log_scan.h"
#include "server/store/replace.h"
#include "server/store/store_lock.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

// The copy until it is in place.
struct Draft {
  std::string path;
  ~Draft() { ::unlink(path.c_str()); }
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

}  // namespace

Result<Restored> restore_store(const RestoreOptions& options) {
  const std::string state = real_path(options.state);
  if (file_size(options.from) <= 0) {
    return Error{ErrorCode::kNotFound, options.from, "there is no such file, or it is empty",
                 "want a backup, or the state file of a subakd that is stopped"};
  }
  if (auto error = check_header(options.from)) return *error;
  if (auto error = check_log(options.from)) return *error;
  if (auto error = make_folder(state)) return *error;
  const auto lock = StoreLock::acquire(state, StoreLock::Missing::kLeave);
  if (!lock.ok()) return lock.error();
  if (store_is_there(state) && !options.force) {
    return Error{ErrorCode::kExists, state, "there is a store already",
                 "want a new path; or use --force, which puts the old store aside"};
  }
  const Draft draft{state + ".restoring"};
  ::unlink(draft.path.c_str());  // of a restore that was interrupted
  if (auto error = copy_store(options.from, draft.path, [] { return true; })) return *error;
  Result<StoreReport> report = verify_store(draft.path, std::nullopt);
  if (!report.ok()) {
    Error error = report.error();
    if (const auto at = error.field.find(draft.path); at != std::string::npos) {
      error.field.replace(at, draft.path.size(), options.from);
    }
    return error;
  }
  if (auto error = sync_file(draft.path)) return *error;
  auto replaced = replace_store(draft.path, state);
  if (!replaced.ok()) return replaced.error();
  lock->forget();
  return Restored{std::move(*report), std::move(*replaced)};
}

}  // namespace subak
