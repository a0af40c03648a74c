// Start-time calibration: it compares actual starts with their estimates (`StartCalibration`), and
// sizes the next intervals to contain nine of ten starts. It is not part of the state. Its loss
// only widens the intervals, so it is stored beside a checkpoint (docs/design/0053). Threads: none.
//
// A forecast knows nothing of later jobs, so most jobs wait longer than it says, by a factor. The
// intervals are conformal: the shortest range that has enough of the last ratios (actual + 10 min)
// / (forecast + 10 min). Source: Vovk, Gammerman, Shafer, Algorithmic Learning in a Random World,
// 2005.
// Each hit and miss moves the level of the range. In the long run one in ten starts misses,
// whatever changes. Source: Gibbs, Candes, Adaptive conformal inference under distribution shift,
// NeurIPS 2021.
// It takes the shortest range and not the middle one, since most large errors are late starts.
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

// The estimated start of a waiting job: hardly before `earliest`, most likely at `expected`, hardly
// after `latest`.
struct ExpectedStart {
  // In this order.
  TimeMs earliest_ms = 0, expected_ms = 0, latest_ms = 0;
  // The interval comes from past starts. Else it is a wide default, as too few are known.
  // As in ExpectedStart.
  bool learned = false;
  // As in Forecast::Start::assumed.
  bool assumed = false;
  friend bool operator==(const ExpectedStart&, const ExpectedStart&) = default;
};

// Quantiles of past starts, as factors of (wait + 10 min). They are called `StartOdds`. A value.
// Threads: any.
struct StartOdds {
  // The defaults apply while fewer than 20 starts are known.
  double low = 0.1, middle = 1, high = 30;
  bool learned = false;
  // The estimate for a start that a forecast made at `at_ms` gives. `start_ms` is not before
  // `at_ms`.
  ExpectedStart of(TimeMs at_ms, TimeMs start_ms) const;
};

// The newest forecast with its quantiles, for readers. A value. Threads: any.
struct ForecastStarts {
  // Never null.
  std::shared_ptr<const Forecast> forecast;
  // Of the newest outcomes, perhaps newer than the forecast.
  StartOdds odds;
  // False: no forecast was made yet, and this one is empty.
  bool is_made() const { return forecast->time_ms() != 0; }
  // The estimate for a waiting job at `now`, which is not before the forecast's time. nullopt: the
  // job has no start.
  std::optional<ExpectedStart> of(JobId job, TimeMs now) const;
};

// Collects estimates and outcomes, and computes the quantiles from them.
class StartCalibration {
 public:
  // Records the first estimate of a job: a forecast made at `at_ms` is the first with a start for
  // it. Ignored if limits::kMaxCalibrationStarts jobs are recorded already.
  void announced(JobId job, TimeMs at_ms, TimeMs start_ms);
  // Records the start of the job's first attempt. Returns its estimate; nullopt: it had none.
  std::optional<ExpectedStart> started(JobId job, TimeMs t);
  // Drops a job that is gone without a start, or whose end is not known.
  void forget(JobId job) { waiting_.erase(job); }
  // Counts each job that still waits after its `latest` time as a miss, once. O(waiting jobs).
  void look(TimeMs t);
  // The quantiles of all outcomes so far. The reference holds until the next outcome or miss. The
  // first call after one computes them, O(limits::kMaxCalibrationOutcomes).
  const StartOdds& odds() const;
  // The number of open estimates.
  std::size_t size() const { return waiting_.size(); }

  // All of it except `seq`, in its stored form.
  CalibrationRecord record() const;
  // Restores the stored form. kInvalid, with a field of "told_starts": no StartCalibration wrote
  // it.
  static Result<StartCalibration> from(const CalibrationRecord& record);
  // Drops each job for which `waits` returns false: it is gone, or not known.
  void forget_unless(const std::function<bool(JobId)>& waits);

 private:
  // The first estimate of a job: when it was made, the forecast start, and the interval.
  struct Announced {
    TimeMs at_ms = 0, start_ms = 0;
    ExpectedStart as;
    // It already counts as a miss.
    bool missed = false;
  };
  // Moves the level after a start that was inside its interval, or missed it.
  void hit(bool in);

  std::unordered_map<JobId, Announced> waiting_;
  // (actual + 10 min) / (forecast + 10 min), newest last.
  std::deque<double> ratios_;
  // The target part of the starts that miss.
  double level_ = 0.1;
  // The result of odds(), until an outcome or a miss.
  mutable std::optional<StartOdds> odds_;
};

}  // namespace subak
