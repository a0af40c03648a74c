// Measures how long jobs wait although the quota of their team has room for them.
// Threads: none.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/quantity.h"
#include "sim/read/workload.h"

namespace subak::sim {

// Integrates, over the window, the GPUs of queued jobs that the quota of their team would cover
// now. These are the smallest queued jobs of a team that fit into its quota beside its running
// jobs. Changes come in the order of time.
class QueuedWithinQuota {
 public:
  explicit QueuedWithinQuota(const Workload& workload);
  // A job of the team waits from `t` on.
  void queued(std::uint32_t team, TimeMs t, MilliGpu milligpu);
  // A queued job of the team runs from `t` on.
  void started(std::uint32_t team, TimeMs t, MilliGpu milligpu);
  // A running job of the team holds nothing from `t` on.
  void ended(std::uint32_t team, TimeMs t, MilliGpu milligpu);
  // Returns the integral, in GPU-hours. Call it after the last change.
  double gpu_hours();

 private:
  struct Level {
    MilliGpu quota = 0, running = 0;
    // The number of queued jobs by size.
    std::map<MilliGpu, std::int64_t> queued;
    // What is integrated from `since` on.
    MilliGpu fits = 0;
    TimeMs since = 0;
  };
  // Adds the present amount up to `t`.
  void advance(Level& level, TimeMs t);
  // Computes the amount after a change. O(distinct sizes).
  static void update(Level& level);
  TimeMs to_;
  std::vector<Level> levels_;
  double gpu_ms_ = 0;
};

}  // namespace subak::sim
