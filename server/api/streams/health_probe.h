// One health check (grpc.health.v1) over a socket that is already connected. Private to server/api.
#pragma once

#include <optional>
#include <string>

#include "core/quantity.h"

namespace subak::api {

// Returns an error, or nothing if the service answered with any status. It speaks plaintext and
// blocks for at most `patience`. The caller still owns the socket.
// `fd`: a connected socket; it becomes non-blocking, since the flag is shared with the copy that
// gRPC uses. `patience` in ms. The check asks for the health of the complete server, not of one
// service. The error is text for a log.
std::optional<std::string> ask_health(int fd, DurationMs patience);

}  // namespace subak::api
