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
  DurationMs next() {
    const std::uint32_t doubled = std::min<std::uint32_t>(tries_++, 16);
    return std::min(limits::kEdgeRetryMs << doubled, limits::kMaxEdgeRetryMs);
  }
  void reset() { tries_ = 0; }
  std::uint32_t tries() const { return tries_; }

 private:
  std::uint32_t tries_ = 0;
};

}  // namespace subak
