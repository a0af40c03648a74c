// One health check (grpc.health.v1) over a socket that is already connected. Private to server/api.
// Threads: any.
#pragma once

#include <optional>
#include <string>

#include "core/quantity.h"

namespace subak::api {

// Asks for the health of the complete server, not of one gRPC service. nullopt: the server has
// answered, whatever status it reported. Otherwise the result is a text for the log. It speaks
// plaintext and blocks for at most `patience` ms. `fd`: a connected socket, which the caller still
// owns. The socket becomes non-blocking, because gRPC uses a copy of the descriptor that shares
// this flag.
std::optional<std::string> ask_health(int fd, DurationMs patience);

}  // namespace subak::api
