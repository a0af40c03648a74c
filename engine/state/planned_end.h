// Planned ends of jobs: when Subak expects the GPUs of a job to be free. A planned end follows from
// a time limit, a default time limit or a hard budget, never from a predicted run time. Example:
// 10:00 + a limit of 2 hours = 12:00. Reservations, budgets and the limit on GPU-minutes use it.
//
// Subak ends a job after its time limit if an account on its path has a hard budget. Otherwise
// AccountSpec::time_limits says whether it does: the first account that does not inherit this
// setting decides, from the job's account up to the root. If all inherit it, the policy decides.
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

// True if the job has a planned end now: an attempt has started and is not over, or an adopted or
// foreign job runs. The run time begins with the attempt, because no other job can use the GPUs
// from then on.
bool has_end(const Job& job);
// True if Subak ends the job after its own time limit, by the rule above. False for a job without a
// time limit, and for an adopted or foreign job, which Subak did not start. O(depth).
bool enforces_limit(const State& s, const Job& job);
// Returns the planned run time of a job that states no time limit. The nearest account on the way
// to the root that has a default decides, or else the policy. 0: there is none. `leaf` may be
// kUnassigned, or an empty id. O(depth).
DurationMs default_limit(const State& s, AccountId leaf);
// True if hard budgets say when the job ends: Subak started it, it has no time limit, and an
// account on its path has a hard budget. The budget then holds GPU time for one default time limit
// (default_limit()), or without a default until its period ends. At that time, the budget holds
// more, or Subak asks the job to end. O(depth).
bool ends_by_budget(const State& s, const Job& job);
// True if other jobs may rely on this job to end by its limit. The job must have a limit that it
// has not overrun. In addition, the limit must be enforced, or similar jobs must have stayed within
// their limits lately (limit_record.h). O(log kinds of jobs).
bool trusts_limit(const State& s, const Job& job);
// Returns when Subak asks the job to end: its start plus its time limit and the policy's grace
// time. The limit must be enforced.
TimeMs limit_end(const State& s, const Job& job, TimeMs started_ms);
// Returns when the job's GPUs are expected to be free. `started_ms`: the start of the attempt.
// `overruns`: how often the job still had its GPUs at a planned end.
// - The limit is enforced: limit_end() plus limits::kEndingMs. Each overrun doubles kEndingMs.
// - A hard budget ends the job (ends_by_budget()) and there is no default limit: the end of the
//   budget's period. If a budget is the reason why the job is ending: Job::until_ms. Each overrun
//   doubles kEndingMs.
// - Otherwise: the start plus the limit, even if trusts_limit() is false. For a job without a
//   limit, default_limit() replaces the limit. Each overrun doubles the time after the start.
// kNever: the job has no limit, no default and no such budget, or `overruns` is at least
// limits::kMaxOverruns.
TimeMs planned_end(const State& s, const Job& job, TimeMs started_ms, std::uint32_t overruns);
// Returns the planned end of a running job without a time limit, if its default time limit is
// `limit_ms` (not 0) and no period ends it.
TimeMs end_by_default(const Job& job, DurationMs limit_ms);
// Returns what this waiting job would add to the limits on jobs if it started now: one job, its
// time limit, and the time to its planned end. If no account has such limits, the result is
// JobDemand().
JobDemand job_demand(const State& s, const Job& job);
// Returns when a waiting job would end by its limit if it started now. kNever: the job has no
// trusted limit. The function does not use default_limit(), because other jobs rely on the
// result.
TimeMs sure_end(const State& s, const Job& job);

}  // namespace subak::state
