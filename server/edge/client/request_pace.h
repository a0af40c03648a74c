// A limit on how often a server gets requests, whatever the server answers. Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "core/edge_limits.h"
#include "core/quantity.h"

namespace subak {

// Lets at most `most` requests begin in any period of limits::kRequestWindowMs (a sliding window).
// RequestPace stores the times of the last `most` requests.
class RequestPace {
 public:
  // `most`: 1 or more.
  explicit RequestPace(std::size_t most) : most_(most) {}

  // Returns the time until the next request may begin; 0: the request may begin now. `now_ms`: the
  // time of a clock that never goes back.
  DurationMs due_in(std::int64_t now_ms) const {
    if (begun_.size() < most_) return 0;
    return std::max<DurationMs>(begun_.front() + limits::kRequestWindowMs - now_ms, 0);
  }
  // Records that a request begins now. Call it only when due_in() is 0.
  void note(std::int64_t now_ms) {
    begun_.push_back(now_ms);
    if (begun_.size() > most_) begun_.pop_front();
  }

 private:
  // How many requests may begin in one window.
  std::size_t most_;
  // When each of the last `most_` requests began, the earliest first.
  std::deque<std::int64_t> begun_;
};

}  // namespace subak
