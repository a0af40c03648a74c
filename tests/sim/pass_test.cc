// A pass follows from the state alone: an engine that has just read it decides the same, fact by fact, as
// one that remembers what it looked at before. SUBAK_PASS_WORLDS sets how many random worlds (60),
// SUBAK_PASS_SEED the first seed.
#include <gtest/gtest.h>

#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "random_states.h"
#include "tests/oracle/random_world.h"

namespace subak::sim {
namespace {

constexpr int kInputs = 600;

std::vector<std::string> texts(const ApplyOutcome& outcome) {
  std::vector<std::string> out;
  for (const Fact& fact : outcome.facts) out.push_back(fact_to_text(fact));
  return out;
}

TEST(Pass, FollowsFromTheStateAlone) {
  const std::uint64_t first = setting("SUBAK_PASS_SEED", 1);
  const std::uint64_t worlds = setting("SUBAK_PASS_WORLDS", 60);
  std::size_t passes = 0, decided = 0;
  std::vector<std::uint64_t> seeds(worlds);
  std::iota(seeds.begin(), seeds.end(), first);
  // A gang that found only one node, beside a reservation of one node, later finds two nodes.
  seeds.push_back(10'058);
  for (const std::uint64_t seed : seeds) {
    RandomWorld world({.seed = seed, .beside = seed % 3 == 0});
    Engine engine;
    for (int i = 0; i < kInputs; ++i) {
      const Input input = world.next(engine.next_deadline());
      const bool pass = std::holds_alternative<in::Pass>(input.body);
      const bool judged = pass && engine.policy().order != OrderPolicy::kUsageTick;
      const auto fresh = judged ? copy_of(engine) : nullptr;
      const ApplyOutcome outcome = engine.apply(input);
      world.saw(input, outcome);
      if (!fresh) continue;
      ++passes;
      decided += outcome.facts.empty() ? 0 : 1;
      ASSERT_EQ(texts(outcome), texts(fresh->apply(input))) << "seed " << seed << ", input " << i;
    }
  }
  std::printf("%zu passes, %zu of them decided something\n", passes, decided);
  EXPECT_GT(decided, 10 * worlds);
}

}  // namespace
}  // namespace subak::sim
