// Measures how many GPU-hours were idle in a simulation because their nodes were reserved.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "engine/engine.h"

namespace subak::sim {

// The reserved idle GPUs of the cluster kClusterName. saw() takes each input and its outcome.
class ReservedIdle {
 public:
  // Integrates from `from` to `to`. The engine must outlive the object.
  ReservedIdle(const Engine& engine, TimeMs from, TimeMs to)
      : engine_(engine), since_(from), to_(to) {}

  // The job waits from now on.
  void submitted(JobId id, MilliGpu milligpu) { wait(id, milligpu); }
  // Takes the next input and its outcome.
  void saw(const Input& input, const ApplyOutcome& outcome);
  // Returns the GPU-hours that were reserved and idle, and the part of them that other waiting jobs
  // could have used.
  double gpu_hours() const { return gpu_ms_ / kHourMs; }
  double beside_gpu_hours() const { return beside_gpu_ms_ / kHourMs; }

 private:
  void wait(JobId id, MilliGpu milligpu);
  MilliGpu stop_waiting(JobId id);
  void note(const fact::Reserved& f);
  void note(const fact::AttemptStarted& f);
  // Returns an upper bound for the reserved idle GPUs that waiting jobs without a reservation could
  // use. It compares sizes alone: a job that is larger than the reserved idle GPUs could not start
  // on them.
  MilliGpu used_by_others() const;

  const Engine& engine_;
  TimeMs since_, to_;
  MilliGpu level_ = 0, beside_ = 0;
  double gpu_ms_ = 0, beside_gpu_ms_ = 0;
  // Jobs with reserved nodes are in `reserved_`.
  std::unordered_map<JobId, MilliGpu> waiting_, reserved_;
  // The number of jobs of waiting_ by size.
  std::map<MilliGpu, std::int64_t> by_size_;
};

}  // namespace subak::sim
