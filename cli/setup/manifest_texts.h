// The files of deploy/kubernetes as they are; made by CMake. Threads: any.
#pragma once

#include <string_view>

namespace subak::cli {

// "webhooks.yaml"; empty if there is no such file.
std::string_view manifest_text(std::string_view file);

}  // namespace subak::cli
