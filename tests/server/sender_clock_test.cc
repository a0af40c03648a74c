#include "server/api/sender_clock.h"

#include <gtest/gtest.h>

namespace subak::api {
namespace {

// The service's clock and the sender's, which is behind by `behind_ms`.
struct Stream {
  SenderClock clock;
  TimeMs now_ms = kDayMs;
  DurationMs behind_ms = 0;

  // An event that took `delay_ms` arrives, `after_ms` after the one before.
  DurationMs event(DurationMs delay_ms, DurationMs after_ms = 10) {
    now_ms += after_ms;
    return clock.behind_ms(now_ms - delay_ms - behind_ms, now_ms);
  }
};

TEST(SenderClock, TheFirstEventIsTakenAsItIs) {
  Stream s;
  s.behind_ms = kHourMs;
  EXPECT_EQ(s.event(3), kHourMs + 3);
}

TEST(SenderClock, DelayIsNoErrorOfTheClock) {
  Stream s;
  s.event(1);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(s.event(i % 100 * 9, 10), 1) << i;
}

TEST(SenderClock, AClockThatIsAheadIsNegative) {
  Stream s;
  s.behind_ms = -20 * kSecondMs;
  EXPECT_EQ(s.event(2), -20 * kSecondMs + 2);
  EXPECT_EQ(s.event(900), -20 * kSecondMs + 2);
}

TEST(SenderClock, AStepShowsAtOnce) {
  Stream s;
  s.event(1);
  s.behind_ms = -kHourMs;
  EXPECT_EQ(s.event(1), -kHourMs + 1);
  s.behind_ms = kHourMs;
  EXPECT_EQ(s.event(1), kHourMs + 1) << "sent before the event before it";
  EXPECT_EQ(s.event(900), kHourMs + 1);
}

TEST(SenderClock, AStepBackThatMayBeDelayShowsWithinAMinute) {
  Stream s;
  s.event(1);
  s.behind_ms = kSecondMs;
  EXPECT_EQ(s.event(1, 2 * kSecondMs), 1);
  for (int i = 0; i < 30; ++i) s.event(1, 2 * kSecondMs);
  EXPECT_EQ(s.event(1), kSecondMs + 1);
}

TEST(SenderClock, WhatIsOlderThanAMinuteCountsNoMore) {
  Stream s;
  s.event(1);
  s.behind_ms = kHourMs;
  EXPECT_EQ(s.event(7, 10 * kMinuteMs), kHourMs + 7);
}

}  // namespace
}  // namespace subak::api
