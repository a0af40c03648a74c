// Sends the inputs of a random world (tests/oracle/random_world.h) to a Life (life.h), one to three
// at a time, and records which of them were answered, and when.
#pragma once

#include <utility>

#include "life.h"
#include "tests/oracle/random_world.h"

namespace subak::test {

class RandomLife {
 public:
  explicit RandomLife(std::uint64_t seed) : world_({seed, false}), rng_(seed), name_(seed) {}

  // Sends the next one to three inputs, and appends them to `said`. False: the life has ended.
  bool turn(Life& life, FakeClock& clock, std::vector<Said>& said) {
    std::vector<Input> inputs;
    for (std::uint64_t left = 1 + rng_.below(3); left > 0; --left) inputs.push_back(next());
    clock.set_wall(inputs.back().time_ms);
    std::vector<Said> answers = life.say(std::move(inputs));
    for (Said& one : answers) said.push_back(std::move(one));
    if (life.death()) return false;
    take(life.take());
    return true;
  }
  // Passes facts and effects on to the world, as an edge would see them.
  void take(const ApplyOutcome& outcome) { world_.saw(Input(), outcome); }
  // Returns the watched cluster's list after a restart: its nodes, and no pods.
  static std::vector<Input> list_again(const Engine& engine) {
    std::vector<Input> out{input(in::ListBegin{"watched"})};
    for (const NodeId id : engine.fleet().nodes(engine.find_cluster("watched"))) {
      out.push_back(input(in::NodeSeen{"watched", *engine.fleet().node(id)}));
    }
    out.push_back(input(in::ListComplete{"watched"}));
    return out;
  }

 private:
  // Returns the next input. Each mutation has a request id.
  Input next() {
    while (true) {
      Input input = world_.next(std::nullopt);
      if (std::holds_alternative<in::ListBegin>(input.body) ||
          std::holds_alternative<in::ListComplete>(input.body)) {
        world_.saw(input, {});
      }
      const bool runtimes_own = std::holds_alternative<in::Tick>(input.body) ||
                                std::holds_alternative<in::Pass>(input.body) ||
                                std::holds_alternative<in::Restarted>(input.body);
      if (runtimes_own) continue;
      const bool mutation =
          input.body.index() < 9 || std::holds_alternative<in::Finalize>(input.body);
      if (mutation && input.request_id.empty()) {
        input.request_id = "s" + std::to_string(name_) + "-" + std::to_string(++serial_);
      }
      return input;
    }
  }

  sim::RandomWorld world_;
  sim::Rng rng_;
  std::uint64_t name_;
  std::uint64_t serial_ = 0;
};

}  // namespace subak::test
