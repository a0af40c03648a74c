#include "server/store/file/activity_files.h"

#include <filesystem>
#include <system_error>

#include "core/limits.h"
#include "server/store/file/refusals.h"
#include "server/store/file/whole_file.h"

namespace subak {
namespace {

constexpr SummedKind kActivity{"subak activity 1\n", limits::kMaxFactBytes};

std::string path_of(const std::string& folder, std::int64_t part) {
  return folder + "/" + std::to_string(part);
}

}  // namespace

std::optional<Error> write_activity_file(const std::string& folder, std::uint32_t seed,
                                         std::int64_t part, std::string_view bytes) {
  std::error_code error;
  if (std::filesystem::create_directory(folder, error)) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  }
  if (error) return refuse_store(folder, error.message(), "want a folder that can be made");
  return write_summed_file(path_of(folder, part), kActivity, seed, bytes);
}

Result<std::string> read_activity_file(const std::string& folder, std::uint32_t seed,
                                       std::int64_t part) {
  return read_summed_file(path_of(folder, part), kActivity, seed);
}

}  // namespace subak
