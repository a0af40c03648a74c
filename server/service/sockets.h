// The numbers of connections: as core/limits.h wants, or as the system's open files allow. Private
// to server/service.
#pragma once

#include <cstddef>
#include <string>

#include "core/error.h"
#include "net/connection_limiter.h"

namespace subak {

// Raises the limit of open files to kWantedFiles, or as far as the system allows, and returns the
// result.
// By setrlimit(2), for this process. 0: the limit cannot be read. A higher limit stays.
std::size_t raise_open_files();

// Each in all and per address, without reserved connections.
struct ConnectionLimits {
  // Of the three listeners.
  ListenerLimits webhook, grpc, http;
};

// Divides `files` open files, less kOwnFiles and the room for probes: what core/limits.h wants, or
// the same part of each. An error: too few for a start; it says how many are needed.
// kPrecondition, field "open files". Less than wanted shrinks all in proportion, and each address
// keeps limits::kMinConnections.
Result<ConnectionLimits> share_files(std::size_t files);

// Returns the machine's name; empty if it has none.
std::string machine_name();

}  // namespace subak
