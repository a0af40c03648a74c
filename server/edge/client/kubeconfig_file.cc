#include "server/edge/client/kubeconfig_file.h"

#include <filesystem>
#include <fstream>

#include "core/limits.h"

namespace subak {

Result<KubeAccess> read_kubeconfig_file(const std::string& path, const std::string& context) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{ErrorCode::kNotFound, "kubeconfig", path, "want a file that can be read"};
  }
  std::string text(limits::kMaxKubeconfigBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  const auto folder = std::filesystem::absolute(path).parent_path();
  return read_kubeconfig(text, folder.string(), context);
}

}  // namespace subak
