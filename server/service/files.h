// The files beside the store; `state` is a local_state() where nothing else is said. Private to server/service.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// What the files beside the store are named after: the store's file, or "var/subak" beside a database.
std::string local_state(const std::string& state);
// Makes the folder of `state` (and those above it) with mode 0700 if it is missing.
std::optional<Error> make_state_folder(const std::string& state);
// The folder of the self-signed certificates and the first file of the input trace.
std::string certificate_folder(const std::string& state);
std::string input_trace_file(const std::string& state);
// What the state file and its log take; 0 while there are none.
std::uint64_t state_bytes(const std::string& state);

}  // namespace subak
