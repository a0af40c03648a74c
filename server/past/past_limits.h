// Limits of reads of an earlier state, and of replays of earlier decisions (docs/design/0129).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/quantity.h"

namespace subak::limits {

// How many reads of the past may wait, and how many one caller may have. Further reads get
// RESOURCE_EXHAUSTED.
inline constexpr std::size_t kMaxPastReads = 16, kMaxPastReadsPerCaller = 8;
// How long the state of the last moment stays in memory after its last read.
inline constexpr DurationMs kPastKeptMs = 5 * kMinuteMs;
// How many facts one read of the store returns on the way to a moment. Between two such reads, a
// stop and a cancelled call take effect.
inline constexpr std::size_t kPastFactsAtOnce = 10'000;
// If at most this many facts are left to apply, Fold goes on from its present state (fold.h).
inline constexpr std::uint64_t kPastShortFold = 1000;
// The longest text of a moment, in bytes. A longer one is refused.
inline constexpr std::size_t kMaxMomentBytes = 64;
// How many facts a replay reads around one decision: those of the same time before it, and the
// facts of its pass. If there are more, the replay is refused.
inline constexpr std::size_t kMaxReplayFacts = 1'000'000;
// At how many places a replay tries to begin a pass. If it needs more, the replay is refused.
inline constexpr std::size_t kMaxReplayStarts = 1'000;

}  // namespace subak::limits
