// The port to a bare engine in this process. Threads: none.
#pragma once

#include <functional>
#include <vector>

#include "sim/port.h"

namespace subak::sim {

class EnginePort : public Port {
 public:
  // Receives every input with its outcome, before the next input is applied.
  using Observer = std::function<void(const Input&, const ApplyOutcome&)>;
  explicit EnginePort(Engine& engine, Observer observer = nullptr);

  Reply send(TimeMs t, in::Body body) override;
  std::vector<Effect> pass(TimeMs t) override;
  void tick(TimeMs t) override;
  std::optional<TimeMs> next_deadline() const override;

 private:
  Reply apply(TimeMs t, in::Body body);
  Engine& engine_;
  Observer observer_;
  std::vector<Effect> effects_;
};

}  // namespace subak::sim
