// The files of deploy/kubernetes, unchanged. The build compiles their texts into the program
// (manifest_texts.cc.in). Threads: any.
#pragma once

#include <string_view>

namespace subak::cli {

// Returns the text of a file. `file` is its name, such as "webhooks.yaml". Empty: there is no such
// file.
std::string_view manifest_text(std::string_view file);

}  // namespace subak::cli
