// The interface between the driver of a simulation and the engine. An implementation has an
// engine alone (engine_port.h), or a real service with a clock that the test sets. The driver
// decides everything else, so the same trace makes the same facts with every implementation.
// Threads: one at a time.
#pragma once

#include <optional>
#include <vector>

#include "engine/engine.h"

namespace subak::sim {

// One engine or service. The driver decides the order of the calls.
class Port {
 public:
  virtual ~Port() = default;
  // Sends one input at `t`, which never goes backwards. The input is never an in::Tick or in::Pass.
  virtual Reply send(TimeMs t, in::Body body) = 0;
  // Ends the batch: runs passes until none is due. Returns the effects since the last call, in the
  // order of the decisions.
  virtual std::vector<Effect> pass(TimeMs t) = 0;
  // Sends an in::Tick. Call it when the clock has reached a deadline.
  virtual void tick(TimeMs t) = 0;
  // Returns the jobs whose attempt has ended since the last call and that wait again, in the order
  // of these ends. An implementation without lost nodes and stopped jobs needs no list: the driver
  // knows of the ends that it reports itself.
  virtual std::vector<JobId> waiting_again() { return {}; }
  // Returns the next deadline; nullopt if there is none in this state.
  virtual std::optional<TimeMs> next_deadline() const = 0;
};

}  // namespace subak::sim
