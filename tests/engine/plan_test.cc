// The fleet by time, against a count that knows nothing of how it is made.
#include "engine/plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/limits.h"
#include "engine/engine.h"
#include "engine/plan/plan_rows.h"
#include "inputs.h"

namespace subak {
namespace {

GangRequest pods(std::uint32_t count, std::int64_t gpus) {
  PodGroup group;
  group.count = count;
  group.shape.kind = GpuKind::kWhole;
  group.shape.gpus = gpus;
  GangRequest out;
  out.groups = {group};
  return out;
}

NodeSpec node(const std::string& name, const std::string& clique = "",
              const std::string& rack = "") {
  NodeSpec spec;
  spec.name = name;
  spec.product = "H100";
  spec.gpus = 8;
  spec.clique = clique;
  spec.set_levels({rack});
  return spec;
}

constexpr TimeMs kStart = kDayMs;  // when the first jobs come

void set_up(Engine& engine, std::vector<NodeSpec> nodes) {
  engine.apply(at(0, in::SetCluster{"main", Mode::kEnforce, {}, "", false}));
  in::ImportNodes import;
  import.cluster = "main";
  import.nodes = std::move(nodes);
  import.reason = "test";
  engine.apply(at(0, import));
  in::SetPolicy policy;
  policy.policy.patience_ms = kHourMs;
  policy.policy.hold_ms = kDayMs;
  engine.apply(at(0, policy));
  for (const std::string name : {"a", "b"}) {
    in::SetAccount account;
    account.spec.path = name;
    account.spec.shares = 1;
    account.reason = "test";
    engine.apply(at(0, account));
  }
}

JobId submit(Engine& engine, TimeMs t, const GangRequest& request, DurationMs limit_ms,
             const std::string& account = "a") {
  in::SubmitJob job;
  job.cluster = "main";
  job.account = account;
  job.request = request;
  job.time_limit_ms = limit_ms;
  const Reply reply = engine.apply(at(t, job)).reply;
  EXPECT_FALSE(reply.error) << reply.error->message();
  return reply.job;
}

// Columns of a second, as everything in these worlds happens on one.
PlanAsked by_second(TimeMs from, std::size_t columns = 200) {
  PlanAsked asked;
  asked.until_ms = from + static_cast<TimeMs>(columns) * kSecondMs;
  asked.rows = asked.columns = columns;
  asked.lanes = 4;
  asked.jobs = 1000;
  return asked;
}

std::array<MilliGpu, 3> by_kind(const PlanRow& row, std::size_t column) {
  std::array<MilliGpu, 3> out{};
  for (const PlanLane& lane : row.lanes) {
    out[static_cast<std::size_t>(lane.kind)] += lane.milligpu[column];
  }
  return out;
}

void expect_whole(const PlanRow& row) {
  for (std::size_t i = 0; i < row.free.size(); ++i) {
    const auto kinds = by_kind(row, i);
    EXPECT_GE(row.free[i], 0);
    EXPECT_EQ(kinds[0] + kinds[1] + kinds[2] + row.free[i] + row.closed[i], row.installed)
        << row.name << " in column " << i;
  }
}

// What reads say of each job, so that each node can be counted by hand.
struct Naive {
  struct Hold {
    std::string node;
    MilliGpu milligpu = 0;
    TimeMs from_ms = 0, to_ms = 0;
  };
  std::vector<Hold> runs, coming;
  std::map<std::string, TimeMs> kept_until;

