// The limits of scheduling passes, reservations and claims. core/limits.h says how limits are named
// and enforced. A pass is one round of scheduling decisions. A reservation sets whole nodes aside
// for a job that starts later. A claim sets GPUs aside for a job; the jobs that hold them, its
// victims, must end.
#pragma once

#include <cstddef>

#include "core/quantity.h"

namespace subak::limits {

// The work of one scheduling pass is limited by counts, never by the clock. The next pass, which is
// due at once, continues the work that is left.
inline constexpr std::size_t kMaxStartsPerPass = 4096;
inline constexpr std::size_t kMaxFitChecksPerPass = 65'536;
// A search for a start time that follows from time limits (a promised start) considers the
// cluster's first kMaxDrainTimes planned drains one by one. For a start after these drains, every
// node with a planned drain counts as drained.
inline constexpr std::size_t kMaxDrainTimes = 8;
// The engine estimates the mean time until a held GPU becomes free. Each end of a hold lowers the
// weight of all earlier ends by 1/kHoldsRemembered, and kFewestHolds ends are needed. This time,
// but at least kLeastPatienceMs, may shorten the wait after which a job gets a reservation
// (derive::patience()).
inline constexpr std::size_t kHoldsRemembered = 1024, kFewestHolds = 256;
inline constexpr DurationMs kLeastPatienceMs = 10 * kSecondMs;
// The most rounds of one pass. If a reservation moves or its job starts, a new round of the same
// pass tries other jobs again.
inline constexpr std::size_t kMaxPassRounds = 32;
// On nodes that are reserved for a later time, one round tries at most this many jobs, in order.
// Further jobs wait for another round. Slurm bounds its backfill the same way (bf_max_job_test).
inline constexpr std::size_t kMaxFillLooks = 1000;
// A reservation moves only to a start that is earlier by at least kReserveGainMs, and by at least
// 1/kReserveGainPart of its first wait. Each move writes a fact that lists all its nodes.
inline constexpr DurationMs kReserveGainMs = kMinuteMs, kReserveGainPart = 64;
// At most kMaxClaims claims exist. The search for a claim tries at most kMaxClaimSets sets of
// victims. A pass has kMaxClaimSteps steps for searches: one for a single pod, kClaimStepsOfGang
// for a gang.
inline constexpr std::size_t kMaxClaims = 4096, kMaxClaimSets = 256, kMaxClaimSteps = 512;
inline constexpr std::size_t kClaimStepsOfGang = 8;

}  // namespace subak::limits
