// What the clock of an Observe stream's sender shows. Each event says what it showed when the event
// was sent (`sent_at`). An event takes time to arrive, and more on a busy machine, but never less
// than nothing. So of the last events the one that took least time says best what that clock shows
// now. Time passes by the boot clock: the service's own time may stand, or leap.
//
// A sender may also send a clock that is never set (`sent_steady_ms`). Then the quickest event is
// known however often the other clock is set, and each event shows by how much it is late.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/quantity.h"

namespace subak::api {

// Reads no clock. Threads: one at a time.
class SenderClock {
 public:
  // An event that was sent at `sent_at_ms` by the sender's clock arrived at `boot_ms`
  // (Clock::boot_ms). Returns what the sender's clock shows then, by the quickest event of the last
  // kWindowMs at least, and of twice that at most. A clock that is set ahead shows at once. One
  // that is set back shows at once if an event was sent "before" the one before it. Else it shows
  // when the events from before leave the window.
  // `steady_ms`: the sender's clock that is never set, at that moment; 0: not known.
  // All three are in ms and must not be mixed: `sent_at_ms` counts from 1970 in UTC, the others
  // from the start of a machine. The minimum filter is that of NTP's clock filter (RFC 5905,
  // section 10).
  TimeMs shows_ms(TimeMs sent_at_ms, std::int64_t steady_ms, std::int64_t boot_ms) {
    if (steady_ms == 0) return by_quickest(sent_at_ms, boot_ms);
    const TimeMs shown = by_quickest(steady_ms, boot_ms);
    return sent_at_ms + (shown - steady_ms);
  }

 private:
  // As shows_ms() without a steady clock. Two windows are enough: the present one and the least of
  // the one before.
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

  std::int64_t since_ms_ = -2 * kWindowMs - 1;  // when `least_` was begun: never yet
  TimeMs last_sent_at_ms_ = 0;
  DurationMs least_ = 0;
  DurationMs earlier_ = 0;  // the least of the window before
};

}  // namespace subak::api
