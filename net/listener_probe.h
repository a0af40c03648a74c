// The client's part of Listener::probe(). Private to net.
#pragma once

#include <optional>
#include <string>

#include "core/quantity.h"

namespace subak {

// Sends one GET of "/" over a connected socket, which the caller still owns. Returns what was
// wrong, or nothing if any HTTP answer came within `patience`. It does not verify the certificate,
// because the peer is this process.
std::optional<std::string> ask_http(int fd, bool tls, DurationMs patience);

}  // namespace subak
