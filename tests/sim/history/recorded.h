// Makes facts in memory, of a simulated trace or a random world, for tests of sim/history.
// Threads: one at a time.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/history/history.h"
#include "sim/simulate.h"
#include "tests/oracle/random_world.h"

namespace subak::sim {

inline TraceJob trace_job(std::string id, DurationMs submit_ms, DurationMs run_ms,
                          std::int64_t gpus, std::string team) {
  TraceJob job;
  job.id = std::move(id);
  job.submit_ms = submit_ms;
  job.duration_ms = run_ms;
  job.milligpu = gpus * kMilliPerGpu;
  job.team = std::move(team);
  return job;
}

// The facts of a simulation, and its result.
struct Recorded {
  std::vector<Fact> facts;
  SimResult result;
};
inline Recorded record(const Workload& workload, const Policy& policy = {}) {
  Recorded out;
  SimulateOptions options;
  options.observer = [&](const Input&, const ApplyOutcome& outcome) {
    out.facts.insert(out.facts.end(), outcome.facts.begin(), outcome.facts.end());
  };
  auto result = simulate(workload, policy, options);
  EXPECT_TRUE(result.ok());
  out.result = std::move(*result);
  return out;
}

// Returns the facts of a random world (tests/oracle/random_world.h) after this many inputs.
inline std::vector<Fact> random_facts(RandomWorld::Options options, int inputs) {
  std::vector<Fact> out;
  RandomWorld world(options);
  Engine engine;
  for (int i = 0; i < inputs; ++i) {
    const Input input = world.next(engine.next_deadline());
    const ApplyOutcome outcome = engine.apply(input);
    world.saw(input, outcome);
    out.insert(out.end(), outcome.facts.begin(), outcome.facts.end());
  }
  return out;
}

// Returns the history of the window that begins with the fact at index `first`.
inline History history_of(const std::vector<Fact>& facts, std::size_t first) {
  Engine engine;
  for (std::size_t i = 0; i < first; ++i) engine.evolve(facts[i]);
  HistoryReader reader(engine, first == 0 ? facts.front().time_ms : facts[first].time_ms);
  for (std::size_t i = first; i < facts.size(); ++i) {
    const auto error = reader.add(facts[i]);
    EXPECT_FALSE(error) << error->message();
  }
  return reader.finish(facts.back().time_ms + 1);
}

}  // namespace subak::sim
