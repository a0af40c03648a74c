// Limits of the calls about the past. core/limits.h says how limits are written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// The events in one answer of GetJobHistory. A page_size above this means this.
inline constexpr std::size_t kMaxHistoryEvents = 500;
// The facts that one call of GetJobHistory reads. Then it answers with a page token.
inline constexpr std::uint64_t kMaxHistoryFacts = 200'000;
// The facts after which GetJobHistory lets other readers of the store have their turns.
inline constexpr std::uint64_t kHistoryFactsPerTurn = 20'000;
// The facts that one read of the store returns: while the history is read, and during the search
// for its begin.
inline constexpr std::size_t kHistoryFactsPerRead = 2'000, kHistoryFactsPerLook = 250;

// The shortest step of GetUsageHistory, the most steps, and the longest period. A call beyond one
// of these limits is refused.
inline constexpr DurationMs kMinHistoryStepMs = 5 * kMinuteMs;
inline constexpr std::int64_t kMaxHistorySteps = 3'000;
inline constexpr DurationMs kMaxHistoryMs = 400 * kDayMs;
// The facts whose ledger rows GetUsageHistory reads before other readers of the store have their
// turns, and the most rows that it reads then.
inline constexpr std::uint64_t kLedgerFactsPerTurn = 100'000;
inline constexpr std::size_t kLedgerRowsPerTurn = 100'000;
// After a turn that took less time than this, the next turn reads twice as many facts.
inline constexpr std::int64_t kQuickTurnUs = 20'000;

}  // namespace subak::limits
