#include "server/service/files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "server/store/postgres/database/address.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

std::optional<Error> make_private(const fs::path& folder) {
  std::error_code ignored;
  if (folder.empty() || fs::is_directory(folder, ignored)) return std::nullopt;
  if (auto error = make_private(folder.parent_path())) return error;
  if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return std::nullopt;
  return Error{ErrorCode::kPrecondition, "state", folder.string(),
               std::string("cannot make this folder: ") + std::strerror(errno)};
}

std::string local(const std::string& state) {
  return postgres::is_address(state) ? "var/subak" : state;
}

// Returns a file of this replica alone.
std::string own_file(const std::string& state, const std::string& folder, const char* suffix) {
  return folder.empty() ? local(state) + suffix : (fs::path(folder) / "subak").string() + suffix;
}

}  // namespace

std::optional<Error> make_folder(const std::string& folder) { return make_private(folder); }

std::optional<Error> make_state_folder(const std::string& state) {
  return make_private(fs::path(local(state)).parent_path());
}

std::string certificate_folder(const std::string& state) {
  return (fs::path(local(state)).parent_path() / "tls").string();
}

std::string input_trace_file(const std::string& state) { return local(state) + ".inputs"; }

std::string known_file(const std::string& state, const std::string& folder) {
  return own_file(state, folder, ".known");
}

std::string last_copy_file(const std::string& state, const std::string& folder) {
  return own_file(state, folder, ".static");
}

std::string copy_file(const std::string& state) { return local(state) + ".copy"; }

std::uint64_t state_bytes(const std::string& state) {
  std::uint64_t bytes = 0;
  for (const char* end : {"", "-wal"}) {
    std::error_code missing;
    const std::uintmax_t size = fs::file_size(state + end, missing);
    if (!missing) bytes += size;
  }
  return bytes;
}

}  // namespace subak
