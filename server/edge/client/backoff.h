// The waits between attempts of one operation. Threads: plain value.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/limits.h"
#include "core/quantity.h"

namespace subak {

// Exponential backoff: limits::kEdgeRetryMs, doubled each time up to limits::kMaxEdgeRetryMs.
class Backoff {
 public:
  // Returns the wait before the next attempt, and counts the attempt.
  // The waits have no jitter.
  DurationMs next() {
    const std::uint32_t doubled = std::min<std::uint32_t>(tries_++, 16);
    return std::min(limits::kEdgeRetryMs << doubled, limits::kMaxEdgeRetryMs);
  }
  // Begins again with the shortest wait.
  void reset() { tries_ = 0; }
  // Returns the number of waits since the start or reset().
  std::uint32_t tries() const { return tries_; }

 private:
  // Waits since the start or reset(). The wait stops doubling long before this wraps.
  std::uint32_t tries_ = 0;
};

}  // namespace subak
