// Planned ends of jobs: by their time limits, never by a predicted run time. The nearest account
// with a setting, else the policy, says whether Subak ends a job after its limit.
//
// Pure functions of a state. `job` is one of its jobs. Times are in ms since 1970-01-01 UTC, and
// kNever stands for a time that is not known. Threads: none.
#pragma once

#include <cstdint>

#include "core/quantity.h"
#include "engine/state/state.h"

namespace subak::state {

// True if the clock of the job's limit runs: from the start of its attempt on, since no other job
// can use its GPUs then.
bool has_end(const Job& job);
// True if Subak ends the job after its own time limit. False for a job that was found running.
// O(depth).
bool enforces_limit(const State& s, const Job& job);
// True if other jobs may rely on this job's end by its limit. It has a limit that it has not
// overrun. Either the limit is enforced, or similar jobs stayed within theirs lately
// (limit_record.h).
// O(log kinds of jobs).
bool trusts_limit(const State& s, const Job& job);
// Returns when Subak ends the job, which has an enforced limit: its start plus the limit and the
// grace time.
TimeMs limit_end(const State& s, const Job& job, TimeMs started_ms);
// When the job's GPUs are expected to be free, for this start and number of overruns. It uses its
// limit, trusted or not, else the policy's default.
TimeMs planned_end(const State& s, const Job& job, TimeMs started_ms, std::uint32_t overruns);
// Returns when a waiting job would be gone by its limit if it started now. kNever: it has no
// trusted limit. Guesses do not count, since other jobs rely on the result.
TimeMs sure_end(const State& s, const Job& job);

}  // namespace subak::state
