// How long jobs are going to run, from how long others like them did.
// Threads: none; pure functions.
#pragma once

#include <vector>

#include "engine/forecast.h"
#include "engine/state/state.h"

namespace subak::derive {

// What ended by itself or was cancelled, of what the state still knows: the earliest first. O(ended jobs).
std::vector<EndedRun> ended_runs(const State& s);
// Of every job that waits or holds something, at `t`, by these ended runs. A template is who asks (account and user), for
// what, and under what name without its digits. A job with a time limit is taken to run for the part of it
// that the last two of its template used on average, one without for as long as they ran. Else as whoever of the same
// account and user asked for the same; else for its limit, else the policy's default, if that is another than ours,
// else it is assumed (RunTime). Never longer than its
// limit, if that is trusted (State::trusts_limit). Of one that has run for as long already: doubled until it
// is more. O(jobs).
// (The last two of the same user: Tsafrir, Etsion, Feitelson, IEEE TPDS 18 (2007), 789. The part of the
// limit, as limits differ from job to job more than the care with which somebody chooses them.)
RunTimes run_times(const State& s, const std::vector<EndedRun>& ended, TimeMs t);
// Of these jobs alone, which have not ended, by ended_runs(). O(ended jobs).
RunTimes run_times(const State& s, TimeMs t, const std::vector<JobId>& of);

}  // namespace subak::derive
