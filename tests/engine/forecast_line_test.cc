// Forecasts of jobs that come one after the other, by hand: starts, run times, and which of these are assumed.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "core/limits.h"
#include "engine/engine.h"
#include "engine/forecast/forecast.h"
#include "inputs.h"

namespace subak {
namespace {

// Eight jobs, one after the other on one node, a day each.
class OneByOne : public testing::Test {
 protected:
  void SetUp() override {
    send(main_cluster());
    send(h100_nodes(1));
    in::SetAccount account;
    account.spec.path = "ml";
    send(account);
    for (int i = 0; i < 8; ++i) submit();
  }
  Reply send(in::Body body) { return engine.apply({kNow, "", "ana", std::move(body)}).reply; }
  void submit(DurationMs limit_ms = 0) {
    in::SubmitJob job;
    job.time_limit_ms = limit_ms;
    job.cluster = "main";
    job.account = "ml";
    PodGroup group;
    group.count = 1;
    group.shape.kind = GpuKind::kWhole;
    group.shape.gpus = 8;
    job.request.groups.push_back(group);
    jobs.push_back(send(job).job);
  }
  void cancel_all() {
    for (const JobId id : std::exchange(jobs, {})) {
      in::CancelJob cancel;
      cancel.job = id;
      send(cancel);
    }
  }
  // Of each job in turn: whether its start rests on a run time that is assumed.
  std::vector<bool> assumed(const Forecast& forecast) const {
    std::vector<bool> out;
    for (const JobId id : jobs) out.push_back(forecast.find(id)->assumed);
    return out;
  }
  static constexpr TimeMs kNow = 1'767'225'600'000;
  Engine engine;
  std::vector<JobId> jobs;
};

TEST_F(OneByOne, EachStartsWhenTheOneBeforeEnds) {
  const Forecast forecast = make_forecast(engine.forecast_basis(engine.now()));
  EXPECT_TRUE(forecast.is_whole());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(forecast.start(jobs[i]), kNow + static_cast<TimeMs>(i) * kDayMs);
  }
  EXPECT_EQ(forecast.start(JobId(JobId(jobs[0]).cluster(), 99)), std::nullopt);
}

TEST_F(OneByOne, WhatIsCutShortSaysHowFarItLooked) {
  int asked = 0;
  const Forecast forecast =
      make_forecast(engine.forecast_basis(engine.now()), [&] { return ++asked <= 3; });
  EXPECT_FALSE(forecast.is_whole());
  EXPECT_EQ(forecast.starts().size(), 4u);
  EXPECT_EQ(forecast.until_ms(), kNow + 3 * kDayMs);
  EXPECT_EQ(forecast.start(jobs[4]), std::nullopt);
}

TEST_F(OneByOne, WhoStartsBeyondTheHorizonHasNoStart) {
  for (int i = 0; i < 40; ++i) submit();
  const Forecast forecast = make_forecast(engine.forecast_basis(engine.now()));
  EXPECT_FALSE(forecast.is_whole());
  EXPECT_EQ(forecast.starts().size(), limits::kForecastAheadMs / kDayMs + 1);
  EXPECT_LE(forecast.until_ms(), kNow + limits::kForecastAheadMs);
}

// Who never can, has none, and that is known.
TEST_F(OneByOne, WhoIsHeldHasNoStart) {
  in::HoldJob hold;
  hold.job = jobs[2];
  hold.held = true;
  send(hold);
  const Forecast forecast = make_forecast(engine.forecast_basis(engine.now()));
  EXPECT_TRUE(forecast.is_whole());
  EXPECT_EQ(forecast.start(jobs[2]), std::nullopt);
  EXPECT_EQ(forecast.start(jobs[3]), kNow + 2 * kDayMs);
}

TEST_F(OneByOne, NobodyHoldsAnythingUntilADrainEnds) {
  in::DrainNode drain;
  drain.cluster = "main";
  drain.node = "n0";
  drain.drained = true;
  drain.until_ms = kNow + kHourMs;
  send(drain);
  const Forecast forecast = make_forecast(engine.forecast_basis(engine.now()));
  EXPECT_EQ(forecast.start(jobs[0]), kNow + kHourMs);
  EXPECT_EQ(forecast.starts().size(), jobs.size());
}

TEST_F(OneByOne, WithoutALimitAllStartsButTheFirstRestOnAnAssumption) {
  const ForecastBasis basis = engine.forecast_basis(engine.now());
  for (const JobId id : jobs) {
    EXPECT_TRUE(basis.run_times.at(id).assumed);
    EXPECT_EQ(basis.run_times.at(id).ms, limits::kGuessedRunMs);
  }
  const Forecast forecast = make_forecast(basis);
  EXPECT_TRUE(forecast.is_assumed());
  EXPECT_EQ(assumed(forecast),
            (std::vector<bool>{false, true, true, true, true, true, true, true}));
}

// The limits of jobs that start after an assumed end do not make it known.
TEST_F(OneByOne, AfterAnAssumedEndAllStartsRestOnIt) {
  cancel_all();
  for (const DurationMs limit_ms : {kHourMs, 2 * kHourMs, DurationMs{0}, kHourMs, kHourMs}) {
    submit(limit_ms);
  }
  const Forecast forecast = make_forecast(engine.forecast_basis(engine.now()));
  EXPECT_EQ(assumed(forecast), (std::vector<bool>{false, false, false, true, true}));
  EXPECT_EQ(forecast.start(jobs[4]), kNow + 4 * kHourMs + limits::kGuessedRunMs);
}

TEST_F(OneByOne, ThePolicysDefaultIsNoAssumption) {
  in::SetPolicy set;
  set.policy.default_time_limit_ms = 4 * kHourMs;
  send(set);
  const Forecast forecast = make_forecast(engine.forecast_basis(engine.now()));
  EXPECT_FALSE(forecast.is_assumed());
  EXPECT_EQ(forecast.start(jobs[1]), kNow + 4 * kHourMs);
}

TEST_F(OneByOne, AnAssumedEndCountsForItsOwnNode) {
  cancel_all();
  in::ImportNodes import;
  import.cluster = "main";
  for (const char* name : {"n0", "n1"}) {
    NodeSpec node;
    node.name = name;
    node.product = "H100";
    node.gpus = 8;
    import.nodes.push_back(node);
  }
  send(import);
  submit();              // for a day, as is assumed
  submit(23 * kHourMs);  // on the other node
  submit(10 * kHourMs);  // after that one
  submit(kHourMs);       // after the first
  submit(kHourMs);       // an hour later on the same node
  const Forecast forecast = make_forecast(engine.forecast_basis(engine.now()));
  EXPECT_EQ(forecast.start(jobs[2]), kNow + 23 * kHourMs);
  EXPECT_EQ(forecast.start(jobs[3]), kNow + kDayMs);
  EXPECT_EQ(forecast.start(jobs[4]), kNow + kDayMs + kHourMs);
  EXPECT_EQ(assumed(forecast), (std::vector<bool>{false, false, false, true, true}));
}

// The last two that were like it: here of one hour and of three.
TEST_F(OneByOne, RunTimesAreThoseOfTheLastTwo) {
  TimeMs now = kNow;
  const auto at = [&](in::Body body) { return engine.apply({now, "", "ana", std::move(body)}); };
  for (int i = 0; i < 2; ++i) {
    at(in::Pass{});
    in::PodBound bound;
    bound.cluster = "main";
    bound.pod.job = jobs[static_cast<std::size_t>(i)];
    bound.node = "n0";
    at(bound);
    now += (1 + 2 * i) * kHourMs;
    in::PodGone gone;
    gone.cluster = "main";
    gone.pod.job = bound.pod.job;
    gone.cause = Cause::kFinished;
    at(gone);
  }
  const ForecastBasis basis = engine.forecast_basis(engine.now());
  EXPECT_EQ(basis.run_times.size(), 6u);
  for (const auto& [id, run] : basis.run_times) EXPECT_EQ(run.ms, 2 * kHourMs);
  EXPECT_EQ(make_forecast(basis).start(jobs[3]), now + 2 * kHourMs);
}

// Of limits of 2 h and 10 h they used a half and a tenth: the next is taken to use three tenths.
TEST_F(OneByOne, WhoHasALimitUsesAsMuchOfItAsTheLastTwo) {
  jobs.clear();
  TimeMs now = kNow;
  const auto at = [&](in::Body body) { return engine.apply({now, "", "ana", std::move(body)}); };
  for (const JobRow& row : engine.jobs(JobId(), 100, std::nullopt, "")) {
    in::CancelJob cancel;
    cancel.job = row.id;
    at(cancel);
  }
  for (const DurationMs limit_ms : {2 * kHourMs, 10 * kHourMs, kHourMs, 20 * kHourMs}) {
    submit(limit_ms);
  }
  for (int i = 0; i < 2; ++i) {
    at(in::Pass{});
    now += kHourMs;
    in::PodGone gone;
    gone.cluster = "main";
    gone.pod.job = jobs[static_cast<std::size_t>(i)];
    gone.cause = Cause::kFinished;
    at(gone);
  }
  const ForecastBasis basis = engine.forecast_basis(now);
  EXPECT_EQ(basis.run_times.at(jobs[2]).ms, 3 * kHourMs / 10);
  EXPECT_EQ(basis.run_times.at(jobs[3]).ms, 6 * kHourMs);
}

// The last of its kind used next to nothing of a long limit: of a short one that is less than a
// millisecond.
TEST_F(OneByOne, NobodyRunsForNoTimeAtAll) {
  TimeMs now = kNow;
  const auto at = [&](in::Body body) { return engine.apply({now, "", "ana", std::move(body)}); };
  for (const JobId id : jobs) {
    in::CancelJob cancel;
    cancel.job = id;
    at(cancel);
  }
  jobs.clear();
  submit(100 * kDayMs);
  submit(kSecondMs);
  at(in::Pass{});
  now += 1;
  in::PodGone gone;
  gone.cluster = "main";
  gone.pod.job = jobs[0];
  gone.cause = Cause::kFailed;
  at(gone);
  EXPECT_EQ(engine.forecast_basis(now).run_times.at(jobs[1]).ms, 1);
}

}  // namespace
}  // namespace subak
