// Preemptions in a replay: who waits, what is lost, and what the commands say of it.
#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "sim/commands.h"
#include "sim/simulate.h"
#include "temp_dir.h"

namespace subak::sim {
namespace {

constexpr DurationMs kMin = kMinuteMs;

TraceJob trace_job(std::string id, DurationMs submit, DurationMs duration, std::string team,
                   std::int64_t gpus = 8) {
  TraceJob j;
  j.id = std::move(id);
  j.submit_ms = submit;
  j.duration_ms = duration;
  j.milligpu = gpus * kMilliPerGpu;
  j.team = std::move(team);
  return j;
}

Workload quota_workload(std::vector<TraceJob> trace, WorkloadOptions options) {
  if (options.quota_percent == 0) options.quotas = {{"owner", 8000}};
  auto w = make_workload(std::move(trace), *read_nodes("1x8"), options);
  EXPECT_TRUE(w.ok()) << w.error().message();
  return std::move(*w);
}

SimResult replay(const Workload& w, bool reclaim, VictimModel victims = {}) {
  Policy policy;
  policy.reclaim = reclaim;
  SimulateOptions options;
  options.victims = victims;
  options.check_invariants = true;
  auto r = simulate(w, policy, options);
  EXPECT_TRUE(r.ok());
  return std::move(*r);
}

// A borrower has the node for an hour. After 25 minutes its owner comes with a job of 10 minutes.
const std::vector<TraceJob> kBorrowed{trace_job("b", 0, 60 * kMin, "borrower"),
                                      trace_job("o", 25 * kMin, 10 * kMin, "owner")};

constexpr double kGpus = 8;
double gpu_hours(double minutes) { return kGpus * minutes / 60; }

TEST(Preemption, WithoutReclaimTheOwnerWaits) {
  const SimResult r = replay(quota_workload(kBorrowed, {}), false);
  ASSERT_TRUE(r.quota);
  EXPECT_EQ(r.quota->within_s.jobs, 1u);
  EXPECT_EQ(r.quota->within_s.mean, 35 * 60);
  EXPECT_EQ(r.quota->beyond_s.jobs, 1u);
  EXPECT_EQ(r.quota->beyond_s.mean, 0);
  EXPECT_EQ(r.quota->preemptions, 0u);
  EXPECT_EQ(r.quota->lost_gpu_h, 0);
}

TEST(Preemption, AllWorkIsLostWithoutACheckpoint) {
  const SimResult r = replay(quota_workload(kBorrowed, {}), true);
  ASSERT_TRUE(r.quota);
  // The owner starts when the grace of 30 s is over. The borrower waits for 10 minutes, and runs
  // for its complete hour.
  EXPECT_EQ(r.quota->within_s.mean, 30);
  EXPECT_EQ(r.quota->beyond_s.mean, 10 * 60);
  EXPECT_EQ(r.quota->preemptions, 1u);
  EXPECT_EQ(r.quota->preempted_jobs, 1u);
  EXPECT_EQ(r.quota->most_of_one_job, 1u);
  EXPECT_NEAR(r.quota->lost_gpu_h, gpu_hours(25.5), 1e-9);
  EXPECT_NEAR(r.quota->lost_part, 25.5 / (25.5 + 10 + 60), 1e-12);
  EXPECT_EQ(r.finished, 2u);
  // (10 + 60 + 25.5) / 60, and (0.5 + 10) / 10.
  EXPECT_NEAR(r.bounded_slowdown.mean, (95.5 / 60 + 1.05) / 2, 1e-12);
}

TEST(Preemption, ACheckpointSavesTheWorkBeforeIt) {
  const Workload w = quota_workload(kBorrowed, {});
  std::array<TimeMs, 2> ends{};
  struct Ends : Observer {
    explicit Ends(std::array<TimeMs, 2>& to) : ends(to) {}
    void submitted(std::uint32_t, JobId, TimeMs) override {}
    void started(std::uint32_t, TimeMs, const std::vector<EffectPod>&) override {}
    void ended(std::uint32_t job, TimeMs t) override { ends[job] = t - kTraceEpochMs; }
    void preempted(std::uint32_t job, JobId, TimeMs t, DurationMs lost_ms) override {
      EXPECT_EQ(job, 0u);
      EXPECT_EQ(t - kTraceEpochMs, 26 * kMin);
      lost += lost_ms;
    }
    std::array<TimeMs, 2>& ends;
    DurationMs lost = 0;
  } observer(ends);
  Engine engine;
  EnginePort port(engine);
  Driver driver(w, port, observer, {kMin, 10 * kMin});
  Policy policy;
  policy.reclaim = true;
  ASSERT_FALSE(driver.set_up(policy).has_value());
  driver.run();
  EXPECT_EQ(observer.lost, 6 * kMin);  // five minutes after the last checkpoint, and the grace
  EXPECT_EQ(ends[1], 36 * kMin);
  EXPECT_EQ(ends[0], (36 + 40) * kMin);
  EXPECT_EQ(driver.finished(), 2u);
}

TEST(Preemption, AJobThatEndsInTimeLosesNothing) {
  const SimResult r = replay(
      quota_workload(
          {trace_job("b", 0, 25 * kMin, "borrower"), trace_job("o", 25 * kMin, kMin, "owner")}, {}),
      true);
  EXPECT_EQ(r.quota->preemptions, 0u);
  EXPECT_EQ(r.quota->within_s.mean, 0);
}

TEST(Preemption, NobodyIsAskedInItsMinimumRun) {
  const SimResult r = replay(
      quota_workload(
          {trace_job("b", 0, 60 * kMin, "borrower"), trace_job("o", kMin, kMin, "owner")}, {}),
      true);
  EXPECT_EQ(r.quota->within_s.mean, 9 * 60 + 30);
  EXPECT_NEAR(r.quota->lost_gpu_h, gpu_hours(10.5), 1e-9);
}

TEST(Preemption, AWarmJobLosesWhatItRanBeforeTheWindow) {
  WorkloadOptions options;
  options.from_day = 1;
  std::vector<TraceJob> trace{trace_job("b", 0, kDayMs + 60 * kMin, "borrower"),
                              trace_job("o", kDayMs + 25 * kMin, 10 * kMin, "owner")};
  const double before = 24 * 60;
  const SimResult none = replay(quota_workload(trace, options), true);
  EXPECT_EQ(none.quota->preemptions, 1u);
  EXPECT_NEAR(none.quota->lost_gpu_h, gpu_hours(before + 25.5), 1e-9);
  const SimResult hourly = replay(quota_workload(trace, options), true, {30 * kSecondMs, kHourMs});
  EXPECT_NEAR(hourly.quota->lost_gpu_h, gpu_hours(25.5), 1e-9);
  EXPECT_EQ(hourly.quota->beyond_s.jobs, 0u);  // a warm job is in no wait
}

TEST(Preemption, TheClaimWaitsForALongGrace) {
  const SimResult r = replay(quota_workload(kBorrowed, {}), true, {5 * kMin, 0});
  EXPECT_EQ(r.quota->within_s.mean, 5 * 60);
  EXPECT_EQ(r.quota->preemptions, 1u);
  EXPECT_NEAR(r.quota->lost_gpu_h, gpu_hours(30), 1e-9);
}

TEST(Preemption, EachPreemptionOfAJobCounts) {
  const SimResult r = replay(quota_workload({trace_job("b", 0, 60 * kMin, "borrower"),
                                             trace_job("o1", 20 * kMin, 10 * kMin, "owner"),
                                             trace_job("o2", 50 * kMin, 10 * kMin, "owner")},
                                            {}),
                             true, {0, 15 * kMin});
  // It runs 0 to 20 and 30 to 50, each time from a checkpoint, and 60 to 90.
  EXPECT_EQ(r.quota->preemptions, 2u);
  EXPECT_EQ(r.quota->preempted_jobs, 1u);
  EXPECT_EQ(r.quota->most_of_one_job, 2u);
  EXPECT_NEAR(r.quota->lost_gpu_h, gpu_hours(5 + 5), 1e-9);
  EXPECT_EQ(r.quota->within_s.mean, 0);
  EXPECT_EQ(r.quota->beyond_s.mean, 20 * 60);
}

TEST(Preemption, AReplayIsDeterministicAndEndsEachJob) {
  std::vector<TraceJob> trace;
  for (int i = 0; i < 300; ++i) {
    const std::string team = i % 3 == 0 ? "owner" : "t" + std::to_string(i % 5);
    trace.push_back(trace_job("j" + std::to_string(i), i * kMin * 2, (1 + i * 37 % 50) * kMin, team,
                              1 + i * 7 % 8));
  }
  WorkloadOptions options;
  options.quota_percent = 50;
  const Workload w = quota_workload(trace, options);
  const SimResult a = replay(w, true), b = replay(w, true);
  EXPECT_EQ(a.finished, 300u);
  EXPECT_GT(a.quota->preemptions, 0u);
  EXPECT_EQ(a.quota->preemptions, b.quota->preemptions);
  EXPECT_EQ(a.quota->lost_gpu_h, b.quota->lost_gpu_h);
  EXPECT_EQ(a.waits_s, b.waits_s);
}

TEST(QuotaByDemand, DividesTheFleetInWholeGpus) {
  // a: 60 GPU-hours, b: 30, c: 12; d does not fit the fleet.
  WorkloadOptions options;
  options.quota_percent = 100;
  const std::vector<TraceJob> trace{
      trace_job("1", 0, 10 * kHourMs, "a", 6), trace_job("2", 0, 5 * kHourMs, "b", 6),
      trace_job("3", 0, 12 * kHourMs, "c", 1), trace_job("4", 0, 90 * kHourMs, "d", 9)};
  const auto quotas = [&] {
    std::vector<MilliGpu> out;
    for (const Team& team : quota_workload(trace, options).teams) out.push_back(team.quota);
    return out;
  };
  EXPECT_EQ(quotas(), (std::vector<MilliGpu>{5000, 2000, 1000, 0}));  // 4.7, 2.4, 0.9
  options.quota_percent = 50;
  EXPECT_EQ(quotas(), (std::vector<MilliGpu>{2000, 1000, 1000, 0}));  // 2.4, 1.2, 0.5
}

TEST(WithinQuota, IsOfTheTraceAlone) {
  // With 4 GPUs of quota: "2" comes while "1" would run, "3" when it would have ended. The fleet is
  // full, so the replay starts them later.
  WorkloadOptions options;
  options.quotas = {{"a", 4000}};
  const std::vector<TraceJob> trace{
      trace_job("0", 0, 5 * kHourMs, "b", 8), trace_job("1", 0, kHourMs, "a", 3),
      trace_job("2", kHourMs / 2, kHourMs, "a", 2), trace_job("3", 2 * kHourMs, kHourMs, "a", 4),
      trace_job("4", 2 * kHourMs, kHourMs, "b", 1)};
  auto w = make_workload(trace, *read_nodes("1x8"), options);
  ASSERT_TRUE(w.ok());
  std::vector<bool> within;
  for (const SimJob& job : w->jobs) within.push_back(job.within_quota);
  EXPECT_EQ(within, (std::vector<bool>{false, true, false, true, false}));
}

TEST(Commands, ReclaimPrintsBothSidesAndNamesMistakes) {
  TempDir dir;
  SimOptions options;
  options.trace =
      dir.write("t.csv", "job_id,submit_s,duration_s,gpus,team\nb,0,3600,8,x\no,1500,600,8,y\n");
  options.nodes = "1x8";
  options.quota.amounts = dir.write("q.csv", "team,gpus\ny,8\n");
  options.quota.reclaim = "both";
  options.eta = 0;
  std::ostringstream table, json, err;
  EXPECT_EQ(sim_run(options, table, err), 0) << err.str();
  const auto line = [&](std::string_view name) {
    const std::string text = table.str();
    const std::size_t at = text.find(name);
    return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(line("target-share"), "target-share   reclaim");
  EXPECT_EQ(line("preemptions"), "preemptions                              0         1");
  EXPECT_EQ(line("GPU-h lost"), "GPU-h lost                               0         3");
  options.output = "json";
  EXPECT_EQ(sim_run(options, json, err), 0) << err.str();
  EXPECT_NE(json.str().find("\"results\""), std::string::npos);
  EXPECT_NE(json.str().find("\"lost_gpu_hours\": 3.4"), std::string::npos) << json.str();
  EXPECT_EQ(err.str(), "");

  const auto refused = [&](auto change) {
    SimOptions bad = options;
    change(bad);
    std::ostringstream ignored, message;
    const int code = sim_compare(bad, ignored, message);
    return code == 2 ? message.str() : "accepted";
  };
  const auto names = [](const std::string& message, std::string_view field) {
    return message.find("subak: " + std::string(field) + ":") == 0;
  };
  EXPECT_TRUE(names(refused([](SimOptions& o) { o.quota.reclaim = "maybe"; }), "reclaim"));
  EXPECT_TRUE(names(refused([](SimOptions& o) { o.quota.amounts = ""; }), "reclaim"));
  EXPECT_TRUE(names(refused([](SimOptions& o) { o.quota.amounts = "demand:101"; }), "quota"));
  EXPECT_TRUE(names(refused([](SimOptions& o) { o.quota.amounts = "demand:x"; }), "quota"));
  EXPECT_TRUE(names(refused([](SimOptions& o) { o.quota.grace = "11m"; }), "grace"));
  EXPECT_TRUE(names(refused([](SimOptions& o) { o.quota.grace = "30"; }), "grace"));
  EXPECT_TRUE(names(refused([](SimOptions& o) { o.quota.checkpoint = "often"; }), "checkpoint"));
  EXPECT_TRUE(names(refused([](SimOptions& o) { o.quota.min_run = "x"; }), "reclaim-min-run"));
  EXPECT_TRUE(names(refused([](SimOptions& o) { o.quota.reclaim = "off", o.quota.grace = "1s"; }),
                    "grace"));
  EXPECT_TRUE(names(refused([](SimOptions& o) { o.quota.reclaim = "on", o.policies = {"drf"}; }),
                    "reclaim"));
}

TEST(Commands, WithBothOnlyTargetShareComesTwice) {
  TempDir dir;
  SimOptions options;
  options.trace = dir.write("t.csv", "job_id,submit_s,duration_s,gpus,team\na,0,60,8,x\n");
  options.nodes = "1x8";
  options.quota.amounts = "demand:50";
  options.policies = {"target-share", "drf"};
  options.quota.reclaim = "both";
  options.eta = 0;
  std::ostringstream out, err;
  EXPECT_EQ(sim_compare(options, out, err), 0) << err.str();
  EXPECT_NE(out.str().find("  target-share  reclaim     drf\n"), std::string::npos) << out.str();
}

}  // namespace
}  // namespace subak::sim
