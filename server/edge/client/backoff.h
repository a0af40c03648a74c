// The waits between attempts of one operation. Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/limits.h"
#include "core/quantity.h"

namespace subak {

// Exponential backoff: the first wait is limits::kEdgeRetryMs, and each further wait is twice as
// long, up to limits::kMaxEdgeRetryMs.
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
  // The number of waits since the start or reset(). next() stops doubling long before this number
  // wraps.
  std::uint32_t tries_ = 0;
};

}  // namespace subak
