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
std::size_t raise_open_files();

struct ConnectionLimits {
  ListenerLimits webhook, grpc, http;
};

// Divides `files` open files, less kOwnFiles and the room for probes: what core/limits.h wants, or
// the same part of each. An error: too few for a start; it says how many are needed.
Result<ConnectionLimits> share_files(std::size_t files);

// Returns the machine's name; empty if it has none.
std::string machine_name();

}  // namespace subak
