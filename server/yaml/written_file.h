// Reads a file that people write, up to a limit. Threads: any.
#pragma once

#include <string>

#include "core/error.h"

namespace subak {

// All of it. An error names `field` and the path: the file cannot be read, is a folder, or is longer than
// limits::kMaxWrittenFileBytes, of which no more is read.
Result<std::string> read_written_file(const std::string& path, const std::string& field);

}  // namespace subak
