// Where the driver of a simulation speaks to what it drives: the bare engine (engine_port.h), or a
// real service with a clock that the test turns. The driver decides everything else, so the same
// trace makes the same facts through both. Threads: none.
#pragma once

#include <optional>
#include <vector>

#include "engine/engine.h"

namespace subak::sim {

class Port {
 public:
  virtual ~Port() = default;
  // Hands over one input at `t`, which never goes backwards. Never an in::Tick or in::Pass.
  virtual Reply send(TimeMs t, in::Body body) = 0;
  // Ends the batch: passes are run until none is due; returns what is to be done outside since the
  // last call, in the order in which it was decided.
  virtual std::vector<Effect> pass(TimeMs t) = 0;
  // The clock has come to a deadline.
  virtual void tick(TimeMs t) = 0;
  // When the next one is; nullopt: never, as things stand.
  virtual std::optional<TimeMs> next_deadline() const = 0;
};

}  // namespace subak::sim