  Naive(const Engine& engine, const Forecast& forecast, TimeMs t) {
    const RunTimes run_times = engine.forecast_basis(t).run_times;
    for (const JobRow& row : engine.jobs(JobId(), 10'000, std::nullopt, "")) {
      const JobRow job = *engine.job(row.id, true);
      for (const PodRow& pod : job.pods) {
        if (pod.slot.milligpu == 0 || job.state == JobState::kDone) continue;
        runs.push_back({engine.fleet().node(pod.slot.node)->name, pod.slot.milligpu, 0,
                        job.started_ms + run_times.at(job.id).ms});
      }
      if (job.state != JobState::kQueued) continue;
      const auto start = std::find_if(forecast.starts().begin(), forecast.starts().end(),
                                      [&](const auto& s) { return s.job == job.id; });
      const auto why = engine.explain(job.id, t);
      for (const std::string& name : why->reserved_nodes) {
        kept_until[name] = start->at_ms;
      }
      if (start == forecast.starts().end()) continue;
      for (const Forecast::Place& place : forecast.places(*start)) {
        coming.push_back(
            {engine.fleet().node(place.node)->name, place.milligpu, start->at_ms, start->end_ms});
      }
    }
  }
  // Runs, idle, forecast.
  std::array<MilliGpu, 3> at(const std::string& name, MilliGpu installed, TimeMs t) const {
    std::array<MilliGpu, 3> out{};
    for (const Hold& hold : runs) {
      if (hold.node == name && hold.to_ms > t) out[0] += hold.milligpu;
    }
    for (const Hold& hold : coming) {
      if (hold.node == name && hold.from_ms <= t && t < hold.to_ms) out[2] += hold.milligpu;
    }
    const auto it = kept_until.find(name);
    if (it != kept_until.end() && t < it->second) out[1] = installed - out[0] - out[2];
    return out;
  }
};

TEST(Plan, EachNodeIsByTheSecondAsANaiveCountSays) {
  int kept = 0, forecast_places = 0;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    Engine engine;
    std::vector<NodeSpec> nodes;
    for (int i = 1; i <= 6; ++i) {
      nodes.push_back(node("n" + std::to_string(i), i <= 3 ? "clique" : ""));
    }
    set_up(engine, nodes);
    TimeMs now = kSecondMs;
    submit(engine, now, pods(6, 8), 50 * kSecondMs, "b");  // waits for all of the fleet
    for (int i = 0; i < 40; ++i) {
      const bool gang = below(4) == 0;
      submit(engine, now,
             pods(gang ? static_cast<std::uint32_t>(2 + below(3)) : 1, gang ? 8 : 1 + below(8)),
             kSecondMs * (5 + below(60)), below(2) == 0 ? "a" : "b");
    }
    engine.apply(at(now, in::Pass{}));
    now += 2 * kHourMs;  // nobody is ended: all have overrun; those that wait have waited
    engine.apply(at(now, in::Tick{}));
    engine.apply(at(now, in::Pass{}));
    const TimeMs t = now;
    const Forecast forecast = make_forecast(engine.forecast_basis(t));
    const Naive naive(engine, forecast, t);
    kept += static_cast<int>(naive.kept_until.size());
    forecast_places += static_cast<int>(naive.coming.size());
    PlanAsked asked = by_second(t);
    asked.until_ms = t + 200 * kMinuteMs;  // a column is a minute: overruns double what was seconds
    const DurationMs step = kMinuteMs;
    for (const NodeSpec& spec : nodes) {
      asked.domain = spec.name;
      const FleetPlan plan = engine.plan(asked, forecast, t);
      ASSERT_EQ(plan.step_ms, step);
      ASSERT_EQ(plan.rows.size(), 1u);
      expect_whole(plan.rows[0]);
      for (std::size_t i = 0; i < 200; ++i) {
        // The mean of sixty seconds.
        std::array<MilliGpu, 3> sum{};
        for (TimeMs s = 0; s < 60; ++s) {
          const auto one =
              naive.at(spec.name, 8000, t + static_cast<TimeMs>(i) * step + s * kSecondMs);
          for (std::size_t k = 0; k < 3; ++k) sum[k] += one[k];
        }
        const auto got = by_kind(plan.rows[0], i);
        for (std::size_t k = 0; k < 3; ++k) {
          ASSERT_NEAR(static_cast<double>(got[k]), static_cast<double>(sum[k]) / 60, 1)
              << "seed " << seed << ", " << spec.name << ", column " << i << ", kind " << k;
        }
      }
    }
    asked.domain.clear();
    const FleetPlan all = engine.plan(asked, forecast, t);
    MilliGpu installed = 0;
    for (const PlanRow& row : all.rows) {
      expect_whole(row);
      installed += row.installed;
    }
    EXPECT_EQ(installed, 48'000);
    EXPECT_EQ(all.rows_left_out, 0u);
    EXPECT_LE(all.rows.size(), 4u) << "a clique and three nodes";
  }
  EXPECT_GT(kept, 10);
  EXPECT_GT(forecast_places, 100);
}

TEST(Plan, WhatIsKeptAndEmptyIsIdleForTheJob) {
  Engine engine;
  set_up(engine, {node("n1"), node("n2"), node("n3")});
  const JobId runs = submit(engine, kStart, pods(1, 8), 4 * kHourMs);
  const JobId short_one = submit(engine, kStart, pods(1, 8), kHourMs);
  const JobId third = submit(engine, kStart, pods(1, 8), 6 * kHourMs);
  engine.apply(at(kStart, in::Pass{}));
  const JobId waits = submit(engine, kStart, pods(2, 8), 2 * kHourMs, "b");
  std::map<JobId, std::string> on;
  for (const JobId id : {runs, short_one, third}) {
    const JobRow job = *engine.job(id, false);
    ASSERT_EQ(job.nodes.size(), 1u);
    on[id] = engine.fleet().node(job.nodes[0])->name;
  }
  in::PodGone gone;
  gone.cluster = "main";
  gone.pod.job = short_one;
  gone.cause = Cause::kFinished;
  const TimeMs t = kStart + 90 * kMinuteMs;
  engine.apply(at(t, gone));
  engine.apply(at(t, in::Pass{}));
  ASSERT_EQ(engine.explain(waits, t)->reserved_nodes.size(), 2u);
  const Forecast forecast = make_forecast(engine.forecast_basis(t));
  PlanAsked asked;
  asked.rows = asked.columns = 10;
  asked.lanes = asked.jobs = 4;
  asked.until_ms = t + 5 * kHourMs;
  const FleetPlan plan = engine.plan(asked, forecast, t);
  ASSERT_FALSE(plan.jobs.empty());
  const PlanJob& first = plan.jobs[0];
  EXPECT_EQ(first.kind, PlanKind::kIdle);
  EXPECT_EQ(first.job, waits);
  EXPECT_EQ(first.idle, 8000);
  EXPECT_EQ(first.start_ms, kStart + 4 * kHourMs);
  EXPECT_EQ(first.end_ms, kStart + 6 * kHourMs);
  EXPECT_EQ(plan.jobs.size(), 3u);
  const auto row = std::find_if(plan.rows.begin(), plan.rows.end(),
                                [&](const PlanRow& r) { return r.name == on[short_one]; });
  ASSERT_NE(row, plan.rows.end());
  ASSERT_EQ(row->lanes.size(), 2u);
  EXPECT_EQ(row->lanes[0].kind, PlanKind::kIdle);
  EXPECT_EQ(row->lanes[0].job, waits);
  const std::vector<MilliGpu> idle{8000, 8000, 8000, 8000, 8000, 0, 0, 0, 0, 0};
  EXPECT_EQ(row->lanes[0].milligpu, idle);
  EXPECT_EQ(row->lanes[1].kind, PlanKind::kForecast);
  EXPECT_EQ(row->lanes[1].milligpu[5], 8000);
  EXPECT_EQ(row->lanes[1].milligpu[9], 0);
  // Without a forecast a promise is still there.
  const FleetPlan promised = engine.plan(asked, Forecast(), t);
  EXPECT_EQ(promised.jobs[0].start_ms, kStart + 4 * kHourMs);
  EXPECT_EQ(promised.rows.size(), plan.rows.size());
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    EXPECT_EQ(promised.rows[i].free, plan.rows[i].free);
  }
  // Who has left since the forecast is not to come.
  in::CancelJob cancel;
  cancel.job = waits;
  cancel.reason = "test";
  engine.apply(at(t, cancel));
  for (const PlanRow& one : engine.plan(asked, forecast, t).rows) {
    for (const PlanLane& lane : one.lanes) EXPECT_NE(lane.job, waits);
  }
}

TEST(Plan, DomainsThatDoTheSameShareARow) {
  Engine engine;
  std::vector<NodeSpec> nodes;
  for (int i = 1; i <= 12; ++i) {
    nodes.push_back(node("n" + std::to_string(i), "", i <= 6 ? "left" : "right"));
  }
  set_up(engine, nodes);
  const JobId gang = submit(engine, kStart, pods(4, 8), kHourMs);
  engine.apply(at(kStart, in::Pass{}));
  PlanAsked asked;
  asked.rows = asked.columns = 8;
  asked.lanes = asked.jobs = 2;
  const FleetPlan same = engine.plan(asked, Forecast(), kStart);
  EXPECT_EQ(same.until_ms, kStart + kHourMs) << "as far as anything is known";
  ASSERT_EQ(same.rows.size(), 2u);
  const PlanRow& held = same.rows[0].lanes.empty() ? same.rows[1] : same.rows[0];
  const PlanRow& free = same.rows[0].lanes.empty() ? same.rows[0] : same.rows[1];
  EXPECT_EQ(held.domains, 4u);
  EXPECT_EQ(held.installed, 32'000);
  ASSERT_EQ(held.lanes.size(), 1u);
  EXPECT_EQ(held.lanes[0].job, gang);
  EXPECT_EQ(held.lanes[0].milligpu, std::vector<MilliGpu>(8, 32'000));
  EXPECT_EQ(free.domains, 8u);
  EXPECT_EQ(free.kind, "node");
  EXPECT_TRUE(derive::is_before(free.name, free.last));
  // Each node does something else, and they are too many: a row a rack; then one of all.
  for (int i = 0; i < 8; ++i) submit(engine, kStart, pods(1, 8), (2 + i) * kHourMs);
  engine.apply(at(kStart, in::Pass{}));
  const FleetPlan racks = engine.plan(asked, Forecast(), kStart);
  ASSERT_EQ(racks.rows.size(), 2u);
  EXPECT_EQ(racks.rows[0].kind, "rack");
  EXPECT_EQ(racks.rows[0].name, "left");
  EXPECT_EQ(racks.rows[1].name, "right");
  EXPECT_EQ(racks.rows[0].domains, 6u);
  for (const PlanRow& row : racks.rows) expect_whole(row);
  asked.rows = 1;
  const FleetPlan one = engine.plan(asked, Forecast(), kStart);
  ASSERT_EQ(one.rows.size(), 1u);
  EXPECT_EQ(one.rows[0].kind, "product");
  EXPECT_EQ(one.rows[0].installed, 96'000);
  expect_whole(one.rows[0]);
  ASSERT_EQ(one.rows[0].lanes.size(), 3u);
  EXPECT_EQ(one.rows[0].lanes[2].jobs, 7u) << "the others";
  EXPECT_EQ(one.jobs.size(), 2u);
  EXPECT_EQ(one.jobs_left_out, 7u);
}

TEST(Plan, OneThatRunsForDaysDoesNotStretchThePicture) {
  Engine engine;
  std::vector<NodeSpec> nodes;
  for (int i = 1; i <= 12; ++i) nodes.push_back(node("n" + std::to_string(i)));
  set_up(engine, nodes);
  for (int i = 0; i < 11; ++i) submit(engine, kStart, pods(1, 8), 2 * kHourMs + i * kMinuteMs);
  submit(engine, kStart, pods(1, 8), 9 * kDayMs);
  engine.apply(at(kStart, in::Pass{}));
  PlanAsked asked;
  asked.rows = asked.columns = asked.lanes = asked.jobs = 12;
  EXPECT_EQ(engine.plan(asked, Forecast(), kStart).until_ms, kStart + 3 * kHourMs);
  // But whoever has a promise is seen to start: the pass after an hour keeps nodes for it.
  submit(engine, kStart, pods(12, 8), kHourMs, "b");
  const TimeMs t = kStart + 61 * kMinuteMs;
  engine.apply(at(t, in::Pass{}));
  EXPECT_EQ(engine.plan(asked, Forecast(), t).until_ms, t + kDayMs) << "at most a day";
}

TEST(Plan, ADomainThatIsAskedForIsShownByNode) {
  Engine engine;
  std::vector<NodeSpec> nodes{node("n1", "c1"), node("n2", "c1"), node("n3", "c2")};
  nodes[1].unhealthy_gpus = 3;
  nodes[2].unschedulable = true;
  set_up(engine, nodes);
  PlanAsked asked;
  asked.rows = asked.columns = asked.lanes = asked.jobs = 4;
  const FleetPlan all = engine.plan(asked, Forecast(), kStart);
  ASSERT_EQ(all.rows.size(), 2u);
  EXPECT_EQ(all.rows[0].kind, "clique");
  EXPECT_EQ(all.rows[0].nodes, 2u);
  EXPECT_EQ(all.rows[0].closed[0], 3000);
  EXPECT_EQ(all.rows[0].free[0], 13'000);
  EXPECT_EQ(all.rows[1].closed[0], 8000) << "it takes no pods";
  asked.domain = "c1";
  const FleetPlan one = engine.plan(asked, Forecast(), kStart);
  ASSERT_EQ(one.rows.size(), 2u);
  EXPECT_EQ(one.rows[0].name, "n1");
  EXPECT_EQ(one.rows[1].name, "n2");
  asked.domain = "n4";
  EXPECT_TRUE(engine.plan(asked, Forecast(), kStart).rows.empty());
  asked.domain = "";
  asked.cluster = ClusterId(7);
  EXPECT_TRUE(engine.plan(asked, Forecast(), kStart).rows.empty());
}

TEST(Plan, SpansAreRoundAndNamesAreAsPeopleCount) {
  EXPECT_EQ(derive::plan_span(0), limits::kLeastPlanMs);
  EXPECT_EQ(derive::plan_span(61 * kMinuteMs), 90 * kMinuteMs);
  EXPECT_EQ(derive::plan_span(100 * kDayMs), limits::kPlanAheadMs);
  EXPECT_TRUE(derive::is_before("node-9", "node-10"));
  EXPECT_FALSE(derive::is_before("node-10", "node-9"));
  EXPECT_TRUE(derive::is_before("a", "b"));
  EXPECT_TRUE(derive::is_before("a1", "a1b"));
  EXPECT_TRUE(derive::is_before("a01", "a1") != derive::is_before("a1", "a01")) << "total";
  EXPECT_FALSE(derive::is_before("a1", "a1"));
}

// A stored place is where it starts: with the state as it was then.
TEST(Plan, AForecastKnowsWhereAndUntilWhen) {
  Engine engine;
  set_up(engine, {node("n1"), node("n2")});
  submit(engine, kStart, pods(2, 8), kHourMs);
  const JobId next = submit(engine, kStart, pods(2, 4), 2 * kHourMs);
  engine.apply(at(kStart, in::Pass{}));
  const Forecast forecast = make_forecast(engine.forecast_basis(kStart));
  ASSERT_EQ(forecast.starts().size(), 1u);
  const Forecast::Start& start = forecast.starts()[0];
  EXPECT_EQ(start.job, next);
  EXPECT_EQ(start.at_ms, kStart + kHourMs);
  EXPECT_EQ(start.end_ms, kStart + 3 * kHourMs);
  MilliGpu sum = 0;
  for (const Forecast::Place& place : forecast.places(start)) sum += place.milligpu;
  EXPECT_EQ(sum, 8000);
}

}  // namespace
}  // namespace subak
