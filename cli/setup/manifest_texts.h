// The files of deploy/kubernetes, unchanged; made by CMake. Threads: any.
#pragma once

#include <string_view>

namespace subak::cli {

// `file`: "webhooks.yaml". Returns an empty text if there is no such file.
std::string_view manifest_text(std::string_view file);

}  // namespace subak::cli
