// The bursty toy: a fleet with many short jobs, and gangs that need nine tenths of the fleet. A
// policy either reserves nodes for the gangs, which leaves GPUs idle, or lets the gangs wait long.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/quantity.h"
#include "model/input.h"
#include "sim/read/workload.h"
#include "sim/report/stats.h"

namespace subak::sim {

// The policies to compare, and the simulated load. The same options give the same results.
struct BurstyOptions {
  std::vector<OrderPolicy> policies{OrderPolicy::kTargetShare, OrderPolicy::kExact,
                                    OrderPolicy::kUsageTick, OrderPolicy::kDrf};
  // The length of the window that is simulated and measured.
  DurationMs length_ms = 2 * kDayMs;
  // The seed of the random run times and arrivals.
  std::uint64_t seed = 1;
  // The toy calls this function after each policy with the part that is done, 0 to 1. The function
  // may be empty.
  std::function<void(double done)> progress;
};

// Returns a workload with 320 GPUs in nodes of 8, and two teams with equal shares. The first team
// has jobs of one GPU with exponential run times of 5 minutes on average; these jobs use 0.7 of the
// fleet. Every 6 hours the second team submits a gang that needs 36 whole nodes for half an hour.
// The first gang comes after one hour.
Workload bursty_workload(const BurstyOptions& options);
// Returns one result for each policy.
std::vector<SimResult> run_bursty(const BurstyOptions& options);

}  // namespace subak::sim
