// The port to an engine in this process, without the service's runtime, store and clock.
// Threads: one at a time.
#pragma once

#include <functional>
#include <vector>

#include "sim/port.h"

namespace subak::sim {

// Gives each input to the engine at once, and collects the effects for pass().
class EnginePort : public Port {
 public:
  // Receives every input, including ticks and passes, with its outcome. The port calls the observer
  // before it applies the next input.
  using Observer = std::function<void(const Input&, const ApplyOutcome&)>;
  // The engine must outlive the port. `observer` may be empty.
  explicit EnginePort(Engine& engine, Observer observer = nullptr);

  Reply send(TimeMs t, in::Body body) override;
  std::vector<Effect> pass(TimeMs t) override;
  void tick(TimeMs t) override;
  std::vector<JobId> waiting_again() override;
  std::optional<TimeMs> next_deadline() const override;

 private:
  // Applies one input and stores its effects.
  Reply apply(TimeMs t, in::Body body);
  // The engine, which the port does not own.
  Engine& engine_;
  Observer observer_;
  // The effects since the last pass(), in the order of the decisions.
  std::vector<Effect> effects_;
  // The jobs of waiting_again().
  std::vector<JobId> again_;
};

}  // namespace subak::sim
