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

inline constexpr std::int64_t kToyGang = 64;

struct ToyOptions {
  std::vector<std::int64_t> shares{1, 1};
  // One-GPU pods of each job, by team; empty: 1 each.
  std::vector<std::int64_t> gangs;
  std::int64_t gpus = 1000;  // in nodes of 8
  DurationMs mean_job_ms = kHourMs;
  DurationMs warm_up_ms = 7 * kDayMs;  // not measured
  DurationMs measured_ms = 5 * kDayMs;
  std::uint64_t seed = 1;
  Policy policy;
};

// Of the worst team in each figure, in points.
struct ToyResult {
  double mean = 0;       // time mean of the error
  double max = 0;        // at any instant
  double hour_mean = 0;  // mean error of one-hour means
  std::uint64_t jobs = 0;
  double wall_s = 0;
};

ToyResult run_toy(const ToyOptions& options);

// One line of the table: the same toy under each policy.
struct ToyRow {
  std::string what;
  std::vector<std::string> policies;
  std::vector<ToyResult> results;
};

struct ToyTableOptions {
  std::vector<OrderPolicy> policies{OrderPolicy::kTargetShare, OrderPolicy::kExact,
                                    OrderPolicy::kUsageTick, OrderPolicy::kDrf};
  std::vector<DurationMs> mean_jobs{10 * kMinuteMs, kHourMs, 4 * kHourMs};
  DurationMs warm_up_ms = 7 * kDayMs;
  DurationMs measured_ms = 5 * kDayMs;
  std::uint64_t seed = 1;
  std::function<void(double done)> progress;  // after each toy; done: 0 to 1
};
// Two and twenty teams, equal shares and uneven ones (3:1, and 1 to 20); and the same with every
// second team running only gangs of 64.
std::vector<ToyRow> run_toy_table(const ToyTableOptions& options);

}  // namespace subak::sim
