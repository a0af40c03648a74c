// Predicts how long jobs run, from the run times of similar jobs. Forecasts and the plan of the
// fleet use it.
// Threads: one at a time; pure functions.
#pragma once

#include <vector>

#include "engine/forecast/forecast.h"
#include "engine/state/state.h"

namespace subak::derive {

// Returns the runs that ended by themselves or were cancelled, the earliest first. The state no
// longer knows older runs. O(ended jobs).
std::vector<EndedRun> ended_runs(const State& s);
// Predicts at `t` the run time of every job that has not ended, from these ended runs. O(jobs).
//
// Jobs have the same template if account, user, request, and the name without its digits are equal.
// The prediction uses the last two runs of the job's template. If the template has no runs, the
// prediction uses the last two runs of the same account, user and request:
//   - For a job with a time limit, the prediction is a part of this limit: the part that these runs
//     used of their own limits on average. A user's limits differ from job to job, but the part
//     that the jobs use stays similar.
//   - For a job without a time limit, the prediction is the mean run time of these runs.
// If there are no such runs, the prediction is the job's limit, or else its default limit
// (state::default_limit). If the job has no limit, and the default is missing or equal to
// limits::kGuessedRunMs, the run time is assumed (RunTime).
//
// The prediction is never longer than a trusted limit (state::trusts_limit). If the job has already
// run for longer than the prediction, the prediction doubles until it exceeds the time already run.
// The prediction never goes beyond the end of an enforced limit. A job that is ending is predicted
// to end in limits::kEndingMs.
// Source of the last two runs of the same user: Tsafrir, Etsion, Feitelson, IEEE TPDS 18 (2007),
// 789.
RunTimes run_times(const State& s, const std::vector<EndedRun>& ended, TimeMs t);
// Predicts the run times of the jobs in `of` alone, from ended_runs(). None of these jobs may have
// ended. O(ended jobs).
RunTimes run_times(const State& s, TimeMs t, const std::vector<JobId>& of);

}  // namespace subak::derive
