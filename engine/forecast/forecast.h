// A forecast of when each waiting job starts. It is a simulation: the engine runs on a copy of the
// state with the same passes, deadlines and reservations. No new jobs come, and each job runs for
// its predicted time. A forecast informs and decides nothing (docs/design/0053).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "model/fact.h"
#include "model/request.h"

namespace subak {

// How long a job runs, from the start of its attempt to its end. For a running job it is the total,
// not the rest.
struct RunTime {
  // At least 0.
  DurationMs ms = 0;
  // True if no time limit, no similar job and no operator tells the run time: it is
  // limits::kGuessedRunMs.
  bool assumed = false;
};
using RunTimes = std::unordered_map<JobId, RunTime>;

// A run that has ended. Such runs predict the run times of similar jobs.
struct EndedRun {
  // The user's node, or the account's.
  AccountId leaf;
  // The cluster where it ran.
  ClusterId cluster;
  // The name of the job, without digits.
  std::string name;
  // Its request. Never null.
  std::shared_ptr<const GangRequest> asked;
  // From the start of its last attempt to its end.
  DurationMs ran_ms = 0;
  // 0: the job had no time limit.
  DurationMs limit_ms = 0;
};

// The complete input of a forecast. It is an independent copy: the engine goes on while another
// thread computes the forecast.
struct ForecastBasis {
  // The last fact that it includes.
  std::uint64_t seq = 0;
  // From when the simulation begins.
  TimeMs time_ms = 0;
  // The facts of a checkpoint, without ended jobs and without books.
  std::vector<Fact> facts;
  // Run times of every job that waits or holds GPUs. Empty: they are predicted from `ended`.
  RunTimes run_times;
  // The earliest first. Filled only where `run_times` is empty.
  std::vector<EndedRun> ended;
};

// The forecast starts of all waiting jobs. Immutable. 40 bytes a job, 16 a place. Threads: any.
class Forecast {
 public:
  // The forecast start of one job.
  struct Start {
    // It waited when the forecast was made.
    JobId job;
    // The forecast start.
    TimeMs at_ms = 0;
    // `at_ms` plus the predicted run time.
    TimeMs end_ms = 0;
    // An index range of all places: places() reads it.
    std::uint32_t first_place = 0, places = 0;
    // The start rests on an assumed run time: a job with one ends at that time, or ended before on
    // one of its nodes. The same holds if a job ends whose own start is assumed.
    bool assumed = false;
    // The job's own run time is assumed.
    bool run_assumed = false;
  };
  // The GPUs that a job holds on one node (its placement there).
  struct Place {
    NodeId node;
    // In milli-GPU; the sum of adjacent pods.
    MilliGpu milligpu = 0;
  };
  // An empty forecast: it has no starts.
  Forecast() = default;
  // `starts`: each job once, in any order. `whole`: as is_whole().
  Forecast(std::uint64_t seq, TimeMs time_ms, TimeMs until_ms, bool whole,
           std::vector<Start> starts, std::vector<Place> places = {});

  // The last fact that the forecast includes.
  std::uint64_t seq() const { return seq_; }
  // The time at which the simulation began. 0: an empty forecast.
  TimeMs time_ms() const { return time_ms_; }
  // The end of the forecast. A waiting job without a start here does not start before it.
  TimeMs until_ms() const { return until_ms_; }
  // True if the forecast was not cut short. A waiting job without a start here then does not start
  // unless something changes.
  bool is_whole() const { return whole_; }
  // The forecast start of a job. nullopt: the job did not wait then, or has no start. O(log n).
  std::optional<TimeMs> start(JobId id) const;
  // As start(); nullptr for nullopt. Valid as long as the forecast.
  const Start* find(JobId id) const;
  // True if some start rests on an assumed run time. Then until_ms() does too.
  bool is_assumed() const { return assumed_; }
  // All starts, by job id.
  const std::vector<Start>& starts() const { return starts_; }
  // The placement of a start, in the order of its pods. Adjacent pods on one node share an entry.
  // Empty: not known, because limits::kForecastPlaces were used up.
  std::span<const Place> places(const Start& start) const {
    return std::span(places_).subspan(start.first_place, start.places);
  }

 private:
  std::uint64_t seq_ = 0;
  TimeMs time_ms_ = 0, until_ms_ = 0;
  bool whole_ = false, assumed_ = false;
  std::vector<Start> starts_;
  std::vector<Place> places_;
};

// Runs the forecast simulation. It stops when all jobs that can start have started, or after
// limits::kForecastStarts starts or limits::kForecastAheadMs. It is cut short if `go_on`, which it
// calls now and then, returns false. With `until` only this job matters, and the simulation stops
// once it has started. The same basis makes the same forecast. Threads: any.
Forecast make_forecast(const ForecastBasis& basis, const std::function<bool()>& go_on = nullptr,
                       JobId until = JobId());

}  // namespace subak
