// The engine run ahead on a copy of its state, beside a cluster that does what it is told at once.
// Threads: none.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <unordered_set>
#include <vector>

#include "engine/decide/decide.h"
#include "engine/forecast.h"
#include "engine/state/state.h"
#include "placement/search.h"

namespace subak::decide {

// What happens, at each time in turn: the ends, by job; a tick, if a deadline has come; passes, and each
// job that starts is bound at the same instant, until nobody starts. Whoever holds a place at the
// beginning is bound too. Who is asked to end has ended. No decision looks at whether what is bound runs yet.
class Ahead {
 public:
  explicit Ahead(const ForecastBasis& basis);  // outlives it
  Forecast run(const std::function<bool()>& go_on, JobId goal);

 private:
  struct End {
    TimeMs at_ms = 0;
    JobId job;
    std::uint32_t attempt = 0;
    bool assumed = false;  // as Forecast::Start says of the start or the run time
    friend auto operator<=>(const End&, const End&) = default;
  };
  std::optional<TimeMs> next_time() const;  // nullopt: nothing more happens that lets anybody start
  bool somebody_may_start() const;
  void advance(TimeMs t);
  void end_what_is_due();
  void settle();
  TimeMs begin(const state::Job& job);  // when it ends
  bool rests_on_assumed(
      const state::Job& job) const;  // which starts now, or holds its nodes already
  void stop(JobId id);
  void note_start(const state::Job& job, TimeMs end_ms);
  RunTime run_time(JobId id) const;
  void look();  // at the facts of the last decisions, which are forgotten

  const ForecastBasis& basis_;
  RunTimes predicted_;  // where the basis has none
  State state_{Books::kLeftOut};
  Search search_;
  PassMemory memory_;
  const Input input_;  // nobody's
  Decision d_{state_, search_, input_};
  TimeMs now_ = 0;
  std::unordered_set<JobId> waiting_;   // that wait at the beginning, and have not started
  std::vector<JobId> begun_, stopped_;  // as the facts say, and not yet played
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  std::vector<Forecast::Start> starts_;
  std::vector<Forecast::Place> places_;
  bool assumed_now_ = false;                  // an end that is assumed has come at this instant
  std::unordered_set<NodeId> assumed_nodes_;  // where one has come
};

}  // namespace subak::decide
