// Estimates what the clock of an Observe stream's sender shows. Each event has the time of that
// clock when the event was sent (`sent_at`). An event takes time to arrive, more on a busy machine.
// So among the last events, the one that arrived quickest gives the best estimate. SenderClock
// measures elapsed time with the boot clock, since the service's own time may stand still or leap.
//
// A sender may also send the time of a clock that is never set (`sent_steady_ms`). By that clock,
// SenderClock finds the quickest event even if the other clock is set often. It then also knows by
// how much each event is late.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/quantity.h"

namespace subak::api {

// The estimate for one sender. It reads no clock. Threads: one at a time.
class SenderClock {
 public:
  // Takes an event that was sent at `sent_at_ms` by the sender's clock and arrived at `boot_ms`
  // (Clock::boot_ms). Returns what the sender's clock showed on arrival, by the quickest event of
  // the last window. The window is kWindowMs to twice kWindowMs long.
  // If the sender's clock is set ahead, the result follows at once. If it is set back, the result
  // follows at once if an event has an earlier time than the event before it. Otherwise the result
  // follows when the old events have left the window.
  // `steady_ms`: the time of the sender's clock that is never set, when the event was sent; 0: not
  // known. All three times are in ms, but must not be mixed: `sent_at_ms` counts from 1970 in UTC,
  // the others from the start of a machine. The minimum filter is that of NTP's clock filter (RFC
  // 5905, section 10).
  TimeMs shows_ms(TimeMs sent_at_ms, std::int64_t steady_ms, std::int64_t boot_ms) {
    if (steady_ms == 0) return by_quickest(sent_at_ms, boot_ms);
    const TimeMs shown = by_quickest(steady_ms, boot_ms);
    return sent_at_ms + (shown - steady_ms);
  }

 private:
  // As shows_ms() without a steady clock. It stores the least delay of the present window and of
  // the window before.
  TimeMs by_quickest(TimeMs sent_at_ms, std::int64_t boot_ms) {
    const DurationMs difference = boot_ms - sent_at_ms;
    const bool set_back = sent_at_ms < last_sent_at_ms_;
    last_sent_at_ms_ = sent_at_ms;
    if (set_back || boot_ms - since_ms_ > 2 * kWindowMs) {
      begin(boot_ms, difference, difference);
    } else if (boot_ms - since_ms_ > kWindowMs) {
      begin(boot_ms, difference, least_);
    }
    least_ = std::min(least_, difference);
    return boot_ms - std::min(earlier_, least_);
  }

  static constexpr DurationMs kWindowMs = 30 * kSecondMs;

  // Starts a window.
  void begin(std::int64_t boot_ms, DurationMs least, DurationMs earlier) {
    since_ms_ = boot_ms;
    least_ = least;
    earlier_ = earlier;
  }

  std::int64_t since_ms_ = -2 * kWindowMs - 1;  // the start of the present window: none yet
  TimeMs last_sent_at_ms_ = 0;
  DurationMs least_ = 0;
  DurationMs earlier_ = 0;  // the least of the window before
};

}  // namespace subak::api
