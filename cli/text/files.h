// Reads files that the command line names. Threads: none.
#pragma once

#include <cstddef>
#include <string>

#include "core/limits.h"

namespace subak::cli {

// Returns the whole file, or standard input for "-". Throws Failure if the file does not exist
// (exit code 4), is unreadable (2) or is larger than `most_bytes` (2).
std::string read_input(const std::string& path,
                       std::size_t most_bytes = limits::kMaxInputFileBytes);

}  // namespace subak::cli
