// The engine alone, behind the port of the simulator's driver.
// Threads: one at a time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/engine.h"
#include "sim/driver.h"
#include "sim/port.h"

namespace subak {

// An engine that passes each of its facts on, in their order.
class FactPort final : public sim::Port {
 public:
  using Sink = std::function<void(const Fact&)>;
  // `submitter`: the actor of each submission. The API names its caller so.
  explicit FactPort(Sink sink, std::string submitter = "")
      : sink_(std::move(sink)), submitter_(std::move(submitter)) {}

  Reply send(TimeMs t, in::Body body) override { return apply(t, std::move(body)); }
  std::vector<Effect> pass(TimeMs t) override {
    apply(t, in::Pass{});
    return std::exchange(effects_, {});
  }
  void tick(TimeMs t) override { apply(t, in::Tick{}); }
  std::optional<TimeMs> next_deadline() const override { return engine_.next_deadline(); }
  const Engine& engine() const { return engine_; }

 private:
  Reply apply(TimeMs t, in::Body body) {
    const bool submits = std::holds_alternative<in::SubmitJob>(body);
    ApplyOutcome outcome = engine_.apply({t, "", submits ? submitter_ : "", std::move(body)});
    for (const Fact& fact : outcome.facts) sink_(fact);
    effects_.insert(effects_.end(), outcome.effects.begin(), outcome.effects.end());
    return outcome.reply;
  }

  Sink sink_;
  std::string submitter_;
  Engine engine_;
  std::vector<Effect> effects_;
};

// An observer that ignores every step.
class Nobody final : public sim::Observer {
  void submitted(std::uint32_t, JobId, TimeMs) override {}
  void started(std::uint32_t, TimeMs, const std::vector<EffectPod>&) override {}
  void ended(std::uint32_t, TimeMs) override {}
};

}  // namespace subak
