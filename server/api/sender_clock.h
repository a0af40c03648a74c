// How far the clock of an Observe stream's sender is behind the service's. Each event says what its
// sender's clock showed (`sent_at`). An event takes time to arrive, and more on a busy machine, but
// never less than nothing. So the least difference of the last events is nearest to the truth.
#pragma once

#include <algorithm>

#include "core/quantity.h"

namespace subak::api {

// Reads no clock. Threads: one at a time.
class SenderClock {
 public:
  // An event that was sent at `sent_at_ms` by the sender's clock arrived at `now_ms` by ours. Returns
  // how far the sender's clock is behind, negative when it is ahead: the least difference of the
  // events of the last kWindowMs at least, and of twice that at most. A clock that is set ahead shows
  // at once. One that is set back shows at once if an event was sent "before" the one before it, else
  // when the events from before leave the window.
  DurationMs behind_ms(TimeMs sent_at_ms, TimeMs now_ms) {
    const DurationMs difference = now_ms - sent_at_ms;
    const bool set_back = sent_at_ms < last_sent_at_ms_;
    last_sent_at_ms_ = sent_at_ms;
    if (set_back || now_ms - since_ms_ > 2 * kWindowMs) {
      begin(now_ms, difference, difference);
    } else if (now_ms - since_ms_ > kWindowMs) {
      begin(now_ms, difference, least_);
    }
    least_ = std::min(least_, difference);
    return std::min(earlier_, least_);
  }

 private:
  static constexpr DurationMs kWindowMs = 30 * kSecondMs;

  void begin(TimeMs now_ms, DurationMs least, DurationMs earlier) {
    since_ms_ = now_ms;
    least_ = least;
    earlier_ = earlier;
  }

  TimeMs since_ms_ = -2 * kWindowMs - 1;  // when `least_` was begun: never yet
  TimeMs last_sent_at_ms_ = 0;
  DurationMs least_ = 0;
  DurationMs earlier_ = 0;  // the least of the window before
};

}  // namespace subak::api
