// Measures how far the clock of an Observe stream's sender is behind the service's. Each event has
// the time of its sender's clock (`sent_at`). An event takes time to arrive, more on a busy
// machine, but never a negative time. So the least difference of recent events is the best
// estimate.
#pragma once

#include <algorithm>

#include "core/quantity.h"

namespace subak::api {

// Does not read a clock. Threads: one at a time.
class SenderClock {
 public:
  // Returns how far the sender's clock is behind; negative: it is ahead. The event was sent at
  // `sent_at_ms` by the sender's clock and arrived at `now_ms` by the service's. The result is the
  // least difference of the events of the last kWindowMs at least, and of twice that at most. A
  // clock that is set ahead shows at once. A clock that is set back shows when the earlier events
  // leave the window.
  DurationMs behind_ms(TimeMs sent_at_ms, TimeMs now_ms) {
    const DurationMs difference = now_ms - sent_at_ms;
    if (now_ms - since_ms_ > kWindowMs) {
      earlier_ = now_ms - since_ms_ > 2 * kWindowMs ? difference : least_;
      least_ = difference;
      since_ms_ = now_ms;
    }
    least_ = std::min(least_, difference);
    return std::min(earlier_, least_);
  }

 private:
  static constexpr DurationMs kWindowMs = 30 * kSecondMs;
  TimeMs since_ms_ = -2 * kWindowMs - 1;  // start of the window of `least_`: none yet
  DurationMs least_ = 0;
  DurationMs earlier_ = 0;  // the least of the previous window
};

}  // namespace subak::api
