// One health check of gRPC's own (grpc.health.v1) over a socket that is connected already.
// Private to server/api.
#pragma once

#include <optional>
#include <string>

#include "core/quantity.h"

namespace subak::api {

// What was wrong; nothing if the service answered, whatever it said. Plaintext; blocks for at most
// `patience`. The socket stays the caller's.
std::optional<std::string> ask_health(int fd, DurationMs patience);

}  // namespace subak::api
