// Predicts how long jobs run, from the run times of similar jobs. Threads: none; pure functions.
#pragma once

#include <vector>

#include "engine/forecast/forecast.h"
#include "engine/state/state.h"

namespace subak::derive {

// Returns the runs that ended by themselves or were cancelled, as far as the state still knows
// them, the earliest first. O(ended jobs).
std::vector<EndedRun> ended_runs(const State& s);
// Predicts at `t` the run time of every job that has not ended, from these ended runs.
// Jobs have the same template if account, user, request, and the name without its digits are equal.
// For a job with a time limit the prediction is the part of its limit that the last two runs of its
// template used on average. For a job without a time limit it is their mean run time. If there are
// no such runs, it uses the last two of the same account, user and request. If there are none of
// these either, it uses the job's limit, then the policy's default if it differs from Subak's own
// default. Else it is assumed (RunTime).
// The prediction is never longer than a trusted limit (state::trusts_limit). If the job has already
// run that long, the prediction is doubled until it is longer, at most up to the end of an enforced
// limit. A job that is ending is predicted to end in limits::kEndingMs. O(jobs).
// Source of the last two of the same user: Tsafrir, Etsion, Feitelson, IEEE TPDS 18 (2007), 789.
// The prediction uses a part of the limit, because a user's limits differ from job to job, but the
// part that jobs use stays similar.
RunTimes run_times(const State& s, const std::vector<EndedRun>& ended, TimeMs t);
// Predicts the run times of these jobs alone, from ended_runs(). The jobs have not ended. O(ended
// jobs).
RunTimes run_times(const State& s, TimeMs t, const std::vector<JobId>& of);

}  // namespace subak::derive
