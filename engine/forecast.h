// When each job that waits is going to start, found by running the engine itself ahead on a copy: the
// same passes, deadlines and reservations, nobody new, and each job running as long as it is
// predicted to. It informs and decides nothing (docs/design/0053).
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
#include "engine/fact.h"
#include "placement/request.h"

namespace subak {

// How long a job runs, from the start of its attempt to its end; of one that runs, all of it.
struct RunTime {
  DurationMs ms = 0;
  // Neither a time limit, nor a job like it, nor an operator says how long: limits::kGuessedRunMs.
  bool assumed = false;
};
using RunTimes = std::unordered_map<JobId, RunTime>;

// A run that is over: by such runs it is predicted how long a job like it runs.
struct EndedRun {
  AccountId leaf;
  ClusterId cluster;
  std::string name;  // of the job, without digits
  std::shared_ptr<const GangRequest> asked;
  DurationMs ran_ms = 0;
  DurationMs limit_ms = 0;  // 0: the job had no time limit
};

// All that a forecast follows from. A value of its own: the engine goes on while another thread looks
// ahead.
struct ForecastBasis {
  std::uint64_t seq = 0;  // the last fact that is in it
  TimeMs time_ms = 0;
  std::vector<Fact> facts;      // a checkpoint's, without what is over and without books
  RunTimes run_times;           // of every job that waits or holds something; empty: by `ended`
  std::vector<EndedRun> ended;  // the earliest first; only where `run_times` is empty
};

// Immutable. 40 bytes a job, 16 a place. Threads: any.
class Forecast {
 public:
  struct Start {
    JobId job;
    TimeMs at_ms = 0;
    TimeMs end_ms = 0;                          // by its predicted run time
    std::uint32_t first_place = 0, places = 0;  // see places()
    // The start: a job whose run time is assumed ends just then, or ended before on one of its nodes; or one
    // ends that started so.
    bool assumed = false;
    bool run_assumed = false;  // its own run time
  };
  // What a job holds of one node.
  struct Place {
    NodeId node;
    MilliGpu milligpu = 0;
  };
  // Nothing is known.
  Forecast() = default;
  // `starts`: each job once.
  Forecast(std::uint64_t seq, TimeMs time_ms, TimeMs until_ms, bool whole,
           std::vector<Start> starts, std::vector<Place> places = {});

  std::uint64_t seq() const { return seq_; }  // the last fact that is in it
  TimeMs time_ms() const { return time_ms_; }
  // It looks as far as this, and whoever waits and has no start here does not start before.
  TimeMs until_ms() const { return until_ms_; }
  // It was not cut short: whoever waits and has no start here does not start, as things stand.
  bool is_whole() const { return whole_; }
  // nullopt: the job did not wait then, or has no start. O(log n).
  std::optional<TimeMs> start(JobId id) const;
  const Start* find(JobId id) const;  // the same; null for nullopt
  // Some start rests on an assumed run time: so does until_ms().
  bool is_assumed() const { return assumed_; }
  const std::vector<Start>& starts() const { return starts_; }  // by job
  // Where it starts, in the order of its pods: those beside each other on a node together. Empty: not
  // known, as limits::kForecastPlaces were full.
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

// Runs ahead until all have started that can, limits::kForecastStarts have, or limits::kForecastAheadMs
// are over; it is cut short where `go_on`, which is asked now and then, says no. The same basis makes
// the same forecast. Threads: any.
// `until`: it is of interest alone, and nothing is looked at once it has started.
Forecast make_forecast(const ForecastBasis& basis, const std::function<bool()>& go_on = nullptr,
                       JobId until = JobId());

}  // namespace subak
