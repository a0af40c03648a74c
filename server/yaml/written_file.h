// Reads a file that people write, up to a limit. Threads: any.
#pragma once

#include <string>

#include "core/error.h"

namespace subak {

// Returns the whole file. An error names `field` and the path: the file is unreadable, is a folder,
// or is longer than limits::kMaxWrittenFileBytes. No more than that is read.
// kNotFound: it cannot be opened or read. kInvalid: it has more than limits::kMaxWrittenFileBytes.
// Both have `field` and the path.
Result<std::string> read_written_file(const std::string& path, const std::string& field);

}  // namespace subak
