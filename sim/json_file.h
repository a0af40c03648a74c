// JSON files of the offline commands. Threads: none.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <string>

#include "core/error.h"

namespace subak::sim {

// All bytes of the file. Errors name the path: it cannot be opened (kNotFound), or has more than
// `most_bytes` (kInvalid).
Result<std::string> read_json_text(const std::string& path, std::size_t most_bytes);

// The one value in the file. Errors as above, and that it is not `want`, such as "a fairness case"
// (kInvalid).
Result<boost::json::value> read_json_file(const std::string& path, std::size_t most_bytes,
                                          const std::string& want);

}  // namespace subak::sim
