// Reads and writes files that the command line names. Threads: any.
#pragma once

#include <cstddef>
#include <string>

#include "core/limits.h"

namespace subak::cli {

// Returns the text of the file; for "-", the text of standard input. Throws Failure if the file
// does not exist (exit code 4), is unreadable (2) or is larger than `most_bytes` (2).
std::string read_input(const std::string& path,
                       std::size_t most_bytes = limits::kMaxInputFileBytes);

// Writes the text into the file that the option `flag` names. Throws Failure (usage) if the file
// cannot be written.
void write_output(const std::string& flag, const std::string& path, const std::string& text);

}  // namespace subak::cli
