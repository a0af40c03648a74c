#include "cli/files.h"

#include <fstream>
#include <iostream>
#include <sstream>

#include "cli/failure.h"
#include "core/limits.h"

namespace subak::cli {
namespace {

std::string read_all(std::istream& in, const std::string& name) {
  std::string text;
  char block[65536];
  while (in.read(block, sizeof block) || in.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(in.gcount()));
    if (text.size() > limits::kMaxInputFileBytes) {
      throw usage_failure(
          name + ": larger than " + std::to_string(limits::kMaxInputFileBytes >> 20) + " MiB",
          "split it");
    }
  }
  if (in.bad()) throw usage_failure(name + ": cannot be read", "name a file that you may read");
  return text;
}

}  // namespace

std::string read_input(const std::string& path) {
  if (path == "-") return read_all(std::cin, "standard input");
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw Failure{kExitNotFound, path + ": cannot be opened",
                  "name a file that exists, or - for standard input"};
  return read_all(in, path);
}

}  // namespace subak::cli
