#include "sim/read/workload.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace subak::sim {
namespace {

constexpr DurationMs kDay = kDayMs;

TraceJob row(const char* id, DurationMs submit, DurationMs duration, const char* team = "a") {
  TraceJob j;
  j.id = id;
  j.submit_ms = submit;
  j.duration_ms = duration;
  j.milligpu = 1000;
  j.team = team;
  return j;
}

const std::vector<TraceJob> kTrace{row("old", 0, kDay / 2, "A"), row("alive", 1000, 3 * kDay),
                                   row("first", 2 * kDay, 500, "b"), row("later", 3 * kDay, 900),
                                   row("after", 4 * kDay, 100)};

Workload make(const WorkloadOptions& options, std::vector<TraceJob> trace = kTrace) {
  auto w = make_workload(std::move(trace), *read_nodes("2x8"), options);
  EXPECT_TRUE(w.ok()) << w.error().message();
  return std::move(*w);
}

TEST(Workload, AWindowStartsWarm) {
  WorkloadOptions options;
  options.from_day = 2;
  options.to_day = 4;
  const Workload w = make(options);
  EXPECT_EQ(w.from_ms, kTraceEpochMs + 2 * kDay);
  EXPECT_EQ(w.to_ms, kTraceEpochMs + 4 * kDay);
  EXPECT_EQ(w.capacity, 16'000);
  ASSERT_EQ(w.jobs.size(), 3u);
  EXPECT_EQ(w.jobs[0].name, "alive");
  EXPECT_TRUE(w.jobs[0].warm);
  EXPECT_EQ(w.jobs[0].submit_ms, w.from_ms);
  EXPECT_EQ(w.jobs[0].duration_ms, kDay + 1000);
  EXPECT_EQ(w.jobs[0].before_ms, 2 * kDay - 1000);
  EXPECT_EQ(w.jobs[1].name, "first");
  EXPECT_FALSE(w.jobs[1].warm);
  EXPECT_EQ(w.jobs[1].before_ms, 0);
  EXPECT_EQ(w.jobs[2].name, "later");
  ASSERT_EQ(w.teams.size(), 2u);  // those of the window only
  EXPECT_EQ(w.teams[0].account, "a");
  EXPECT_EQ(w.requests.size(), 1u);
}

TEST(Workload, LoadBringsSubmissionsCloser) {
  WorkloadOptions options;
  options.from_day = 2;
  options.to_day = 4;
  options.load = 2;
  const Workload w = make(options);
  EXPECT_EQ(w.jobs[1].submit_ms, w.from_ms);
  EXPECT_EQ(w.jobs[2].submit_ms, w.from_ms + kDay / 2);
  EXPECT_EQ(w.jobs[2].duration_ms, 900);
  EXPECT_EQ(w.to_ms, w.from_ms + kDay);
}

TEST(Workload, TheWholeTraceEndsWithItsLastJob) {
  const Workload w = make({});
  EXPECT_EQ(w.to_ms, kTraceEpochMs + 4 * kDay + 100);
  EXPECT_EQ(w.jobs.size(), 5u);
  ASSERT_EQ(w.teams.size(), 3u);  // "A" and "a" are two teams
  EXPECT_EQ(w.teams[0].account, "a");
  EXPECT_EQ(w.teams[0].name, "A");
  EXPECT_EQ(w.teams[1].account, "a_2");
  EXPECT_EQ(w.teams[1].name, "a");
}

TEST(Workload, WeightsAreWholeNumbersInProportion) {
  WorkloadOptions options;
  options.weights = {{"a", 1500}, {"b", 3000}, {"gone", 1000}};
  options.quotas = {{"b", 4000}};
  const Workload w = make(options);
  EXPECT_EQ(w.teams[0].shares, 2);  // not listed: 1
  EXPECT_EQ(w.teams[1].shares, 3);
  EXPECT_EQ(w.teams[2].shares, 6);
  EXPECT_EQ(w.teams[2].quota, 4000);
  options.weights = {{"gone", 1000}};
  options.quotas = {};
  EXPECT_FALSE(make_workload(kTrace, *read_nodes("2x8"), options).ok());
}

TEST(Workload, SeedsDecideTeamsAndLimits) {
  WorkloadOptions options;
  options.random_teams = 12;
  options.limits = true;
  std::vector<TraceJob> many;
  for (int i = 0; i < 2000; ++i) many.push_back(row("j", i, (i % 300 + 1) * kHourMs));
  const Workload w = make(options, many);
  ASSERT_EQ(w.teams.size(), 12u);
  EXPECT_EQ(w.teams[0].name, "t01");
  std::size_t unlimited = 0;
  for (const SimJob& job : w.jobs) {
    if (job.time_limit_ms == 0) {
      ++unlimited;
      EXPECT_GT(job.duration_ms * 4, 168 * kHourMs);
    } else {
      EXPECT_GE(job.time_limit_ms, job.duration_ms);
    }
  }
  EXPECT_GT(unlimited, 100u);
  const Workload same = make(options, many);
  options.seed = 2;
  const Workload other = make(options, many);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < many.size(); ++i) {
    EXPECT_EQ(w.jobs[i].team, same.jobs[i].team);
    EXPECT_EQ(w.jobs[i].time_limit_ms, same.jobs[i].time_limit_ms);
    moved += w.jobs[i].team != other.jobs[i].team;
  }
  EXPECT_GT(moved, 1000u);
}

TEST(Workload, SomeLimitsAreTooShort) {
  WorkloadOptions options;
  options.limits = true;
  std::vector<TraceJob> many;
  for (int i = 0; i < 2000; ++i) {
    many.push_back(row("j", i, 30 * kHourMs));
    many.back().user = "u" + std::to_string(i % 100);
  }
  const Workload kept = make(options, many);
  options.short_limits = 30;
  const Workload w = make(options, many);
  std::map<std::string, std::size_t> too_short;
  for (std::size_t i = 0; i < w.jobs.size(); ++i) {
    const SimJob& job = w.jobs[i];
    if (job.time_limit_ms != 0 && job.time_limit_ms < job.duration_ms) {
      ++too_short[job.user];
    } else {
      EXPECT_EQ(job.time_limit_ms, kept.jobs[i].time_limit_ms) << "the others' stay as they were";
    }
  }
  EXPECT_GT(too_short.size(), 20u);
  EXPECT_LT(too_short.size(), 40u);
}

TEST(Workload, AnEmptyWindowIsAnError) {
  WorkloadOptions options;
  options.from_day = 10;
  options.to_day = 11;
  EXPECT_FALSE(make_workload(kTrace, *read_nodes("2x8"), options).ok());
  options.to_day = 9;
  EXPECT_FALSE(make_workload(kTrace, *read_nodes("2x8"), options).ok());
}

}  // namespace
}  // namespace subak::sim
