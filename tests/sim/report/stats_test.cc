#include "sim/report/stats.h"

#include <gtest/gtest.h>

#include <numeric>

namespace subak::sim {
namespace {

TEST(Spread, IsByNearestRank) {
  std::vector<double> v(100);
  std::iota(v.rbegin(), v.rend(), 1.0);
  const Spread s = spread(v);
  EXPECT_EQ(s.jobs, 100u);
  EXPECT_EQ(s.mean, 50.5);
  EXPECT_EQ(s.p50, 50);
  EXPECT_EQ(s.p90, 90);
  EXPECT_EQ(s.p99, 99);
  EXPECT_EQ(spread({7}).p99, 7);
  EXPECT_EQ(spread({}).mean, 0);
}

TEST(SizeClass, HasTheDocumentedEdges) {
  const std::pair<MilliGpu, std::size_t> known[] = {
      {460, 0},  {1000, 0},   {2000, 1},   {4000, 1},   {5000, 2},   {8000, 2},
      {9000, 3}, {16'000, 3}, {17'000, 4}, {64'000, 4}, {65'000, 5}, {200'000, 5}};
  for (const auto& [gpus, at] : known) EXPECT_EQ(size_class(gpus), at) << gpus;
}

// Two teams on 10 GPUs for two days: the second has a backlog of 10 GPUs all the time, and gets 2
// on the first day and 8 on the second.
struct World {
  Workload w;
  Timeline timeline{2, kTraceEpochMs, kTraceEpochMs + 2 * kDayMs};
  World() {
    w.capacity = 10'000;
    w.from_ms = kTraceEpochMs;
    w.to_ms = kTraceEpochMs + 2 * kDayMs;
    w.teams = {{"a", "a", 1, 0}, {"b", "b", 1, 0}};
    const TimeMs noon = kTraceEpochMs + kDayMs;
    for (const auto& [team, first, second] : {std::tuple{0u, 8000, 2000}, {1u, 2000, 8000}}) {
      timeline.change(team, w.from_ms, first, 10'000 - first);
      timeline.change(team, noon, second - first, first - second);
    }
    timeline.finish();
  }
};

TEST(Stats, FairnessByWindow) {
  const World world;
  const SimResult r = make_result(world.w, world.timeline, {});
  EXPECT_DOUBLE_EQ(r.utilisation, 1);
  EXPECT_NEAR(*r.jain.hour, 100.0 / (2 * (64 + 4)), 1e-9);
  EXPECT_NEAR(*r.jain.day, 100.0 / (2 * (64 + 4)), 1e-9);
  EXPECT_NEAR(*r.max_deviation.day, 0.3, 1e-9);
  EXPECT_FALSE(r.jain.week.has_value());
  EXPECT_FALSE(r.max_deviation.week.has_value());
  EXPECT_NEAR(r.teams[0].received_gpu_h, 240, 1e-9);
  EXPECT_NEAR(r.teams[0].entitled_gpu_h, 240, 1e-9);
  EXPECT_NEAR(r.teams[0].demand_gpu_h, 480, 1e-9);
}

TEST(Stats, WaitsOfJobsOfTheWindow) {
  World world;
  const TimeMs t = world.w.from_ms;
  const auto add = [&](DurationMs run, MilliGpu gpus, bool warm, bool placeable) {
    SimJob& j = world.w.jobs.emplace_back();
    j.submit_ms = t;
    j.duration_ms = run;
    j.milligpu = gpus;
    j.warm = warm;
    j.placeable = placeable;
  };
  add(1000, 1000, true, true);
  add(100'000, 1000, false, true);
  add(1000, 8000, false, true);
  add(1000, 8000, false, false);
  add(1000, 8000, false, true);  // never started
  const SimResult r = make_result(
      world.w, world.timeline,
      {{t, t + 1000}, {t + 50'000, t + 150'000}, {t + 19'000, t + 20'000}, {-1, -1}, {-1, -1}});
  EXPECT_EQ(r.jobs, 4u);
  EXPECT_EQ(r.warm, 1u);
  EXPECT_EQ(r.finished, 2u);
  EXPECT_EQ(r.unplaceable, 1u);
  EXPECT_EQ(r.wait_s.jobs, 2u);
  EXPECT_EQ(r.wait_s.mean, 34.5);
  EXPECT_EQ(r.wait_by_size[0].mean, 50);
  EXPECT_EQ(r.wait_by_size[2].mean, 19);
  EXPECT_EQ(r.bounded_slowdown.p50, 1.5);  // 150 / 100
  EXPECT_EQ(r.bounded_slowdown.p99, 2);    // 20 / max(1, 10)
}

TEST(Stats, WaitsByQuotaAndWhatPreemptionsCost) {
  World world;
  const TimeMs t = world.w.from_ms;
  for (const bool warm : {true, false, false, false}) {
    SimJob& j = world.w.jobs.emplace_back();
    j.submit_ms = t;
    j.duration_ms = 100'000;
    j.milligpu = 2000;
    j.warm = warm;
  }
  world.w.jobs[1].within_quota = true;
  std::vector<JobFate> fates(4);
  fates[0] = {t, t + 100'000, 0, 50'000, 150'000, 1};
  fates[1] = {t + 10'000, t + 110'000, 0, 0, 100'000, 0};
  // It waits 20 s, loses 30 s, waits 40 s, loses 10 s, waits 10 s, and runs.
  fates[2] = {t + 20'000, t + 210'000, 50'000, 40'000, 140'000, 2};
  EXPECT_FALSE(make_result(world.w, world.timeline, fates).quota.has_value());
  world.w.teams[0].quota = 1000;
  const SimResult r = make_result(world.w, world.timeline, fates);
  ASSERT_TRUE(r.quota.has_value());
  EXPECT_EQ(r.quota->within_s.jobs, 1u);
  EXPECT_EQ(r.quota->within_s.mean, 10);
  EXPECT_EQ(r.quota->beyond_s.jobs, 1u);
  EXPECT_EQ(r.quota->beyond_s.mean, 70);
  EXPECT_EQ(r.wait_s.mean, 40);
  EXPECT_EQ(r.bounded_slowdown.p99, 2.1);
  EXPECT_EQ(r.quota->preemptions, 3u);
  EXPECT_EQ(r.quota->preempted_jobs, 2u);
  EXPECT_EQ(r.quota->most_of_one_job, 2u);
  EXPECT_DOUBLE_EQ(r.quota->lost_gpu_h, 2 * 90.0 / 3600);
  EXPECT_DOUBLE_EQ(r.quota->lost_part, 90.0 / 390);
}

}  // namespace
}  // namespace subak::sim
