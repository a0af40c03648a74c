// The bounds of an account's lists of limits (accounting/limits/job_limits.h) and of its budgets
// (accounting/budget/budget.h). The comment of a bound says what happens at the bound, and tests
// cover this.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// The largest limit on the jobs of an account, and on its GPU-minutes in flight. A larger number is
// refused.
inline constexpr std::int64_t kMaxJobLimit = 1'000'000'000;
inline constexpr std::int64_t kMaxGpuMinutes = 1'000'000'000'000;
// The length of one list of limits. A longer list is refused.
inline constexpr std::int64_t kMaxLimitsBytes = 4096;

// The budgets of one account, and the GPU-hours of one budget. More are refused.
inline constexpr std::size_t kMaxBudgets = 8;
inline constexpr std::int64_t kMaxBudgetHours = 1'000'000'000;
// The length of a period that is given as a duration. Other lengths are refused.
inline constexpr DurationMs kMinBudgetPeriodMs = 5 * kMinuteMs;
inline constexpr DurationMs kMaxBudgetPeriodMs = 366 * kDayMs;
// The most periods of a budget over which the time of one job may extend. A hard budget never
// allows a job that would extend over more.
inline constexpr int kMaxBudgetPeriods = 130;
// The times in one list of the ends of civil periods (accounting/budget/calendar.h). More are
// refused.
inline constexpr std::int64_t kMaxCivilEnds = 400;

// If a budget stops a job, a shorter job of the account may still fit. So a pass tries up to this
// many jobs that one budget stops. After that, the pass skips the other jobs below the budget. For
// a budget of one product, it skips only the other jobs of the same job class.
inline constexpr int kMaxBudgetLooks = 100;

}  // namespace subak::limits
