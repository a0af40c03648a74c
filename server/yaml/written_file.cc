#include "server/yaml/written_file.h"

#include <fstream>

#include "core/edge_limits.h"

namespace subak {

Result<std::string> read_written_file(const std::string& path, const std::string& field) {
  const Error unreadable{ErrorCode::kNotFound, field, path, "want a file that can be read"};
  std::ifstream in(path, std::ios::binary);
  if (!in) return unreadable;
  std::string text;
  char block[65536];
  while (in.read(block, sizeof block) || in.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(in.gcount()));
    if (text.size() > limits::kMaxWrittenFileBytes) {
      return Error{
          ErrorCode::kInvalid, field, path,
          "want a file of at most " + std::to_string(limits::kMaxWrittenFileBytes >> 20) + " MiB"};
    }
  }
  return in.bad() ? Result<std::string>(unreadable) : Result(std::move(text));
}

}  // namespace subak
