// The toy world shows how steadily an order rule shares the fleet. The fleet is always full. Each
// team always has waiting jobs of one GPU, or waiting gangs, with exponential run times. Share
// error = |a team's part of the fleet - its share|, in hundredths of the fleet.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/input.h"

namespace subak::sim {

// The number of pods of a gang in the table. Each pod has one GPU.
inline constexpr std::int64_t kToyGang = 64;

// One toy: its teams, the fleet, and the time. The same options give the same result.
struct ToyOptions {
  // The shares of each team.
  std::vector<std::int64_t> shares{1, 1};
  // The number of one-GPU pods of each job, by team. Empty: each job has one pod.
  std::vector<std::int64_t> gangs;
  // The number of GPUs. The GPUs are in nodes of 8; the last node may have fewer GPUs.
  std::int64_t gpus = 1000;
  // The mean of the exponential run times, in ms.
  DurationMs mean_job_ms = kHourMs;
  // `warm_up_ms`: the time before the measurement begins. `measured_ms`: the time that is measured.
  DurationMs warm_up_ms = 7 * kDayMs;
  DurationMs measured_ms = 5 * kDayMs;
  // The seed of the run times.
  std::uint64_t seed = 1;
  // The policy to measure.
  Policy policy;
};

// The share errors, in hundredths of the fleet. Each of them is the error of the worst team.
struct ToyResult {
  // The mean of the share error over time.
  double mean = 0;
  // The largest share error at any instant.
  double max = 0;
  // The mean over hours of the share error, computed from the team's mean part of the fleet in each
  // hour.
  double hour_mean = 0;
  // The number of jobs that ended.
  std::uint64_t jobs = 0;
  // The duration of the run on this machine, in seconds.
  double wall_s = 0;
};

// Runs one toy on a new engine.
ToyResult run_toy(const ToyOptions& options);

// One line of the table: the same toy with each policy.
struct ToyRow {
  // The toy in words, for the first column.
  std::string what;
  std::vector<std::string> policies;
  // One result for each policy, in the order of `policies`.
  std::vector<ToyResult> results;
};

// The contents of the table. The same options give the same table.
struct ToyTableOptions {
  // The policies. Each policy has a column.
  std::vector<OrderPolicy> policies{OrderPolicy::kTargetShare, OrderPolicy::kExact,
                                    OrderPolicy::kUsageTick, OrderPolicy::kDrf};
  // The mean run times. Each mean run time has lines of its own.
  std::vector<DurationMs> mean_jobs{10 * kMinuteMs, kHourMs, 4 * kHourMs};
  DurationMs warm_up_ms = 7 * kDayMs;
  DurationMs measured_ms = 5 * kDayMs;
  std::uint64_t seed = 1;
  // run_toy_table() calls this function after each toy with the part that is done, 0 to 1. It may
  // be empty.
  std::function<void(double done)> progress;
};
// Runs all toys of the table: two and twenty teams, with equal and with uneven shares (3:1, and 1
// to 20). After these toys, it runs the same toys again with only gangs of kToyGang pods in every
// second team.
std::vector<ToyRow> run_toy_table(const ToyTableOptions& options);

}  // namespace subak::sim
