// A copy in slices while inputs go on, for a forecast or a checkpoint, is that of the instant at which it began.
// SUBAK_FORECAST_STATES sets how many states (300), SUBAK_FORECAST_SEED the first seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/forecast/forecast.h"
#include "random_states.h"
#include "sim/read/rng.h"
#include "tests/oracle/random_world.h"

namespace subak::sim {
namespace {

std::vector<std::string> texts(const std::vector<Fact>& facts) {
  std::vector<std::string> out;
  std::transform(facts.begin(), facts.end(), std::back_inserter(out), fact_to_text);
  return out;
}

std::vector<std::pair<JobId, TimeMs>> starts(const ForecastBasis& basis) {
  std::vector<std::pair<JobId, TimeMs>> out;
  const Forecast forecast = make_forecast(basis);
  for (const Forecast::Start& start : forecast.starts()) out.emplace_back(start.job, start.at_ms);
  return out;
}

struct Counts {
  std::size_t jobs = 0, starts = 0, changes = 0, checkpoints = 0;
};

// The inputs between the slices come from the world.
void judge(Engine& engine, RandomWorld& world, Rng& rng, Counts& counts) {
  const ForecastBasis at_once = engine.forecast_basis(engine.now());
  const std::vector<Fact> whole = engine.checkpoint();
  const bool of_checkpoint = rng.below(2) == 0;
  ForecastBasis sliced =
      engine.begin_copy(of_checkpoint ? CopyFor::kCheckpoint : CopyFor::kForecast, engine.now());
  const auto append = [&](Fact&& fact) { sliced.facts.push_back(std::move(fact)); };
  while (!engine.copy_slice(1 + rng.below(4), append)) {
    for (std::uint64_t i = rng.below(6); i > 0; --i) {
      const Input input = world.next(engine.next_deadline());
      const ApplyOutcome outcome = engine.apply(input);
      counts.changes += outcome.facts.size();
      world.saw(input, outcome);
    }
  }
  if (of_checkpoint) {
    EXPECT_EQ(texts(sliced.facts), texts(whole));
    ++counts.checkpoints;
    return;
  }
  EXPECT_EQ(texts(sliced.facts), texts(at_once.facts));
  EXPECT_EQ(sliced.seq, at_once.seq);
  EXPECT_EQ(sliced.time_ms, at_once.time_ms);
  const auto told = starts(sliced);
  EXPECT_EQ(told, starts(at_once));
  counts.jobs += at_once.run_times.size();
  counts.starts += told.size();
}

TEST(CopyInSlices, IsThatOfTheInstantWhereItBegan) {
  const std::uint64_t first = setting("SUBAK_FORECAST_SEED", 1);
  const std::uint64_t states = setting("SUBAK_FORECAST_STATES", 300);
  Counts counts;
  for (std::uint64_t seed = first; seed < first + states; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomWorld world({seed, false, seed % 5 == 0});
    Engine engine;
    Rng rng(seed);
    const std::uint64_t inputs = 150 + rng.below(400);
    for (std::uint64_t i = 0; i < inputs; ++i) {
      const Input input = world.next(engine.next_deadline());
      world.saw(input, engine.apply(input));
    }
    judge(engine, world, rng, counts);
    if (HasFailure()) break;
  }
  EXPECT_GT(counts.jobs, 2 * states);
  EXPECT_GT(counts.starts, states / 2);
  EXPECT_GT(counts.checkpoints, states / 3);
  EXPECT_GT(counts.changes, 10 * states);
}

TEST(CopyInSlices, ASecondOneTakesThePlaceOfTheFirst) {
  RandomWorld world({1, false, false});
  Engine engine;
  for (int i = 0; i < 300; ++i) {
    const Input input = world.next(engine.next_deadline());
    world.saw(input, engine.apply(input));
  }
  const auto ignore = [](Fact&&) {};
  engine.begin_copy(CopyFor::kCheckpoint, engine.now());
  EXPECT_FALSE(engine.copy_slice(1, ignore));
  ForecastBasis basis = engine.begin_copy(CopyFor::kForecast, engine.now());
  while (!engine.copy_slice(1'000'000, [&](Fact&& f) { basis.facts.push_back(std::move(f)); })) {
  }
  EXPECT_EQ(texts(basis.facts), texts(engine.forecast_basis(engine.now()).facts));
}

}  // namespace
}  // namespace subak::sim
