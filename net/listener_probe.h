// The client's part of Listener::probe(), by which a process tests its own listener. Private to
// net.
// Threads: any; the call blocks for at most `patience`.
#pragma once

#include <optional>
#include <string>

#include "core/quantity.h"

namespace subak {

// Sends one GET of "/" over the connected socket `fd`, with TLS if `tls` is true. The caller still
// owns the socket. Returns what was wrong, or nothing if any HTTP/1.1 answer came within
// `patience`. It does not verify the certificate, because the peer is this process.
std::optional<std::string> ask_http(int fd, bool tls, DurationMs patience);

}  // namespace subak
