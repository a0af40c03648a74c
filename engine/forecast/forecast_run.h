// The forecast simulation: the engine runs on a copy of its state, beside a simulated cluster that
// carries out each command at once. Threads: none.
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
//  1. Jobs whose time has come end, by job id.
//  2. A tick, if a deadline has come.
//  3. Passes, until no more jobs start. Each job that starts is bound at the same instant.
// Jobs with holds at the beginning are bound too. A job that is asked to end has ended. No decision
// depends on whether bound pods already run.
class ForecastRun {
 public:
  explicit ForecastRun(const ForecastBasis& basis);  // the basis must outlive it
  // Computes the forecast. It is cut short if `go_on` returns false. With `goal` it stops once that
  // job has started.
  Forecast run(const std::function<bool()>& go_on, JobId goal);

 private:
  struct End {
    TimeMs at_ms = 0;
    JobId job;
    std::uint32_t attempt = 0;
    bool assumed = false;  // as Forecast::Start says of the start or the run time
    friend auto operator<=>(const End&, const End&) = default;
  };
  std::optional<TimeMs> next_time() const;  // nullopt: no later event lets a job start
  bool somebody_may_start() const;
  void advance(TimeMs t);
  void end_what_is_due();
  void settle();
  TimeMs begin(const state::Job& job);  // returns when the job ends
  // True if the start of the job, which starts now or holds its nodes already, rests on an assumed
  // run time.
  bool rests_on_assumed(const state::Job& job) const;
  void stop(JobId id);
  void note_start(const state::Job& job, TimeMs end_ms);
  RunTime run_time(JobId id) const;
  void look();  // reads and drops the facts of the last decisions

  const ForecastBasis& basis_;
  RunTimes predicted_;  // used if the basis has no run times
  State state_{Books::kLeftOut};
  Search search_;
  PassMemory memory_;
  // No edge reports, and no input has a caller.
  struct Silence {
    Observed observed;
    const Input input;
  };
  Silence silence_;
  Decision d_{state_, silence_.observed, search_, silence_.input};
  TimeMs now_ = 0;
  std::unordered_set<JobId> waiting_;   // those that waited at the beginning and have not started
  std::vector<JobId> begun_, stopped_;  // according to the facts, not yet simulated
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<Forecast::Start> starts_;
  std::vector<Forecast::Place> places_;
  // The ends of jobs whose run times were assumed.
  struct Assumed {
    bool now = false;                     // one was at this instant
    std::unordered_set<NodeId> ended_on;  // where they were
  };
  Assumed assumed_;
};

}  // namespace subak::decide
