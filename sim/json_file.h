// JSON files of the offline commands. Threads: none.
#pragma once

#include <boost/json/value.hpp>
#include <cstddef>
#include <string>

#include "core/error.h"

namespace subak::sim {

// The one value in the file. Errors name the path: it cannot be opened (kNotFound), has more than
// `most_bytes`, or is not `want`, such as "the output of kubectl get nodes -o json" (kInvalid).
Result<boost::json::value> read_json_file(const std::string& path, std::size_t most_bytes,
                                          const std::string& want);

}  // namespace subak::sim
