// Returns the paths of the service's files beside the store, and makes their folders. `state` is
// Config::state: the path of the store, or the address of a database. With a database, the paths
// begin with var/subak. Threads: any. Private to server/service.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/error.h"

namespace subak {

// Makes a folder with mode 0700 if it is missing, and in the same way the folders above it.
std::optional<Error> make_folder(const std::string& folder);
// Works as make_folder(), for the folder that has the file `state`.
std::optional<Error> make_state_folder(const std::string& state);
// These functions return three paths: the folder of the self-signed certificates, the first file of
// the input trace, and the file for a copy of a database. Only a store in a database needs the
// third path.
std::string certificate_folder(const std::string& state);
std::string input_trace_file(const std::string& state);
std::string copy_file(const std::string& state);
// Returns the path of the file with the last durable fact that this replica knows (DurableMark).
// `folder`: the configured folder; empty: the folder of the other files.
std::string known_file(const std::string& state, const std::string& folder);
// Returns the path of the file with the last data by which the webhook decided (LastCopy).
// `folder`: as for known_file().
std::string last_copy_file(const std::string& state, const std::string& folder);
// Returns the size of the state file, including its log, in bytes; 0: there is no such file.
std::uint64_t state_bytes(const std::string& state);

}  // namespace subak
