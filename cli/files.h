// Files named on the command line. Threads: none.
#pragma once

#include <string>

namespace subak::cli {

// The whole file, or standard input for "-". Throws Failure: not found (4), larger than
// limits::kMaxInputFileBytes or unreadable (2).
std::string read_input(const std::string& path);

}  // namespace subak::cli
