// JSON files of the offline commands. Threads: any.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <string>

#include "core/error.h"

namespace subak::sim {

// Returns all bytes of the file. Errors name the path. kNotFound: the file cannot be opened.
// kInvalid: the file has more than `most_bytes`.
Result<std::string> read_json_text(const std::string& path, std::size_t most_bytes);

// Returns the one value in the file. Errors are those of read_json_text(), and kInvalid if the file
// has no JSON value. The message of kInvalid then says that the file should be `want`, such as "a
// fairness case".
Result<boost::json::value> read_json_file(const std::string& path, std::size_t most_bytes,
                                          const std::string& want);

}  // namespace subak::sim
