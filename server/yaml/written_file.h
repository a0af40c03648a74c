// Reads a file that people write, such as the receivers file or a price list, up to a limit of its
// size. Threads: any.
#pragma once

#include <string>

#include "core/error.h"

namespace subak {

// Returns the content of the file. kNotFound: the file cannot be opened or read, or it is a folder.
// kInvalid: the file is longer than limits::kMaxWrittenFileBytes. Errors have `field` and the path.
Result<std::string> read_written_file(const std::string& path, const std::string& field);

}  // namespace subak
