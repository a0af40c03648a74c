#include "server/api/streams/sender_clock.h"

#include <gtest/gtest.h>

namespace subak::api {
namespace {

// The boot clock and the sender's, which is behind that by `behind_ms`.
struct Stream {
  SenderClock clock;
  std::int64_t now_ms = 2 * kDayMs;
  DurationMs behind_ms = kDayMs;

  // An event that took `delay_ms` arrives, `after_ms` after the one before. Returns by how much what
  // the sender's clock is taken to show is less than the boot clock.
  DurationMs event(DurationMs delay_ms, DurationMs after_ms = 10) {
    now_ms += after_ms;
    const std::int64_t steady_ms = is_steady ? now_ms - delay_ms - kHourMs : 0;
    return now_ms - clock.shows_ms(now_ms - delay_ms - behind_ms, steady_ms, now_ms);
  }
  bool is_steady = false;  // it sends a clock that is never set too
};

TEST(SenderClock, TheFirstEventIsTakenAsItIs) {
  Stream s;
  EXPECT_EQ(s.event(3), kDayMs + 3);
}

TEST(SenderClock, DelayIsNoErrorOfTheClock) {
  Stream s;
  s.event(1);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(s.event(1 + i % 100 * 9, 10), kDayMs + 1) << i;
}

TEST(SenderClock, AStepShowsAtOnce) {
  Stream s;
  s.event(1);
  s.behind_ms = -kHourMs;
  EXPECT_EQ(s.event(1), -kHourMs + 1);
  s.behind_ms = kHourMs;
  EXPECT_EQ(s.event(1), kHourMs + 1) << "sent before the event before it";
  EXPECT_EQ(s.event(900, kSecondMs), kHourMs + 1);
}

TEST(SenderClock, AStepBackThatMayBeDelayShowsWithinAMinute) {
  Stream s;
  s.event(1);
  s.behind_ms += kSecondMs;
  EXPECT_EQ(s.event(1, 2 * kSecondMs), kDayMs + 1);
  for (int i = 0; i < 31; ++i) s.event(1, 2 * kSecondMs);
  EXPECT_EQ(s.event(1), kDayMs + kSecondMs + 1);
}

TEST(SenderClock, WhatIsOlderThanAMinuteCountsNoMore) {
  Stream s;
  s.event(1);
  s.behind_ms += kSecondMs;
  EXPECT_EQ(s.event(7, 10 * kMinuteMs), kDayMs + kSecondMs + 7);
}

// As when the service is stopped for a while: events come late, and the clock was set meanwhile.
TEST(SenderClock, ASteadyClockTellsDelayFromAStep) {
  for (const DurationMs step : {-kDayMs, -3 * kSecondMs, 3 * kSecondMs, kDayMs}) {
    Stream s;
    s.is_steady = true;
    s.event(1);
    s.behind_ms += step;
    for (int i = 0; i < 50; ++i) {
      const DurationMs after_ms = i == 0 ? 3010 : 10;
      EXPECT_EQ(s.event(3000 - 60 * i, after_ms), kDayMs + step + 1) << step << ", event " << i;
    }
  }
}

TEST(SenderClock, WithoutASteadyClockDelayAndAStepAreOne) {
  Stream s;
  s.event(1);
  s.behind_ms += kHourMs;
  EXPECT_EQ(s.event(3000, 10), kDayMs + kHourMs + 3000);
}

}  // namespace
}  // namespace subak::api
