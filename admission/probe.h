// A service that asks its own listener, over a real connection through the listener's real socket.
// What comes back is a judgement on the listener, not on this process's luck with sockets.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "admission/door.h"
#include "core/quantity.h"

namespace subak {

struct ProbeResult {
  enum class Kind {
    kServes,
    kSilent,    // let in, but the answer did not come in time or was wrong
    kShut,      // not let in: the listener accepts no more
    kNotAsked,  // no socket or port could be had: nothing is known
  };
  Kind kind = Kind::kServes;
  std::string detail;  // why, unless it serves
};

// Connects to the listener of `door`, which is bound to host (an address; a wildcard is asked on
// loopback) and port, as an expected connection, and lets `ask` talk over the socket, which is
// blocking and stays ours. What `ask` returns is what went wrong. Blocks for at most `patience` to
// connect; `ask` has a bound of its own.
ProbeResult probe(Door& door, const std::string& host, std::uint16_t port, DurationMs patience,
                  const std::function<std::optional<std::string>(int fd)>& ask);

}  // namespace subak
