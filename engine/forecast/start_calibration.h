// Start-time calibration (`StartCalibration`): it compares actual starts with their estimates, and
// sizes the next intervals so that they contain nine of ten starts. The service's forecaster owns
// one. The calibration is not part of the state: if it is lost, intervals only become wider. So it
// is stored next to a checkpoint and not as facts (docs/design/0053).
// Threads: one at a time.
//
// A forecast does not know jobs that come later, so most jobs wait longer than it says, by some
// factor. Each start gives one ratio: (actual wait + 10 min) / (forecast wait + 10 min). An
// interval is the shortest range that contains enough of the last ratios (conformal prediction).
// Source: Vovk, Gammerman, Shafer, Algorithmic Learning in a Random World, 2005.
//
// A start within its interval is a hit. A start outside it is a miss, and so is a job that
// still waits after its interval. A start within a minute after its estimate was made is
// neither. Each hit and each miss changes the level: the part of the ratios that an interval
// leaves out. So in the long run one in ten starts misses its interval, even if the load
// changes. Source: Gibbs, Candes, Adaptive conformal inference under distribution shift,
// NeurIPS 2021. A range around the median would be longer than the shortest range, because most
// large errors are late starts.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "core/ids.h"
#include "core/quantity.h"
#include "engine/answers/growth.h"
#include "engine/forecast/calibration_record.h"
#include "engine/forecast/forecast.h"

namespace subak {

// The estimated start of a waiting job. The job starts most likely at `expected_ms`, rarely before
// `earliest_ms`, and rarely after `latest_ms`.
struct ExpectedStart {
  // The interval and the most likely start, in ascending order.
  TimeMs earliest_ms = 0, expected_ms = 0, latest_ms = 0;
  // True: the interval comes from past starts. False: the interval is a wide default, because too
  // few past starts are known.
  bool learned = false;
  // True: the start depends on an assumed run time of some job.
  bool assumed = false;
  friend bool operator==(const ExpectedStart&, const ExpectedStart&) = default;
};

// Quantiles of past starts, as factors of (forecast wait + 10 min). This is a plain value.
// Threads: any.
struct StartOdds {
  // The three factors. The defaults apply while fewer than 20 starts are known.
  double low = 0.1, middle = 1, high = 30;
  bool learned = false;
  // Returns the estimate for the start `start_ms` of a forecast that was made at `at_ms`.
  // `start_ms` must not be before `at_ms`.
  ExpectedStart of(TimeMs at_ms, TimeMs start_ms) const;
};

// The newest forecast and the quantiles, for readers. This is a plain value.
// Threads: any.
struct ForecastStarts {
  // The forecast; never null.
  std::shared_ptr<const Forecast> forecast;
  // The quantiles after the newest hit or miss. They may be newer than the forecast.
  StartOdds odds;
  // The nodes that pools should get, at the time of the forecast. nullptr: no forecast
  // was made yet.
  std::shared_ptr<const Growth> growth = nullptr;
  // False if no forecast was made yet; `forecast` then has no starts.
  bool is_made() const { return forecast->time_ms() != 0; }
  // Returns the estimate for a waiting job at `now`; nullopt if the forecast has no start of the
  // job. `now` must not be before the forecast's time.
  std::optional<ExpectedStart> of(JobId job, TimeMs now) const;
};

// Collects estimates and outcomes, and computes the quantiles from them.
class StartCalibration {
 public:
  // Records the first estimate of a job. Call it once a job, for the first forecast with a start of
  // the job; `at_ms` is when that forecast was made. The call has no effect if
  // limits::kMaxCalibrationStarts jobs are already recorded.
  void announced(JobId job, TimeMs at_ms, TimeMs start_ms);
  // Records the start of the job's first attempt. Returns the job's estimate; nullopt if the job
  // had no estimate.
  std::optional<ExpectedStart> started(JobId job, TimeMs t);
  // Drops a job that is gone without a start, or whose start is unknown.
  void forget(JobId job) { waiting_.erase(job); }
  // Counts each job that still waits after its `latest_ms` as a miss, once. O(waiting jobs).
  void look(TimeMs t);
  // Returns the quantiles of the last limits::kMaxCalibrationOutcomes starts. The reference is
  // valid until the next start or miss. The first call after one sorts the ratios, O(n log n) for n
  // ratios.
  const StartOdds& odds() const;
  // The number of open estimates.
  std::size_t size() const { return waiting_.size(); }

  // Returns the stored form. Its `seq` is not set.
  CalibrationRecord record() const;
  // Restores the stored form. Returns kInvalid if no StartCalibration can have written the record.
  // The field of the error begins with "told_starts.".
  static Result<StartCalibration> from(const CalibrationRecord& record);
  // Drops each job for which `waits` returns false, because such a job is gone or not known.
  void forget_unless(const std::function<bool(JobId)>& waits);

 private:
  // The first estimate of a job: when it was made, the forecast start, and the interval.
  struct Announced {
    TimeMs at_ms = 0, start_ms = 0;
    ExpectedStart as;
    // True: the job already counts as a miss.
    bool missed = false;
  };
  // Changes the level after a start. `in`: the start was inside its interval; else it missed the
  // interval.
  void hit(bool in);

  std::unordered_map<JobId, Announced> waiting_;
  // The last ratios (actual wait + 10 min) / (forecast wait + 10 min), the newest last.
  std::deque<double> ratios_;
  // The part of the ratios that a range leaves out.
  double level_ = 0.1;
  // The result of odds(), until the next outcome or miss.
  mutable std::optional<StartOdds> odds_;
};

}  // namespace subak
