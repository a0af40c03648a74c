// Planned ends of jobs. A planned end follows from a time limit, never from a predicted run time.
// The nearest account with a setting, or else the policy, says whether Subak ends a job after its
// limit.
//
// All functions are pure functions of a state. `job` is a job of this state. Times are in ms since
// 1970-01-01 UTC, and kNever stands for a time that is not known.
// Threads: one at a time.
#pragma once

#include <cstdint>

#include "accounting/quota/entitlement.h"
#include "core/quantity.h"
#include "engine/state/state.h"

namespace subak::state {

// True if the job's time limit counts now. The limit counts from the start of the attempt on,
// because from this time on no other job can use the GPUs.
bool has_end(const Job& job);
// True if Subak ends the job after its own time limit. False for a job that was found running.
// O(depth).
bool enforces_limit(const State& s, const Job& job);
// True if other jobs may rely on this job to end by its limit. The job must have a limit that it
// has not overrun. In addition, the limit must be enforced, or similar jobs must have stayed within
// their limits lately (limit_record.h). O(log kinds of jobs).
bool trusts_limit(const State& s, const Job& job);
// Returns when Subak ends the job, which has an enforced limit: its start plus the limit and the
// grace time.
TimeMs limit_end(const State& s, const Job& job, TimeMs started_ms);
// Returns when the job's GPUs are expected to be free, for this start of the attempt and this
// number of overruns. The function uses the job's limit, even if the limit is not trusted. For a
// job without a limit it uses the policy's default.
TimeMs planned_end(const State& s, const Job& job, TimeMs started_ms, std::uint32_t overruns);
// Returns what limits on jobs count of this waiting job if it starts now. If no account has such
// limits, the result counts nothing.
JobDemand job_demand(const State& s, const Job& job);
// Returns when a waiting job would be gone by its limit if it started now. kNever: the job has no
// trusted limit. Guesses do not count, because other jobs rely on the result.
TimeMs sure_end(const State& s, const Job& job);

}  // namespace subak::state
