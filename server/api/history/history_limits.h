// Limits of the calls GetJobHistory and GetUsageHistory. core/limits.h says how limits are written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// The most events in one answer of GetJobHistory. A larger page_size counts as this number.
inline constexpr std::size_t kMaxHistoryEvents = 500;
// The most facts that one call of GetJobHistory reads. It then answers, with a page token.
inline constexpr std::uint64_t kMaxHistoryFacts = 200'000;
// After this many facts, GetJobHistory lets other readers of the store have their turns.
inline constexpr std::uint64_t kHistoryFactsPerTurn = 20'000;
// The most facts that one read of the store returns: while the history is read, and while JobPast
// searches for the fact that created the job.
inline constexpr std::size_t kHistoryFactsPerRead = 2'000, kHistoryFactsPerLook = 250;

// The shortest step of GetUsageHistory, the most steps, and the longest period. A call beyond one
// of these limits is refused.
inline constexpr DurationMs kMinHistoryStepMs = 5 * kMinuteMs;
inline constexpr std::int64_t kMaxHistorySteps = 3'000;
inline constexpr DurationMs kMaxHistoryMs = 400 * kDayMs;
// Between two turns of other readers of the store, GetUsageHistory reads the ledger rows of this
// many facts, but at most this many rows.
inline constexpr std::uint64_t kLedgerFactsPerTurn = 100'000;
inline constexpr std::size_t kLedgerRowsPerTurn = 100'000;
// After a turn that took less time than this, the next turn reads twice as many facts.
inline constexpr std::int64_t kQuickTurnUs = 20'000;

}  // namespace subak::limits
