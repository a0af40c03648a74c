// Lets a service test its own listener, over a real connection through the listener's real socket.
// The result says whether the listener works, independent of this process's free sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/quantity.h"
#include "net/connection_limiter.h"

namespace subak {

// What a probe found.
struct ProbeResult {
  enum class Kind {
    // The listener let the probe in and answered.
    kServes,
    // Let in, but the answer was late or wrong.
    kSilent,
    // Not let in: the listener accepts no more.
    kShut,
    // No socket or port was free, so nothing is known.
    kNotAsked,
  };
  Kind kind = Kind::kServes;
  // Why, as text for people. Empty if it serves.
  std::string detail;
};

// Connects to the listener of `limiter` as an expected connection, and lets `ask` talk over the
// socket. The listener is bound to host (an address; a wildcard is reached on loopback) and port.
// The socket is blocking and stays the probe's. `ask` returns what went wrong. Blocks for at most
// `patience` to connect; `ask` has a bound of its own.
ProbeResult probe(ConnectionLimiter& limiter, const std::string& host, std::uint16_t port,
                  DurationMs patience,
                  const std::function<std::optional<std::string>(int fd)>& ask);

}  // namespace subak
