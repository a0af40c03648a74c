// Estimates the start of jobs at submission, in the same way as the service, and compares the
// estimate with the real start (docs/design/0053). The comparison is slow, because it runs a
// forecast for each time at which jobs with an estimate are submitted.
// Threads: one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/forecast/start_calibration.h"
#include "sim/read/workload.h"
#include "sim/report/eta_result.h"

namespace subak::sim {

// The source of run times for a start estimate.
enum class RunTimeSource : std::uint8_t {
  // The run times that the service predicts (engine/forecast/run_times.h).
  kPredicted,
  // Each job runs until its time limit.
  kLimits,
  // The real run times of the trace.
  kExact,
};

}  // namespace subak::sim

template <>
struct subak::EnumText<subak::sim::RunTimeSource> {
  static constexpr std::array<std::string_view, 3> names{"predicted", "limits", "exact"};
};

namespace subak::sim {

// The options: how many jobs get an estimate, and from which run times.
struct EtaOptions {
  // About how many jobs of the window get an estimate. These jobs are evenly spread over the
  // window. 0: no job gets an estimate.
  std::size_t told = 0;
  // The source of the run times in the forecast.
  RunTimeSource source = RunTimeSource::kPredicted;
};

// Makes the estimates of one replay and compares them with the real starts. Call its functions from
// an Observer of the driver. Workload and engine must outlive the judge. Use it only if
// EtaOptions::told is above 0.
class EtaJudge {
 public:
  EtaJudge(const Workload& workload, const Engine& engine, EtaOptions options);
  // Call it for each submitted job. If it is to get an estimate, the next settled() makes that.
  void submitted(std::uint32_t job, JobId id);
  // Compares the start with the estimate. The result leaves out a start within a minute of the
  // submission.
  void started(std::uint32_t job, TimeMs t);
  // Estimates the starts of the chosen jobs that still wait, with one forecast.
  void settled(TimeMs t);
  // Returns the figures of all starts so far.
  EtaResult result() const;

 private:
  // The figures of one start: the wait, the errors of the corrected and of the raw estimate, and
  // the width of the interval.
  struct Come {
    // All figures are in seconds. `error_s` is the error of the corrected estimate. `uncorrected_s`
    // is the error of the raw forecast.
    double wait_s = 0, error_s = 0, uncorrected_s = 0, width_s = 0;
    // True: the job started within the interval.
    bool in = false;
  };
  // Replaces the run times of the basis, unless the source is kPredicted.
  void use_other_times(ForecastBasis& basis) const;
  // Workload and engine, which the judge does not own.
  const Workload& workload_;
  const Engine& engine_;
  EtaOptions options_;
  // Each job whose index is a multiple of this number gets an estimate.
  std::size_t every_ = 1;
  // The index of each job in the workload.
  std::unordered_map<JobId, std::uint32_t> index_;
  // The chosen jobs that settled() will estimate, when no further job starts at the present time.
  std::vector<std::pair<std::uint32_t, JobId>> fresh_;
  // A job with an estimate.
  struct ToldJob {
    JobId id;
    // The start that the forecast gave.
    TimeMs start_ms = 0;
  };
  std::unordered_map<std::uint32_t, ToldJob> told_jobs_;
  // The calibration of the estimates. The calibration learns only from the starts of this replay.
  StartCalibration calibration_;
  // The starts that were compared, in order of time.
  std::vector<Come> come_;
};

}  // namespace subak::sim
