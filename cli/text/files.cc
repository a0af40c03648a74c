#include "cli/text/files.h"

#include <fstream>
#include <iostream>
#include <sstream>

#include "cli/text/failure.h"

namespace subak::cli {
namespace {

std::string read_all(std::istream& in, const std::string& name, std::size_t most_bytes) {
  std::string text;
  char block[65536];
  while (in.read(block, sizeof block) || in.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(in.gcount()));
    if (text.size() > most_bytes) {
      throw usage_failure(name + ": larger than " + std::to_string(most_bytes >> 20) + " MiB",
                          "split it");
    }
  }
  if (in.bad()) throw usage_failure(name + ": cannot be read", "name a file that you may read");
  return text;
}

}  // namespace

std::string read_input(const std::string& path, std::size_t most_bytes) {
  if (path == "-") return read_all(std::cin, "standard input", most_bytes);
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw Failure{kExitNotFound, path + ": cannot be opened",
                  "name a file that exists, or - for standard input"};
  return read_all(in, path, most_bytes);
}

void write_output(const std::string& flag, const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text << std::flush;
  if (!out) throw Failure{kExitUsage, flag + " " + path + ": cannot be written", "", "", ""};
}

}  // namespace subak::cli
