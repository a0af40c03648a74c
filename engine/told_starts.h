// How starts came beside how they were told, and what follows for the next: intervals that hold nine of
// ten. Beside the state: losing it only widens them, so it is kept beside a checkpoint (docs/design/0053).
// Threads: none.
//
// A forecast knows nothing of who comes later, so most wait longer than it says, by a factor. Intervals are
// conformal: the shortest range that has enough of the last (actual + 10 min) / (forecast + 10 min)
// (Vovk, Gammerman, Shafer, Algorithmic Learning in a Random World, 2005), at a level that is moved by
// each hit and miss, so that in the long run one in ten misses whatever changes (Gibbs, Candes, Adaptive
// conformal inference under distribution shift, NeurIPS 2021). The shortest and not the middle one: most
// of those that are far off are late.
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
#include "engine/forecast.h"
#include "engine/told_kept.h"

namespace subak {

// When a job that waits is going to start: hardly before `earliest`, most likely at `expected`, hardly
// after `latest`.
struct ExpectedStart {
  TimeMs earliest_ms = 0, expected_ms = 0, latest_ms = 0;
  bool learned = false;  // from how others came; else wide, as too little is known
  bool assumed = false;  // as Forecast::Start::assumed
  friend bool operator==(const ExpectedStart&, const ExpectedStart&) = default;
};

// What is known of how forecasts come: factors of (wait + 10 min). A value. Threads: any.
struct StartOdds {
  double low = 0.1, middle = 1, high = 30;  // as long as too little is known
  bool learned = false;
  // Of a start that a forecast made at `at_ms` gives; not before `at_ms`.
  ExpectedStart of(TimeMs at_ms, TimeMs start_ms) const;
};

// The newest forecast with its odds, as readers have it. A value. Threads: any.
struct ForecastStarts {
  std::shared_ptr<const Forecast> forecast;  // never null
  StartOdds odds;
  bool is_made() const { return forecast->time_ms() != 0; }  // else it knows nothing
  // Of a job that waits; at `now`, which is not before the forecast's. nullopt: it has no start.
  std::optional<ExpectedStart> of(JobId job, TimeMs now) const;
};

class ToldStarts {
 public:
  // A forecast made at `at_ms` is the first that has a start for the job, and so it was told. Not
  // followed where limits::kToldStarts are already.
  void told(JobId job, TimeMs at_ms, TimeMs start_ms);
  // Its first attempt starts. What it was told; nullopt: nothing.
  std::optional<ExpectedStart> started(JobId job, TimeMs t);
  // It is gone without a start, or nobody knows.
  void forget(JobId job) { waiting_.erase(job); }
  // Whoever waits beyond the latest that it was told is a miss at once. O(those that wait).
  void look(TimeMs t);
  // By all that has come so far; until the next that comes, or is missed. Made when it is asked for after
  // one, O(limits::kToldOutcomes).
  const StartOdds& odds() const;
  std::size_t size() const { return waiting_.size(); }

  // All of it but `seq`, to be kept.
  ToldKept kept() const;
  // As it was kept. An error: no ToldStarts says so.
  static Result<ToldStarts> from(const ToldKept& kept);
  // Whom `waits` denies is gone, or nobody knows.
  void forget_unless(const std::function<bool(JobId)>& waits);

 private:
  struct Told {
    TimeMs at_ms = 0, start_ms = 0;
    ExpectedStart as;
    bool missed = false;
  };
  void hit(bool in);

  std::unordered_map<JobId, Told> waiting_;
  std::deque<double> ratios_;  // newest last
  double level_ = 0.1;         // how many are to miss
  mutable std::optional<StartOdds> odds_;
};

}  // namespace subak
