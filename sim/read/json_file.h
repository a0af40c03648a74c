// JSON files of the offline commands. Threads: none.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <string>

#include "core/error.h"

namespace subak::sim {

// Returns all bytes of the file. Errors name the path: it cannot be opened (kNotFound), or has more
// than `most_bytes` (kInvalid).
Result<std::string> read_json_text(const std::string& path, std::size_t most_bytes);

// Returns the one value in the file. Errors as above, and kInvalid if it is not `want`, such as "a
// fairness case".
Result<boost::json::value> read_json_file(const std::string& path, std::size_t most_bytes,
                                          const std::string& want);

}  // namespace subak::sim
