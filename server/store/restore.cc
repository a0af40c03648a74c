#include "server/store/restore.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "server/store/checks.h"
#include "server/store/copy.h"
#include "server/store/lock_file.h"

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

bool is_there(const std::string& state) {
  return file_size(state) > 0 || file_size(state + "-wal") > 0;
}

// The first name that is free: "subak.db.replaced-1".
std::string aside(const std::string& state) {
  for (int i = 1;; ++i) {
    const std::string name = state + ".replaced-" + std::to_string(i);
    if (file_size(name) < 0 && file_size(name + "-wal") < 0) return name;
  }
}

// The file keeps its name too until the new one takes it: a service that starts in between must not
// find nothing and begin a new store. Its log goes: left behind, SQLite would apply it to the file
// that comes.
std::optional<Error> put_aside(const std::string& state, const std::string& name) {
  std::error_code error;
  if (file_size(state) >= 0) {
    fs::create_hard_link(state, name, error);
    if (error) fs::copy_file(state, name, error);  // a file system without links
    if (error) return refuse_store(name, error.message(), "want a file that can be made");
  }
  for (const char* part : {"-wal", "-shm"}) {
    if (file_size(state + part) >= 0) fs::rename(state + part, name + part, error);
    if (error) return refuse_store(state + part, error.message(), "want a file that can be moved");
  }
  return std::nullopt;
}

}  // namespace

Result<Restored> restore_store(const RestoreOptions& options) {
  const std::string& state = options.state;
  if (file_size(options.from) <= 0) {
    return Error{ErrorCode::kNotFound, options.from, "there is no such file, or it is empty",
                 "want a backup, or the state file of a subakd that is stopped"};
  }
  if (auto error = check_header(options.from)) return *error;
  if (auto error = make_folder(state)) return *error;
  const auto lock = LockFile::acquire(state + ".lock");
  if (!lock.ok()) return lock.error();
  if (is_there(state) && !options.force) {
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
  Restored out{std::move(*report), ""};
  if (is_there(state)) {
    out.replaced = aside(state);
    if (auto error = put_aside(state, out.replaced)) return *error;
  }
  std::error_code error;
  fs::rename(draft.path, state, error);
  if (error) return refuse_store(state, error.message(), "want a file that can be replaced");
  if (auto failed = sync_file(state)) return *failed;
  return out;
}

}  // namespace subak
