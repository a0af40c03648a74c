// Opens a store of subakd in a file, for commands that need no service.
// Threads: one at a time.
#pragma once

#include <memory>
#include <string>

#include "server/runtime/ports.h"

namespace subak::cli {

// Opens the file for reading only; a service may use it meanwhile. Throws a Failure: there is no
// such file, it is empty, or it is no store that this program can read. If the field of an error is
// `option`, the failure names the option of this name (store_failure()).
std::unique_ptr<StoreReader> open_store_file(const std::string& path, const std::string& option);

}  // namespace subak::cli
