// The bounds of accounts: of their tree and settings, of their lists of limits
// (accounting/limits/job_limits.h) and of their budgets (accounting/budget/budget.h). The comment
// of a bound says what happens at the bound, and tests cover this. Threads: constants.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

inline constexpr std::size_t kMaxAccountDepth = 16;  // levels below the root
// Accounts and users together; also the changes of one edit. Beyond kMaxAccounts, up to
// kAccountsReserve more may be added, but only below parents that have few accounts and users
// (accounting/shared_bound.h).
inline constexpr std::size_t kMaxAccounts = 100'000;
inline constexpr std::size_t kAccountsReserve = 10'000;
inline constexpr std::size_t kMaxNamespacesPerAccount = 1024;
inline constexpr std::size_t kMaxProductsPerAccount = 256;  // that have their own quota or limit
inline constexpr std::int64_t kMaxShares = 1'000'000'000;   // of an account; more are refused
inline constexpr std::size_t kMaxPriorityClasses = 64;      // also limits the accounts of one class
inline constexpr std::uint32_t kMaxShareTreeDepth = 256;    // levels in a file; more are refused

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
// The times in one list of the ends of civil periods, such as the months of a time zone
// (accounting/budget/calendar.h). More are refused.
inline constexpr std::int64_t kMaxCivilEnds = 400;

// If a budget stops a job, a shorter job of the account may still fit. So a pass (round of
// scheduling decisions) tries up to this many jobs that one budget stops. After that, the pass
// skips the other jobs below the budget. For a budget of one product, it skips only the other jobs
// of the same account and request shape.
inline constexpr int kMaxBudgetLooks = 100;

}  // namespace subak::limits
