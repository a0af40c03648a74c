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
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(s.event(5 * kSecondMs), 1);
}

TEST(SenderClock, AClockThatIsAheadIsNegative) {
  Stream s;
  s.behind_ms = -20 * kSecondMs;
  EXPECT_EQ(s.event(2), -20 * kSecondMs + 2);
  EXPECT_EQ(s.event(900), -20 * kSecondMs + 2);
}

TEST(SenderClock, AStepAheadShowsAtOnceAndAStepBackWithinAMinute) {
  Stream s;
  s.event(1);
  s.behind_ms = -kHourMs;
  EXPECT_EQ(s.event(1), -kHourMs + 1);
  s.behind_ms = kHourMs;
  EXPECT_EQ(s.event(1), -kHourMs + 1) << "nobody can tell it from delay yet";
  for (int i = 0; i < 62; ++i) s.event(1, kSecondMs);
  EXPECT_EQ(s.event(1), kHourMs + 1);
}

TEST(SenderClock, WhatIsOlderThanAMinuteCountsNoMore) {
  Stream s;
  s.event(1);
  s.behind_ms = kHourMs;
  EXPECT_EQ(s.event(7, 10 * kMinuteMs), kHourMs + 7);
}

}  // namespace
}  // namespace subak::api
