// Measures the GPU-hours of waiting jobs that would fit into the unused quota of their team.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/quantity.h"
#include "sim/read/workload.h"

namespace subak::sim {

// At each moment, some queued jobs of a team would fit into the team's quota together with its
// running jobs. The class counts these jobs, the smallest first, until the next job would not fit.
// It adds up the GPUs of the counted jobs over all teams, and integrates the sum from
// Workload::from_ms to Workload::to_ms. Call the methods in the order of time. Only started()
// removes a job from the queued jobs.
class QueuedWithinQuota {
 public:
  explicit QueuedWithinQuota(const Workload& workload);
  // A job of the team waits from `t` on.
  void queued(std::uint32_t team, TimeMs t, MilliGpu milligpu);
  // A queued job of the team runs from `t` on.
  void started(std::uint32_t team, TimeMs t, MilliGpu milligpu);
  // A running job of the team holds nothing from `t` on.
  void ended(std::uint32_t team, TimeMs t, MilliGpu milligpu);
  // Returns the integral, in GPU-hours. Call gpu_hours() once, after all other calls.
  double gpu_hours();

 private:
  struct Level {
    MilliGpu quota = 0, running = 0;
    // The number of queued jobs by size.
    std::map<MilliGpu, std::int64_t> queued;
    // The milli-GPU of the counted queued jobs. The integral is complete up to `since`.
    MilliGpu fits = 0;
    TimeMs since = 0;
  };
  // Adds `level.fits` to the integral for the time from `level.since` to `t`.
  void advance(Level& level, TimeMs t);
  // Computes `level.fits` again after a change. O(distinct sizes).
  static void update(Level& level);
  // The end of the integral.
  TimeMs to_;
  std::vector<Level> levels_;
  double gpu_ms_ = 0;
};

}  // namespace subak::sim
