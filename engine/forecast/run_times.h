// Predicts how long jobs run, from the run times of similar jobs. Threads: none; pure functions.
#pragma once

#include <vector>

#include "engine/forecast/forecast.h"
#include "engine/state/state.h"

namespace subak::derive {

// The runs that ended by themselves or were cancelled, as far as the state still knows them: the
// earliest first. O(ended jobs).
std::vector<EndedRun> ended_runs(const State& s);
// Predicts at `t` the run time of every job that has not ended, from these ended runs.
// A template is the account and user, the request, and the name without its digits. For a job with
// a time limit the prediction is the part of its limit that the last two runs of its template used
// on average. For a job without one it is their mean run time. Without these runs it uses the last
// two of the same account, user and request. Without those it uses the job's limit, then the
// policy's default if that differs from Subak's own. Else it is assumed (RunTime).
// The prediction is never longer than a trusted limit (state::trusts_limit). If the job has already
// run that long, it is doubled until it is more, at most up to the end of an enforced limit. A job
// that is ending ends in limits::kEndingMs. O(jobs).
// Source of the last two of the same user: Tsafrir, Etsion, Feitelson, IEEE TPDS 18 (2007), 789. A
// part of the limit is used because limits differ from job to job more than the care with which a
// user chooses them.
RunTimes run_times(const State& s, const std::vector<EndedRun>& ended, TimeMs t);
// The same for these jobs alone, which have not ended, from ended_runs(). O(ended jobs).
RunTimes run_times(const State& s, TimeMs t, const std::vector<JobId>& of);

}  // namespace subak::derive
