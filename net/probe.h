// Lets a service test its own listener, over a real connection to the listener's real socket.
// Listener::probe() uses it. If this process has no free socket for the probe, the result says so
// and does not blame the listener.
// Threads: any; the call blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/quantity.h"
#include "net/connection_limiter.h"

namespace subak {

// The result of a probe.
struct ProbeResult {
  enum class Kind {
    // The listener let the probe in and answered.
    kServes,
    // The listener let the probe in, but the answer was late or wrong.
    kSilent,
    // The listener did not let the probe in: it accepts no connections.
    kShut,
    // This process had no free socket or port, so the state of the listener is unknown.
    kNotAsked,
  };
  Kind kind = Kind::kServes;
  // The cause, as text for people. Empty if the listener serves.
  std::string detail;
};

// Connects to the listener of `limiter` as an expected connection, then calls `ask` with the
// socket. The listener is bound to `host`, an IP address, and `port`. For a wildcard address, the
// probe connects to loopback. The socket is blocking, and probe() closes it. `ask` returns what
// went wrong, or nothing. The connect blocks for at most `patience`. `ask` must have a time limit
// of its own.
ProbeResult probe(ConnectionLimiter& limiter, const std::string& host, std::uint16_t port,
                  DurationMs patience,
                  const std::function<std::optional<std::string>(int fd)>& ask);

}  // namespace subak
