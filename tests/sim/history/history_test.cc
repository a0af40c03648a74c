// A store's history as a workload: its replay makes the decisions again that were made. The trace is
// two weeks of Philly (Jeon et al., ATC'19), read from $SUBAK_TRACES or ../shared/traces; without it
// a seeded workload with a similar mix of sizes.
#include "sim/history/history.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "recorded.h"
#include "sim/history/what_if.h"
#include "sim/read/rng.h"

namespace subak::sim {
namespace {

Workload philly() {
  const char* const folder = std::getenv("SUBAK_TRACES");
  const std::string traces = folder ? folder : "../shared/traces";
  const std::string path = traces + "/philly.csv.gz";
  WorkloadOptions options;
  std::vector<TraceJob> trace;
  std::string nodes = "40x8";
  if (std::filesystem::exists(path)) {
    trace = *read_trace(path);
    options.from_day = 21;
    options.to_day = 35;
    nodes = traces + "/philly-nodes.csv";
  } else {
    Rng random(20170803);
    DurationMs now = 0;
    for (int i = 0; i < 6000; ++i) {
      now += random.between(0, 400'000);
      const std::int64_t gpus = random.percent(90) ? 1 : std::int64_t{1} << random.between(1, 6);
      const auto run_ms = static_cast<DurationMs>(random.exponential(4e6)) + 1000;
      trace.push_back(trace_job("j" + std::to_string(i), now, run_ms, gpus,
                                "vc" + std::to_string(random.below(4))));
    }
  }
  auto made = make_workload(std::move(trace), *read_nodes(nodes), options);
  EXPECT_TRUE(made.ok()) << made.error().message();
  return std::move(*made);
}

const Workload& trace() {
  static const Workload all = philly();
  return all;
}
const Recorded& recorded() {
  static const Recorded all = record(trace());
  return all;
}

bool is_decision(const Fact& fact) {
  return std::holds_alternative<fact::AttemptStarted>(fact.body) ||
         std::holds_alternative<fact::Reserved>(fact.body) ||
         std::holds_alternative<fact::AttemptEnded>(fact.body);
}
// A decision without the number of its fact.
std::string decision_text(Fact fact) {
  fact.seq = 0;
  return fact_to_text(fact);
}
std::vector<std::string> decisions(const std::vector<Fact>& facts) {
  std::vector<std::string> out;
  for (const Fact& fact : facts) {
    if (is_decision(fact)) out.push_back(decision_text(fact));
  }
  return out;
}

// The facts and the result of a replay.
struct Again {
  std::vector<Fact> facts;
  HistoryReplay replay;
};
Again replay(const History& history, const Workload& workload) {
  Again out;
  HistoryOptions options;
  options.observer = [&](const Input&, const ApplyOutcome& outcome) {
    out.facts.insert(out.facts.end(), outcome.facts.begin(), outcome.facts.end());
  };
  auto done = replay_history(history, workload, options);
  EXPECT_TRUE(done);
  out.replay = std::move(*done);
  return out;
}

TEST(History, TheReplayFromTheFirstFactIsTheSimulationOfTheTrace) {
  const History history = history_of(recorded().facts, 0);
  const Again again = replay(history, history.workload);
  EXPECT_EQ(decisions(again.facts), decisions(recorded().facts));
  const SimResult &real = recorded().result, &replayed = again.replay.result;
  ASSERT_GT(real.jobs, 5000u);
  EXPECT_EQ(replayed.jobs, real.jobs + real.warm - real.unplaceable);
  EXPECT_EQ(history.result.wait_s.mean, replayed.wait_s.mean);
  EXPECT_EQ(history.result.wait_s.p99, replayed.wait_s.p99);
  EXPECT_EQ(again.replay.refused_jobs, 0u);
  EXPECT_EQ(again.replay.refused_edits, 0u);
}

TEST(History, TheReplayFromTheMiddleMakesTheSameDecisions) {
  const std::vector<Fact>& facts = recorded().facts;
  std::size_t middle = facts.size() / 2;
  while (facts[middle].time_ms == facts[middle - 1].time_ms) ++middle;
  const History history = history_of(facts, middle);
  const Again again = replay(history, history.workload);
  EXPECT_EQ(decisions(again.facts), decisions({facts.begin() + middle, facts.end()}));
  const Nearness near = nearness(history, again.replay);
  EXPECT_GT(near.jobs, 2000u);
  EXPECT_EQ(near.within_minute, 1);
  EXPECT_EQ(near.mean_s, 0);
  EXPECT_LT(near.share, 1e-9);
}

TEST(History, AnEmptyChangeGivesAnEqualReplay) {
  const History history = history_of(recorded().facts, 0);
  const auto same = changed(history, Change());
  ASSERT_TRUE(same.ok());
  const Again before = replay(history, history.workload), after = replay(history, *same);
  ASSERT_EQ(before.facts.size(), after.facts.size());
  for (std::size_t i = 0; i < before.facts.size(); ++i) {
    ASSERT_EQ(fact_to_text(before.facts[i]), fact_to_text(after.facts[i]));
  }
}

TEST(History, DaysAddUpToTheGpuTimeOfTheWindow) {
  const History history = history_of(recorded().facts, 0);
  double days = 0, teams = 0;
  for (const DayShares& day : shares_by_day(history.workload, history.result)) {
    for (const double gpu_h : day.gpu_h) days += gpu_h;
  }
  for (const TeamResult& team : history.result.teams) teams += team.received_gpu_h;
  EXPECT_NEAR(days, teams, teams * 1e-9);
}

// Worlds with gangs of pods, foreign pods, lost nodes, edits, pauses, preemptions and refusals. The
// state at each moment can be replayed, and the engine's invariants hold in each replay.
class RandomHistory : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RandomHistory, CanBeReplayedFromEachMoment) {
  const std::vector<Fact> facts = random_facts({GetParam(), false}, 2500);
  for (const std::size_t part : {0, 1, 2, 3}) {
    const History history = history_of(facts, facts.size() * part / 4);
    engine_of(history.start)->check_invariants();
    engine_of(history.end)->check_invariants();
    const Again again = replay(history, history.workload);
    EXPECT_EQ(again.replay.fates.size(), history.workload.jobs.size());
    Engine state;
    if (history.start.seq != 0) {
      for (const Fact& fact : history.start.facts) state.evolve(fact);
      state.set_seq(history.start.seq);
    }
    for (const Fact& fact : again.facts) state.evolve(fact);
    state.check_invariants();
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, RandomHistory, testing::Range<std::uint64_t>(1, 17));

}  // namespace
}  // namespace subak::sim
