// Computes the limits on connections. The limits are those of core/limits.h, or smaller if the
// system allows too few open files. Threads: any; call raise_open_files() before the listeners
// start. Private to server/service.
#pragma once

#include <cstddef>
#include <string>

#include "core/error.h"
#include "net/connection_limiter.h"

namespace subak {

// Raises this process's limit on open files to kWantedFiles, or as far as the system allows, by
// setrlimit(2). If the limit is higher already, it stays. Returns the new limit; 0: the limit
// cannot be read.
std::size_t raise_open_files();

// The limits on connections, in all and from one address. The connections that are reserved for the
// service's own probes (limits::kReservedConnections) do not count.
struct ConnectionLimits {
  // The limits of the three listeners.
  ListenerLimits webhook, grpc, http;
};

// Divides `files` open files among the listeners. First it subtracts kOwnFiles, and the files for
// reserved connections and for connections that are closing. If there are enough files, the limits
// are those of core/limits.h. If not, all limits become smaller in the same proportion, but one
// address may always have limits::kMinConnections. If there are too few files for a start, it fails
// with kPrecondition, with the field "open files". The error says how many are needed.
Result<ConnectionLimits> share_files(std::size_t files);

// Returns the host name of the machine, by gethostname(2); empty if that fails.
std::string machine_name();

}  // namespace subak
