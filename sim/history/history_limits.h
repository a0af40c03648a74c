// The limits of replays of a store's history (docs/design/0132).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// The most jobs of a window. A window with more jobs is refused. A job takes about 300 bytes.
inline constexpr std::size_t kMaxHistoryJobs = 1'000'000;
// The longest window.
inline constexpr DurationMs kMaxHistoryMs = 92 * kDayMs;
// The most accounts, policy keys, lines of nodes and lines of load of one change.
inline constexpr std::size_t kMaxChangeLines = 1'000;
// How many nodes one line of a change may add or take away.
inline constexpr std::int64_t kMaxChangedNodes = 10'000;
// How many times a load may come again, in thousandths.
inline constexpr std::int64_t kMaxLoadMilli = 10'000;
// The jobs of a load come again up to this time after the jobs that they follow.
inline constexpr DurationMs kLoadSpreadMs = kHourMs;
// The most names of accounts and jobs in a list of a result.
inline constexpr std::size_t kMaxMovers = 100;

}  // namespace subak::limits
