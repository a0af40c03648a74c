// Replays a past window (sim/history/history.h) as it was or with a change (change.h), and measures
// the replays. `whatif` compares them (server/whatif).
// Threads: one at a time; the functions have no shared state.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "sim/engine_port.h"
#include "sim/history/change.h"
#include "sim/history/history.h"
#include "sim/report/stats.h"

namespace subak::sim {

// Functions that a replay calls, on its thread. Each of them may be empty.
struct HistoryOptions {
  // Gets the part that is done, 0 to 1, from time to time. If it returns false, the replay stops.
  std::function<bool(double)> progress;
  // Gets every input with its outcome.
  EnginePort::Observer observer;
};

// The result of one replay of a history.
struct HistoryReplay {
  // The figures of the jobs. SimResult::utilisation refers to the mean capacity of the window.
  SimResult result;
  // The start, end and preemptions of each job of the workload, in its order.
  std::vector<JobFate> fates;
  // How many jobs and edits of the history the engine refused, and the first refusal of an edit.
  std::size_t refused_jobs = 0, refused_edits = 0;
  std::optional<Error> first_refusal;
};

// Replays the workload on a new engine, from the state at the beginning of the history. `workload`:
// History::workload, or the result of changed(). nullopt: `progress` stopped the replay. The same
// arguments give the same inputs and facts.
std::optional<HistoryReplay> replay_history(const History& history, const Workload& workload,
                                            const HistoryOptions& options = {});

// How near the replay without a change comes to what really happened, so that people know how far
// to trust a replay. The figures cover the jobs that started in the window, both really and in the
// replay.
struct Nearness {
  std::size_t jobs = 0;
  // The part of the jobs that started within a minute of the real start; 1 without jobs.
  double within_minute = 1;
  // The mean and the 90th percentile of |replayed wait - real wait|, in seconds.
  double mean_s = 0, p90_s = 0;
  // The largest difference between the real and the replayed share of a team on a day. A share is a
  // part, 0 to 1, of the GPU time of all jobs on that day.
  double share = 0;
};
Nearness nearness(const History& history, const HistoryReplay& unchanged);

// The GPU-hours that the jobs of each team held in one day: 24 hours, counted from the beginning of
// the window. The last day may be shorter.
struct DayShares {
  TimeMs from_ms = 0;
  // By team, in the order of Workload::teams.
  std::vector<double> gpu_h;
};
std::vector<DayShares> shares_by_day(const Workload& workload, const SimResult& result);

}  // namespace subak::sim
