// How long jobs are going to run, from how long others like them did.
// Threads: none; pure functions.
#pragma once

#include "engine/forecast.h"
#include "engine/state/state.h"

namespace subak::derive {

// Of every job that waits or holds something, at `t`. A template is who asks (account and user), for what, and
// under what name without its digits: the mean of its last two that ended by themselves or were
// cancelled, among those that the state still knows; else that of whoever asked for the same; else the
// time limit, else the policy's default. Never more than the time limit. Of one that has run for as long already:
// doubled until it is more. (The last two of the same user: Tsafrir, Etsion, Feitelson, IEEE TPDS
// 18 (2007), 789.) O(jobs).
RunTimes run_times(const State& s, TimeMs t);

}  // namespace subak::derive
