// Determinism: a recorded run, read back from its text form, makes the same facts byte for byte in
// a fresh engine, in an engine that was rebuilt half-way from the facts, and in a build without
// optimisation.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "sim/simulate.h"
#include "temp_dir.h"
#include "tests/oracle/random_world.h"

namespace subak::sim {
namespace {

struct Recorded {
  std::vector<std::string> inputs, facts;  // facts: all of one input joined
  std::array<std::uint64_t, 2> digest{};
};

std::string text_of(const std::vector<Fact>& facts) {
  std::string text;
  for (const Fact& fact : facts) text += fact_to_text(fact) + "\n";
  return text;
}

Recorded record(std::uint64_t seed, bool plain, int inputs) {
  Recorded r;
  RandomWorld world({seed, plain});
  Engine engine;
  for (int i = 0; i < inputs; ++i) {
    const Input input = world.next(engine.next_deadline());
    const ApplyOutcome outcome = engine.apply(input);
    world.saw(input, outcome);
    r.inputs.push_back(input_to_text(input));
    r.facts.push_back(text_of(outcome.facts));
  }
  r.digest = engine.digest();
  return r;
}

TEST(Replay, FromTextMakesTheSameFacts) {
  for (const std::uint64_t seed : {101, 102, 103, 104}) {
    const Recorded recorded = record(seed, seed % 2 == 0, 3000);
    Engine engine;
    for (std::size_t i = 0; i < recorded.inputs.size(); ++i) {
      const auto input = input_from_text(recorded.inputs[i]);
      ASSERT_TRUE(input.ok()) << input.error().message() << "\n" << recorded.inputs[i];
      EXPECT_EQ(input_to_text(*input), recorded.inputs[i]);
      ASSERT_EQ(text_of(engine.apply(*input).facts), recorded.facts[i])
          << "seed " << seed << ", input " << i << ": " << recorded.inputs[i];
    }
    EXPECT_EQ(engine.digest(), recorded.digest);
  }
}

// What is derived and not in the facts (caches, earmarks) must not decide anything: an engine made
// from the facts alone goes on exactly as the one that made them. Both are told of a restart, as
// after a real one.
TEST(Replay, AnEngineRebuiltFromItsFactsDecidesTheSame) {
  constexpr int kEvery = 400, kTogether = 250;
  for (const std::uint64_t seed : {111, 112, 113, 114, 115, 116}) {
    RandomWorld world({seed, seed % 2 == 0});
    Engine engine;
    std::vector<Fact> facts;
    std::unique_ptr<Engine> twin;
    int since = 0;  // the last takeover
    for (int i = 0; i < 4000; ++i, ++since) {
      Input input = world.next(engine.next_deadline());
      if (since >= kEvery && world.quiet()) {
        since = 0;
        twin = std::make_unique<Engine>();
        for (const Fact& fact : facts) {
          const auto again = fact_from_text(fact_to_text(fact));
          ASSERT_TRUE(again.ok()) << again.error().message() << "\n" << fact_to_text(fact);
          twin->evolve(*again);
        }
        const TimeMs now = input.time_ms;
        input = Input{};
        input.time_ms = now;
        input.body = in::Restarted{};
      }
      const ApplyOutcome outcome = engine.apply(input);
      world.saw(input, outcome);
      if (twin) {
        ASSERT_EQ(text_of(twin->apply(input).facts), text_of(outcome.facts))
            << "seed " << seed << ", input " << i << ": " << input_to_text(input);
        if (since % 25 == 0) {
          ASSERT_EQ(twin->digest(), engine.digest()) << "seed " << seed << ", input " << i;
        }
        if (since == kTogether) twin.reset();
      }
      facts.insert(facts.end(), outcome.facts.begin(), outcome.facts.end());
    }
    engine.check_invariants();
  }
}

// Runs a replay binary over the file and returns what it printed.
std::string run_binary(const std::string& binary, const TempDir& dir, const std::string& inputs) {
  const std::string out = dir.path("facts.txt");
  const std::string command = "'" + binary + "' < '" + inputs + "' > '" + out + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream file(out);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Replay, BuildsWithAndWithoutOptimisationMakeTheSameBytes) {
  TempDir dir;
  std::string inputs;
  for (const bool plain : {false, true}) {
    const Recorded recorded = record(plain ? 121 : 122, plain, 4000);
    inputs.clear();
    for (const std::string& line : recorded.inputs) inputs += line + "\n";
    const std::string path = dir.write("inputs.txt", inputs);
    std::string facts;
    for (const std::string& some : recorded.facts) facts += some;
    facts += "digest " + std::to_string(recorded.digest[0]) + " " +
             std::to_string(recorded.digest[1]) + "\n";
    EXPECT_EQ(run_binary(SUBAK_REPLAY, dir, path), facts);
    EXPECT_EQ(run_binary(SUBAK_REPLAY_O0, dir, path), facts);
  }
}

}  // namespace
}  // namespace subak::sim
