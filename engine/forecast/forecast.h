// A forecast says when each waiting job starts. It comes from a simulation on a copy of the
// engine's state, with the same passes, deadlines and reservations. In the simulation no new jobs
// come, and each job runs for its predicted time. A forecast only informs: no decision depends on
// it (docs/design/0053). The service makes a forecast from time to time
// (server/runtime/forecaster.h).
// Threads: any. One thread may make a forecast while the engine continues on another.
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

// How long a job runs, from the start of its attempt to its end. For a running job this is the
// total run time, not the remaining time.
struct RunTime {
  // The run time, at least 0.
  DurationMs ms = 0;
  // True if neither a time limit, nor a similar job, nor an operator's setting gives the run time.
  // An assumed run time is limits::kGuessedRunMs.
  bool assumed = false;
};
using RunTimes = std::unordered_map<JobId, RunTime>;

// A run that has ended. Such runs predict the run times of similar jobs.
struct EndedRun {
  // The leaf of the job: the user's account, or the job's account if it has no user.
  AccountId leaf;
  // The cluster where the job ran.
  ClusterId cluster;
  // The name of the job, without digits.
  std::string name;
  // The job's request. Never null.
  std::shared_ptr<const GangRequest> asked;
  // The time from the start of the job's last attempt to the job's end.
  DurationMs ran_ms = 0;
  // The time limit; 0: the job had none.
  DurationMs limit_ms = 0;
};

// The complete input of a forecast. A basis is an independent copy, so the engine continues while
// another thread computes the forecast.
struct ForecastBasis {
  // The last fact that the copy includes.
  std::uint64_t seq = 0;
  // The time at which the simulation begins.
  TimeMs time_ms = 0;
  // The facts of a checkpoint of the copied state, without ended jobs and books.
  std::vector<Fact> facts;
  // The run times of all jobs that wait or hold GPUs. Empty: the forecast predicts the run times
  // from `ended`.
  RunTimes run_times;
  // Runs that have ended, the earliest first. Only used if `run_times` is empty.
  std::vector<EndedRun> ended;
};

// The forecast starts of all waiting jobs. The object is immutable, and takes 40 bytes for each job
// and 16 bytes for each place.
// Threads: any.
class Forecast {
 public:
  // The forecast start of one job.
  struct Start {
    // The job. The job waited when the forecast was made.
    JobId job;
    // The forecast start.
    TimeMs at_ms = 0;
    // `at_ms` plus the predicted run time.
    TimeMs end_ms = 0;
    // Where the job's placement is in the list of all placements. places() reads this range.
    std::uint32_t first_place = 0, places = 0;
    // True: the start depends on an assumed run time, because the job waits for the end of a job
    // with an assumed run time or start. That job ends at `at_ms`, or earlier on one of the nodes.
    bool assumed = false;
    // True: the job's own run time is assumed.
    bool run_assumed = false;
  };
  // The GPUs that a job holds on one node.
  struct Place {
    NodeId node;
    // The milli-GPU that adjacent pods of the job hold together on the node.
    MilliGpu milligpu = 0;
  };
  // Makes an empty forecast, without starts.
  Forecast() = default;
  // `starts` has each job once, in any order. `whole` is the result of is_whole().
  Forecast(std::uint64_t seq, TimeMs time_ms, TimeMs until_ms, bool whole,
           std::vector<Start> starts, std::vector<Place> places = {});

  // The last fact that the forecast includes.
  std::uint64_t seq() const { return seq_; }
  // The time at which the simulation began. 0: the forecast is empty.
  TimeMs time_ms() const { return time_ms_; }
  // The end of the forecast. A waiting job without a start in the forecast does not start before
  // this time.
  TimeMs until_ms() const { return until_ms_; }
  // True if the forecast was not cut short. In this case, a waiting job without a start in the
  // forecast does not start unless something changes.
  bool is_whole() const { return whole_; }
  // Returns the forecast start of a job; nullopt if the job did not wait at time_ms(), or does not
  // start in the forecast. O(log n).
  std::optional<TimeMs> start(JobId id) const;
  // Returns the complete entry of the job; nullptr if start() returns nullopt. The pointer is valid
  // as long as the forecast.
  const Start* find(JobId id) const;
  // True if some start depends on an assumed run time. In this case, until_ms() also depends on an
  // assumed run time.
  bool is_assumed() const { return assumed_; }
  // All starts, by job id.
  const std::vector<Start>& starts() const { return starts_; }
  // The placement of a start, in the order of the job's pods. Adjacent pods on one node share an
  // entry. Empty: the placement is not known, because limits::kForecastPlaces were used up.
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

// Runs the forecast simulation. The simulation stops when all jobs that can start have started, or
// after limits::kForecastStarts starts or limits::kForecastAheadMs. From time to time, the
// simulation calls `go_on`. If `go_on` returns false, the simulation stops, and the forecast is cut
// short (is_whole()). If `until` is set, the simulation stops when this job has started. The same
// basis gives the same forecast.
Forecast make_forecast(const ForecastBasis& basis, const std::function<bool()>& go_on = nullptr,
                       JobId until = JobId());

}  // namespace subak
