// Estimates what the clock of an Observe stream's sender shows now. Each event says what the
// sender's clock showed when the event was sent (`sent_at`). An event takes some time to arrive,
// and more time on a busy machine. So among the recent events, the one that arrived quickest gives
// the best estimate. The caller says when each event arrived, by the boot clock of the service's
// machine, since the service's own time may stand still or leap.
//
// A sender has a second clock that is never set, and may also send the time of that clock
// (`sent_steady_ms`). With these times, SenderClock finds the quickest event even if the first
// clock is set often, and knows by how much each event is late.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/quantity.h"

namespace subak::api {

// The estimate for one sender. SenderClock itself reads no clock. Threads: one at a time.
class SenderClock {
 public:
  // Takes an event. Returns an estimate of what the sender's clock showed when the event arrived.
  // The estimate comes from the quickest of the recent events. An event counts as recent for at
  // least kWindowMs (30 s) and at most three times kWindowMs.
  // - `sent_at_ms`: what the sender's clock showed when the event was sent, in ms since 1970, UTC.
  // - `steady_ms`: what the sender's second clock showed at that time, in ms since the start of the
  //   sender's machine; 0: the time is not known.
  // - `boot_ms`: when the event arrived, by Clock::boot_ms(), which counts from the start of the
  //   service's machine.
  //
  // Without `steady_ms`, shows_ms() must itself detect that the sender's clock was set:
  // - The clock was set ahead: the result follows with the next event.
  // - The clock was set back, and the next event has an earlier `sent_at_ms` than the event before:
  //   the result follows with this event. From then on, no earlier event counts.
  // - The clock was set back by less than the time between two events: the result follows when the
  //   events from before the change no longer count as recent.
  //
  // The filter takes the smallest delay, as NTP's clock filter does (RFC 5905, section 10).
  TimeMs shows_ms(TimeMs sent_at_ms, std::int64_t steady_ms, std::int64_t boot_ms) {
    if (steady_ms == 0) return by_quickest(sent_at_ms, boot_ms);
    const TimeMs shown = by_quickest(steady_ms, boot_ms);
    return sent_at_ms + (shown - steady_ms);
  }

 private:
  // Works as shows_ms() without `steady_ms`. The difference between an event's arrival and its
  // `sent_at_ms` is the event's delay, plus the constant offset of the two clocks. So the quickest
  // event has the smallest difference. The members store the smallest difference of two windows:
  // the present window and the window before.
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

  std::int64_t since_ms_ = -2 * kWindowMs - 1;  // when the present window began; at first, long ago
  TimeMs last_sent_at_ms_ = 0;
  DurationMs least_ = 0;
  DurationMs earlier_ = 0;  // the smallest difference in the window before
};

}  // namespace subak::api
