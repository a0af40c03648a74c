// Makes the inputs that tests of the engine send.
// Threads: one at a time.
#pragma once

#include <string>
#include <utility>

#include "model/input.h"

namespace subak {

inline Input at(TimeMs t, in::Body body, std::string request_id = "") {
  Input input;
  input.time_ms = t;
  input.actor = "test";
  input.request_id = std::move(request_id);
  input.body = std::move(body);
  return input;
}

}  // namespace subak
