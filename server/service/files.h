// The files beside the store. If the state is in a database, their names begin with var/subak.
// Private to server/service.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// Makes a folder, and the folders above it, with mode 0700, if they are missing.
std::optional<Error> make_folder(const std::string& folder);
// Makes the folder of `state`, and the folders above it, with mode 0700, if they are missing.
std::optional<Error> make_state_folder(const std::string& state);
// Return the folder of the self-signed certificates, the first file of the input trace, and the
// file for a copy of a database (a state file copies itself).
std::string certificate_folder(const std::string& state);
std::string input_trace_file(const std::string& state);
std::string copy_file(const std::string& state);
// Returns the file with this replica's last durable sequence in a database. `folder`: as
// configured; empty: the folder of the other files.
std::string known_file(const std::string& state, const std::string& folder);
// Returns the file with the webhook's last basis, in that folder.
std::string last_copy_file(const std::string& state, const std::string& folder);
// Returns the size of the state file and its log in bytes; 0 if there are none.
std::uint64_t state_bytes(const std::string& state);

}  // namespace subak
