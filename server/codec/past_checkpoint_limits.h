// Limits of past checkpoints, from which reads of an earlier state start (docs/design/0131).
#pragma once

#include <cstddef>
#include <cstdint>

namespace subak::limits {

// A new past checkpoint is kept only if every other one is at least this many facts away.
inline constexpr std::uint64_t kPastCheckpointFacts = 200'000;
// The most past checkpoints of a store, and the most bytes of all of them. At a limit, the store
// drops the one whose neighbours are nearest to each other (server/store/past/past_table.h).
inline constexpr std::size_t kMaxPastCheckpoints = 100;
inline constexpr std::uint64_t kMaxPastCheckpointsBytes = 1u << 30;
// A larger past checkpoint is neither written nor read.
inline constexpr std::uint64_t kMaxPastCheckpointBytes = 256u << 20;

}  // namespace subak::limits
