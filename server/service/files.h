// The files beside the store; beside a database they are named after var/subak. Private to server/service.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// Makes a folder (and those above it) with mode 0700 if it is missing.
std::optional<Error> make_folder(const std::string& folder);
// Makes the folder of `state` (and those above it) with mode 0700 if it is missing.
std::optional<Error> make_state_folder(const std::string& state);
// The folder of the self-signed certificates, the first file of the input trace, and the copy that a database makes of
// itself (a file makes its own).
std::string certificate_folder(const std::string& state);
std::string input_trace_file(const std::string& state);
std::string copy_file(const std::string& state);
// Where a replica keeps what it knows to be durable in a database; `folder`: as configured, empty: where the others are.
std::string known_file(const std::string& state, const std::string& folder);
// Beside it: what its webhook judges by.
std::string last_copy_file(const std::string& state, const std::string& folder);
// What the state file and its log take; 0 while there are none.
std::uint64_t state_bytes(const std::string& state);

}  // namespace subak
