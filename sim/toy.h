// The toy world shows how steadily an order rule shares the fleet. Teams have endless backlogs of
// one-GPU jobs, or of gangs, of exponential length on a full fleet. Share error = |a team's part of
// the fleet - its share|, in points of the fleet.
// Threads: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/input.h"

namespace subak::sim {

// Pods of a gang in the table, one GPU each.
inline constexpr std::int64_t kToyGang = 64;

// One toy: its teams, the fleet, and the time. The same options give the same result.
struct ToyOptions {
  // One for each team.
  std::vector<std::int64_t> shares{1, 1};
  // One-GPU pods of each job, by team; empty: 1 each.
  std::vector<std::int64_t> gangs;
  // In nodes of 8; the last node has the rest.
  std::int64_t gpus = 1000;
  // The mean of the exponential run times.
  DurationMs mean_job_ms = kHourMs;
  // The time before the measurement begins, and the time that is measured.
  DurationMs warm_up_ms = 7 * kDayMs;
  DurationMs measured_ms = 5 * kDayMs;
  // Of the run times.
  std::uint64_t seed = 1;
  // The policy that is measured.
  Policy policy;
};

// The share error of the worst team in each figure, in points (hundredths) of the fleet.
struct ToyResult {
  // The mean over time of the error.
  double mean = 0;
  // The largest error at any instant.
  double max = 0;
  // The mean error of one-hour means.
  double hour_mean = 0;
  // Jobs that ended.
  std::uint64_t jobs = 0;
  // How long the run took on this machine, in seconds.
  double wall_s = 0;
};

// Runs one toy on a fresh engine.
ToyResult run_toy(const ToyOptions& options);

// One line of the table: the same toy under each policy.
struct ToyRow {
  // The toy in words, for the first column.
  std::string what;
  std::vector<std::string> policies;
  // One for each policy, in their order.
  std::vector<ToyResult> results;
};

// What the table covers. The same options give the same table.
struct ToyTableOptions {
  // Each has a column.
  std::vector<OrderPolicy> policies{OrderPolicy::kTargetShare, OrderPolicy::kExact,
                                    OrderPolicy::kUsageTick, OrderPolicy::kDrf};
  // Each has lines of its own.
  std::vector<DurationMs> mean_jobs{10 * kMinuteMs, kHourMs, 4 * kHourMs};
  DurationMs warm_up_ms = 7 * kDayMs;
  DurationMs measured_ms = 5 * kDayMs;
  std::uint64_t seed = 1;
  // Called after each toy with the part that is done, 0 to 1. May be empty.
  std::function<void(double done)> progress;
};
// Runs all toys of the table: two and twenty teams, with equal and with uneven shares (3:1, and 1
// to 20). Then the same with every second team running only gangs of kToyGang.
std::vector<ToyRow> run_toy_table(const ToyTableOptions& options);

}  // namespace subak::sim
