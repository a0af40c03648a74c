// The port to a bare engine in this process: no runtime, no store, no clock. Threads: none.
#pragma once

#include <functional>
#include <vector>

#include "sim/port.h"

namespace subak::sim {

// Gives each input to the engine at once, and collects the effects for pass().
class EnginePort : public Port {
 public:
  // Receives every input with its outcome, ticks and passes included, before the next input is
  // applied.
  using Observer = std::function<void(const Input&, const ApplyOutcome&)>;
  // The engine must outlive the port. `observer` may be empty.
  explicit EnginePort(Engine& engine, Observer observer = nullptr);

  Reply send(TimeMs t, in::Body body) override;
  std::vector<Effect> pass(TimeMs t) override;
  void tick(TimeMs t) override;
  std::optional<TimeMs> next_deadline() const override;

 private:
  // Applies one input and stores its effects.
  Reply apply(TimeMs t, in::Body body);
  // Not owned.
  Engine& engine_;
  Observer observer_;
  // Effects since the last pass(), in the order of the decisions.
  std::vector<Effect> effects_;
};

}  // namespace subak::sim
