// Start-time calibration: it compares actual starts with their estimates (`StartCalibration`), and
// sizes the next intervals to contain nine of ten starts. It is not part of the state. If it is
// lost, the intervals only become wider. So it is not a fact, but is stored beside a checkpoint
// (docs/design/0053).
// Threads: none.
//
// A forecast does not know the jobs that come later, so most jobs wait longer than it says, by some
// factor. The intervals are conformal: each is the shortest range that contains enough of the last
// ratios (actual + 10 min) / (forecast + 10 min). Source: Vovk, Gammerman, Shafer, Algorithmic
// Learning in a Random World, 2005.
// Each hit and miss changes the level: the part of the ratios that a range leaves out. So in the
// long run one in ten starts misses its interval, even if the load changes. Source: Gibbs, Candes,
// Adaptive conformal inference under distribution shift, NeurIPS 2021.
// It takes the shortest range and not the one in the middle, since most large errors are late
// starts.
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
#include "engine/forecast/calibration_record.h"
#include "engine/forecast/forecast.h"

namespace subak {

// The estimated start of a waiting job: most likely at `expected`, rarely before `earliest`, rarely
// after `latest`.
struct ExpectedStart {
  // The three times, in ascending order.
  TimeMs earliest_ms = 0, expected_ms = 0, latest_ms = 0;
  // True: the interval comes from past starts. False: it is a wide default, since too few past
  // starts are known.
  bool learned = false;
  // The value of Forecast::Start::assumed.
  bool assumed = false;
  friend bool operator==(const ExpectedStart&, const ExpectedStart&) = default;
};

// Quantiles of past starts, as factors of (wait + 10 min). They are called `StartOdds`. A plain
// value.
// Threads: any.
struct StartOdds {
  // The three factors. The defaults apply while fewer than 20 starts are known.
  double low = 0.1, middle = 1, high = 30;
  bool learned = false;
  // The estimate for a start that a forecast made at `at_ms` gives. `start_ms` is not before
  // `at_ms`.
  ExpectedStart of(TimeMs at_ms, TimeMs start_ms) const;
};

// The newest forecast with its quantiles, for readers. A plain value.
// Threads: any.
struct ForecastStarts {
  // The forecast; never null.
  std::shared_ptr<const Forecast> forecast;
  // The quantiles of the newest outcomes, which may be newer than the forecast.
  StartOdds odds;
  // False if no forecast was made yet; `forecast` is then empty.
  bool is_made() const { return forecast->time_ms() != 0; }
  // Returns the estimate for a waiting job at `now`, which is not before the forecast's time;
  // nullopt if the forecast has no start of the job.
  std::optional<ExpectedStart> of(JobId job, TimeMs now) const;
};

// Collects estimates and outcomes, and computes the quantiles from them.
class StartCalibration {
 public:
  // Records the first estimate of a job: the forecast made at `at_ms` is the first with a start for
  // it. The call has no effect if limits::kMaxCalibrationStarts jobs are recorded already.
  void announced(JobId job, TimeMs at_ms, TimeMs start_ms);
  // Records the start of the job's first attempt. Returns the job's estimate; nullopt if it had
  // none.
  std::optional<ExpectedStart> started(JobId job, TimeMs t);
  // Drops a job that is gone without a start, or whose fate is not known.
  void forget(JobId job) { waiting_.erase(job); }
  // Counts each job that still waits after its `latest` time as a miss, once. O(waiting jobs).
  void look(TimeMs t);
  // The quantiles of all outcomes so far. The reference is valid until the next outcome or miss.
  // The first call after an outcome or miss computes them, O(limits::kMaxCalibrationOutcomes).
  const StartOdds& odds() const;
  // The number of open estimates.
  std::size_t size() const { return waiting_.size(); }

  // Returns the stored form. Its `seq` is not set.
  CalibrationRecord record() const;
  // Restores the stored form. Returns kInvalid, with a field of "told_starts", if no
  // StartCalibration can have written it.
  static Result<StartCalibration> from(const CalibrationRecord& record);
  // Drops each job for which `waits` returns false, because it is gone or not known.
  void forget_unless(const std::function<bool(JobId)>& waits);

 private:
  // The first estimate of a job: when it was made, the forecast start, and the interval.
  struct Announced {
    TimeMs at_ms = 0, start_ms = 0;
    ExpectedStart as;
    // True: the job already counts as a miss.
    bool missed = false;
  };
  // Changes the level after a start that was inside its interval (`in`), or missed it.
  void hit(bool in);

  std::unordered_map<JobId, Announced> waiting_;
  // The last ratios (actual + 10 min) / (forecast + 10 min), the newest last.
  std::deque<double> ratios_;
  // The part of the ratios that a range leaves out.
  double level_ = 0.1;
  // The result of odds(), until the next outcome or miss.
  mutable std::optional<StartOdds> odds_;
};

}  // namespace subak
