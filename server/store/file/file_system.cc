#include "server/store/file/file_system.h"

#include <sys/vfs.h>

#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "server/store/file/refusals.h"

namespace subak {
namespace {

// linux/magic.h has only some of them.
constexpr std::array<std::pair<std::uint32_t, std::string_view>, 10> kOfANetwork{{
    {0x00006969, "NFS"},
    {0x0000517b, "SMB"},
    {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB2"},
    {0x01021997, "9P"},
    {0x5346414f, "AFS"},
    {0x6b414653, "AFS"},
    {0x73757245, "Coda"},
    {0x00c36400, "Ceph"},
    {0x0bd00bd0, "Lustre"},
}};

}  // namespace

std::uint32_t file_system_of(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  struct statfs info {};
  if (::statfs(folder.empty() ? "." : folder.c_str(), &info) != 0) return 0;
  return static_cast<std::uint32_t>(info.f_type);
}

std::optional<Error> check_file_system(const std::string& path, std::uint32_t kind) {
  for (const auto& [magic, name] : kOfANetwork) {
    if (magic != kind) continue;
    return refuse_store(path, "on " + std::string(name) + ", a network file system",
                        "want a disk of this machine: only its locks keep a second service out, "
                        "and only its sync makes facts durable");
  }
  return std::nullopt;
}

}  // namespace subak
