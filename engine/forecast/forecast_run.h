// The forecast simulation: the engine's decisions run on a copy of its state, with a simulated
// cluster that carries out each command at once. Implements make_forecast() of forecast.h.
// Threads: one at a time.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <unordered_set>
#include <vector>

#include "engine/decide/decide.h"
#include "engine/forecast/forecast.h"
#include "engine/state/observed/observed.h"
#include "engine/state/state.h"
#include "placement/search/search.h"

namespace subak::decide {

// Runs one forecast. At each time the steps are:
//   1. Jobs whose run time is over end, in the order of job ids.
//   2. A tick follows, if a deadline has come.
//   3. Passes follow until no more jobs start. Each job that starts is bound at the same instant.
// Jobs that have holds at the beginning are also bound at once. A job that is asked to end ends at
// once. No decision depends on whether bound pods already run.
class ForecastRun {
 public:
  // Restores the state of the basis, which must outlive the run. Jobs with holds are bound at once.
  explicit ForecastRun(const ForecastBasis& basis);
  // Computes the forecast. If `go_on` returns false, the forecast is cut short. With `goal`, the
  // run stops when that job has started.
  Forecast run(const std::function<bool()>& go_on, JobId goal);

 private:
  // The predicted end of a job that holds GPUs. Ends are ordered by time, then by job.
  struct End {
    TimeMs at_ms = 0;
    // The job that ends.
    JobId job;
    // The attempt of the job. If the job has another attempt at `at_ms`, this entry is void.
    std::uint32_t attempt = 0;
    // True: the start or the run time of the job is assumed, as in Forecast::Start.
    bool assumed = false;
    friend auto operator<=>(const End&, const End&) = default;
  };
  // Returns the time of the next event; nullopt if no later event lets a job start.
  std::optional<TimeMs> next_time() const;
  // True if some job is queued, or is paused for a time.
  bool somebody_may_start() const;
  // Moves the simulated time to `t`, and does steps 1 to 3 of the list above the class.
  void advance(TimeMs t);
  // Does steps 1 and 2 of the list above the class.
  void end_what_is_due();
  // Does step 3 of the list above the class.
  void settle();
  // Binds all holds of the job. Returns when the job ends.
  TimeMs begin(const state::Job& job);
  // True if the start of the job depends on an assumed run time. Call rests_on_assumed() for a job
  // that starts now or already holds its nodes.
  bool rests_on_assumed(const state::Job& job) const;
  // Ends all pods of the job with success.
  void stop(JobId id);
  // Records the start of the job. The function also records the places of the job, unless
  // limits::kForecastPlaces are used up.
  void note_start(const state::Job& job, TimeMs end_ms);
  // Returns the run time that the basis has, or else the predicted run time, or else
  // limits::kGuessedRunMs.
  RunTime run_time(JobId id) const;
  // Reads from the facts of the last decisions which jobs were started or stopped, and drops the
  // facts.
  void look();

  // The input of the forecast. The basis must live as long as the run.
  const ForecastBasis& basis_;
  // The predicted run times. The run uses them if the basis has no run times.
  RunTimes predicted_;
  // The copy on which the engine runs.
  State state_{Books::kLeftOut};
  Search search_;
  PassMemory memory_;
  // The arguments of decisions in a simulation: no edge reports, and no input has a caller.
  struct Silence {
    Observed observed;
    const Input input = {};
  };
  Silence silence_;
  Decision d_{state_, silence_.observed, search_, silence_.input};
  // The simulated time.
  TimeMs now_ = 0;
  // Jobs that waited at the beginning and have not started.
  std::unordered_set<JobId> waiting_;
  // Jobs that facts started or stopped, and that the simulation has not handled yet.
  std::vector<JobId> begun_, stopped_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  // The starts, in the order of their times.
  std::vector<Forecast::Start> starts_;
  std::vector<Forecast::Place> places_;
  // The ends of jobs whose run times were assumed.
  struct Assumed {
    // True: a job with an assumed run time ended at the present instant.
    bool now = false;
    // The nodes where jobs with assumed run times have ended.
    std::unordered_set<NodeId> ended_on;
  };
  Assumed assumed_;
};

}  // namespace subak::decide
