// The limits of connections: as in core/limits.h, or as few as the system's open files allow.
// Private to server/service.
#pragma once

#include <cstddef>
#include <string>

#include "core/error.h"
#include "net/connection_limiter.h"

namespace subak {

// Raises the limit of open files to kWantedFiles, or as far as the system allows,
// and returns the limit.
// It uses setrlimit(2), for this process. A higher limit stays.
// It returns 0 if the limit cannot be read.
std::size_t raise_open_files();

// The limits of connections, in all and for each address, without reserved connections.
struct ConnectionLimits {
  // The limits of the three listeners.
  ListenerLimits webhook, grpc, http;
};

// Divides `files` open files among the listeners, after subtracting kOwnFiles and the files for
// probes. If they suffice, the limits are those of core/limits.h. If not, all limits become smaller
// in the same proportion, but an address may always have limits::kMinConnections.
// Fails with kPrecondition, field "open files", if there are too few files for a start. The error
// says how many are needed.
Result<ConnectionLimits> share_files(std::size_t files);

// Returns the machine's name; empty if it has none.
std::string machine_name();

}  // namespace subak
