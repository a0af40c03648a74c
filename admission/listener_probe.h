// The client's half of Listener::probe. Private to admission.
#pragma once

#include <optional>
#include <string>

#include "core/quantity.h"

namespace subak {

// One GET of "/" over a connected socket, which stays the caller's. What was wrong; nothing if any
// HTTP answer came within `patience`. The certificate is not verified: we know whom we ask.
std::optional<std::string> ask_http(int fd, bool tls, DurationMs patience);

}  // namespace subak
