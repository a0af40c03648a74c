#include "server/store/sqlite/replace.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "server/store/file/activity_files.h"
#include "server/store/file/copy.h"
#include "server/store/file/side_files.h"
#include "server/store/past/past_files.h"
#include "server/store/proof/checks.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

// Returns the first free name: "subak.db.replaced-1".
std::string aside(const std::string& state) {
  for (int i = 1;; ++i) {
    const std::string name = state + ".replaced-" + std::to_string(i);
    if (file_size(name) < 0 && file_size(name + "-wal") < 0) return name;
  }
}

// The file keeps its name too until the new one replaces it. Otherwise a service that starts in
// between would begin a new store. Its log is moved: SQLite would apply it to the new file. The
// calibration file, the marks of notices, the sums of activity and the past checkpoints are moved
// too.
std::optional<Error> put_aside(const std::string& state, const std::string& name) {
  std::error_code error;
  if (file_size(state) >= 0) {
    fs::create_hard_link(state, name, error);
    if (error) fs::copy_file(state, name, error);  // a file system without links
    if (error) return refuse_store(name, error.message(), "want a file that can be made");
  }
  for (const char* part : {"-wal", "-shm", kCalibrationSuffix, kNoticeSuffix}) {
    if (file_size(state + part) >= 0) fs::rename(state + part, name + part, error);
    if (error) return refuse_store(state + part, error.message(), "want a file that can be moved");
  }
  for (const char* folder : {kActivitySuffix, kPastSuffix}) {
    if (fs::exists(state + folder, error)) fs::rename(state + folder, name + folder, error);
    if (error) return refuse_store(state + folder, error.message(), "want a folder to move");
  }
  return std::nullopt;
}

}  // namespace

bool store_is_there(const std::string& state) {
  return file_size(state) > 0 || file_size(state + "-wal") > 0;
}

Result<std::string> replace_store(const std::string& draft, const std::string& state) {
  std::string replaced;
  if (store_is_there(state)) {
    replaced = aside(state);
    if (auto error = put_aside(state, replaced)) return *error;
  }
  std::error_code error;
  fs::rename(draft, state, error);
  if (error) return refuse_store(state, error.message(), "want a file that can be replaced");
  if (auto failed = sync_file(state)) return *failed;
  return replaced;
}

}  // namespace subak
