// Estimates the start of jobs at submission, as the service would, and compares the real start.
// Threads: none.
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
  kPredicted,  // as the service does
  kLimits,     // until their limits
  kExact,      // the real run times
};

}  // namespace subak::sim

template <>
struct subak::EnumText<subak::sim::RunTimeSource> {
  static constexpr std::array<std::string_view, 3> names{"predicted", "limits", "exact"};
};

namespace subak::sim {

struct EtaOptions {
  std::size_t told = 0;  // about this many jobs of the window, evenly spread; 0: none
  RunTimeSource source = RunTimeSource::kPredicted;
};

// Follows one replay. Workload and engine must outlive it.
class EtaJudge {
 public:
  EtaJudge(const Workload& workload, const Engine& engine, EtaOptions options);
  void submitted(std::uint32_t job, JobId id);
  void started(std::uint32_t job, TimeMs t);
  void settled(TimeMs t);
  EtaResult result() const;

 private:
  struct Come {
    double wait_s = 0, error_s = 0, uncorrected_s = 0, width_s = 0;
    bool in = false;  // started within the interval
  };
  void use_other_times(ForecastBasis& basis) const;
  const Workload& workload_;
  const Engine& engine_;
  EtaOptions options_;
  std::size_t every_ = 1;
  std::unordered_map<JobId, std::uint32_t> index_;  // of the workload
  // Jobs that get an estimate when no further job starts at this time.
  std::vector<std::pair<std::uint32_t, JobId>> fresh_;
  struct ToldJob {
    JobId id;
    TimeMs start_ms = 0;  // as the forecast said
  };
  std::unordered_map<std::uint32_t, ToldJob> told_jobs_;
  StartCalibration calibration_;
  std::vector<Come> come_;
};

}  // namespace subak::sim
