// A forecast basis that is copied in slices while inputs go on is that of the instant at which it was begun.
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

std::vector<std::string> texts(const ForecastBasis& basis) {
  std::vector<std::string> out;
  std::transform(basis.facts.begin(), basis.facts.end(), std::back_inserter(out), fact_to_text);
  return out;
}

std::vector<std::pair<JobId, TimeMs>> starts(const ForecastBasis& basis) {
  std::vector<std::pair<JobId, TimeMs>> out;
  const Forecast forecast = make_forecast(basis);
  for (const Forecast::Start& start : forecast.starts()) out.emplace_back(start.job, start.at_ms);
  return out;
}

struct Counts {
  std::size_t jobs = 0, starts = 0, changes = 0;
};

// The inputs between the slices come from the world.
void judge(Engine& engine, RandomWorld& world, Rng& rng, Counts& counts) {
  const ForecastBasis at_once = engine.forecast_basis(engine.now());
  engine.begin_forecast_basis(engine.now());
  std::optional<ForecastBasis> sliced;
  while (!(sliced = engine.forecast_basis_slice(1 + rng.below(4)))) {
    for (std::uint64_t i = rng.below(6); i > 0; --i) {
      const Input input = world.next(engine.next_deadline());
      const ApplyOutcome outcome = engine.apply(input);
      counts.changes += outcome.facts.size();
      world.saw(input, outcome);
    }
  }
  EXPECT_EQ(texts(*sliced), texts(at_once));
  EXPECT_EQ(sliced->seq, at_once.seq);
  EXPECT_EQ(sliced->time_ms, at_once.time_ms);
  const auto told = starts(*sliced);
  EXPECT_EQ(told, starts(at_once));
  counts.jobs += at_once.run_times.size();
  counts.starts += told.size();
}

TEST(ForecastBasis, InSlicesIsThatOfTheInstantWhereItBegan) {
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
  EXPECT_GT(counts.jobs, 5 * states);
  EXPECT_GT(counts.starts, states);
  EXPECT_GT(counts.changes, 10 * states);
}

TEST(ForecastBasis, ASecondOneTakesThePlaceOfTheFirst) {
  RandomWorld world({1, false, false});
  Engine engine;
  for (int i = 0; i < 300; ++i) {
    const Input input = world.next(engine.next_deadline());
    world.saw(input, engine.apply(input));
  }
  engine.begin_forecast_basis(engine.now());
  EXPECT_FALSE(engine.forecast_basis_slice(1));
  engine.begin_forecast_basis(engine.now());
  const auto all = engine.forecast_basis_slice(1'000'000);
  ASSERT_TRUE(all);
  EXPECT_EQ(texts(*all), texts(engine.forecast_basis(engine.now())));
}

}  // namespace
}  // namespace subak::sim
