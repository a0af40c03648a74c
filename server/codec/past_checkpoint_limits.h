// The limits of past checkpoints (docs/design/0131).
#pragma once

#include <cstddef>
#include <cstdint>

namespace subak::limits {

// A store keeps a checkpoint as a past checkpoint if none is nearer than this many facts.
inline constexpr std::uint64_t kPastCheckpointFacts = 200'000;
// The most past checkpoints of a store, and the most bytes of all of them. Beyond that, the store
// drops those between the nearest neighbours.
inline constexpr std::size_t kMaxPastCheckpoints = 100;
inline constexpr std::uint64_t kMaxPastCheckpointsBytes = 1u << 30;
// A larger past checkpoint is neither written nor read.
inline constexpr std::uint64_t kMaxPastCheckpointBytes = 256u << 20;

}  // namespace subak::limits
