// The bounds of an account's lists of limits (accounting/limits/job_limits.h). The comment of a
// bound says what happens at the bound, and tests cover this.
#pragma once

#include <cstdint>

namespace subak::limits {

// The largest limit on the jobs of an account, and on its GPU-minutes in flight. A larger number is
// refused.
inline constexpr std::int64_t kMaxJobLimit = 1'000'000'000;
inline constexpr std::int64_t kMaxGpuMinutes = 1'000'000'000'000;
// The length of one list of limits. A longer list is refused.
inline constexpr std::int64_t kMaxLimitsBytes = 4096;

}  // namespace subak::limits
