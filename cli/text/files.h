// Files named on the command line. Threads: none.
#pragma once

#include <cstddef>
#include <string>

#include "core/limits.h"

namespace subak::cli {

// Returns the whole file, or standard input for "-". Throws Failure: not found (4), larger than
// `most_bytes` or unreadable (2).
std::string read_input(const std::string& path,
                       std::size_t most_bytes = limits::kMaxInputFileBytes);

}  // namespace subak::cli
