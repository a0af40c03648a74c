#include "sim/engine_port.h"

#include <iterator>
#include <utility>
#include <variant>

namespace subak::sim {

EnginePort::EnginePort(Engine& engine, Observer observer)
    : engine_(engine), observer_(std::move(observer)) {}

Reply EnginePort::apply(TimeMs t, in::Body body) {
  Input input;
  input.time_ms = t;
  input.body = std::move(body);
  ApplyOutcome outcome = engine_.apply(input);
  if (observer_) observer_(input, outcome);
  for (const Fact& fact : outcome.facts) {
    const auto* const ended = std::get_if<fact::AttemptEnded>(&fact.body);
    if (ended != nullptr && ended->to != JobState::kDone) again_.push_back(ended->id);
  }
  std::move(outcome.effects.begin(), outcome.effects.end(), std::back_inserter(effects_));
  return std::move(outcome.reply);
}

Reply EnginePort::send(TimeMs t, in::Body body) { return apply(t, std::move(body)); }

std::vector<Effect> EnginePort::pass(TimeMs t) {
  do {
    apply(t, in::Pass{});
  } while (engine_.pass_due());
  return std::exchange(effects_, {});
}

void EnginePort::tick(TimeMs t) { apply(t, in::Tick{}); }

std::vector<JobId> EnginePort::waiting_again() { return std::exchange(again_, {}); }

std::optional<TimeMs> EnginePort::next_deadline() const { return engine_.next_deadline(); }

}  // namespace subak::sim
