// One health check (grpc.health.v1) over a socket that is already connected. Private to server/api.
#pragma once

#include <optional>
#include <string>

#include "core/quantity.h"

namespace subak::api {

// Returns an error, or nothing if the service answered with any status. Plaintext; blocks for at
// most `patience`. The caller keeps the socket.
std::optional<std::string> ask_health(int fd, DurationMs patience);

}  // namespace subak::api
