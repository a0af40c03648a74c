// Starts that are told at submission, judged by how they come.
#include "sim/report/eta.h"

#include <gtest/gtest.h>

#include "sim/simulate.h"

namespace subak::sim {
namespace {

// One node, and a job of all of it every ten minutes that runs for half an hour; limits are two hours.
Workload one_after_the_other(std::size_t jobs) {
  Workload w;
  w.nodes.resize(1);
  w.nodes[0].name = "n0";
  w.nodes[0].product = "H100";
  w.nodes[0].gpus = 8;
  w.capacity = 8 * kMilliPerGpu;
  w.teams = {{"t", "t", 1, 0}};
  w.requests.resize(1);
  w.requests[0].groups.resize(1);
  w.requests[0].groups[0].count = 1;
  w.requests[0].groups[0].shape.kind = GpuKind::kWhole;
  w.requests[0].groups[0].shape.gpus = 8;
  for (std::size_t i = 0; i < jobs; ++i) {
    SimJob job;
    job.name = "train-" + std::to_string(i);
    job.submit_ms = kTraceEpochMs + static_cast<TimeMs>(i) * 10 * kMinuteMs;
    job.duration_ms = 30 * kMinuteMs;
    job.time_limit_ms = 2 * kHourMs;
    job.milligpu = 8 * kMilliPerGpu;
    w.jobs.push_back(job);
  }
  w.from_ms = kTraceEpochMs;
  w.to_ms = kTraceEpochMs + static_cast<TimeMs>(jobs) * 30 * kMinuteMs;
  return w;
}

EtaResult eta_of(RunTimeSource source, std::size_t told) {
  SimulateOptions options;
  options.eta = {told, source};
  const auto result = simulate(one_after_the_other(100), Policy(), options);
  EXPECT_TRUE(result.ok());
  return *result->eta;
}

TEST(Eta, WithKnownRunTimesEachStartsAsTold) {
  const EtaResult eta = eta_of(RunTimeSource::kExact, 100);
  EXPECT_EQ(eta.jobs, 99u);  // the first does not wait
  EXPECT_GT(eta.within_1m, 0.9);
  EXPECT_EQ(eta.median_uncorrected_s, 0);
  EXPECT_GT(eta.coverage_90, 0.95);
  EXPECT_GT(eta.median_wait_s, 10 * 3600);
}

// By its limit each would run four times as long: what is learned of that mends the expected start.
TEST(Eta, LimitsSayTooLateAndThatIsLearned) {
  const EtaResult limits = eta_of(RunTimeSource::kLimits, 100);
  const EtaResult predicted = eta_of(RunTimeSource::kPredicted, 100);
  EXPECT_GT(limits.median_error_s, 5 * predicted.median_error_s);
  EXPECT_GT(limits.median_uncorrected_s, 4 * limits.median_error_s);
  EXPECT_GT(predicted.within_10m, 0.8);
}

TEST(Eta, AboutAsManyAreToldAsWasAskedFor) {
  EXPECT_EQ(eta_of(RunTimeSource::kExact, 10).jobs, 9u);
  const auto result = simulate(one_after_the_other(20), Policy());
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->eta);
}

}  // namespace
}  // namespace subak::sim
