// Which wall clocks are believed, at a start and later, and what time it is meanwhile.
#include "server/runtime/clock/believed_time.h"

#include <gtest/gtest.h>

#include <random>

#include "core/limits.h"

namespace subak {
namespace {

constexpr TimeMs kNow = 1'700'000'000'000;
constexpr DurationMs kStep = limits::kMaxClockStepMs;

// Both clocks: time passes for both, the wall clock is set alone.
struct World {
  ClockReading now{kNow, 5000};
  BelievedTime time;

  explicit World(TimeMs last_ms) { time.start(last_ms, now); }
  TimeMs pass(DurationMs ms) {
    now.boot_ms += ms;
    now.wall_ms += ms;
    return time.look(now);
  }
  TimeMs step(DurationMs ms) {
    now.wall_ms += ms;
    return time.look(now);
  }
  ClockState state() const { return time.status().state; }
  std::uint64_t refused() const { return time.status().steps_refused; }
};

TEST(BelievedTime, AnEmptyStoreTakesAnyClock) {
  World w(0);
  EXPECT_EQ(w.state(), ClockState::kBelieved);
  EXPECT_EQ(w.pass(10), kNow + 10);
  EXPECT_EQ(w.time.at(w.now.boot_ms + 7), kNow + 17);
}

TEST(BelievedTime, AtAStartThirtyDaysAheadIsBelieved) {
  World w(kNow - limits::kMaxClockAheadMs);
  EXPECT_EQ(w.state(), ClockState::kBelieved);
  EXPECT_EQ(w.pass(0), kNow);
}

TEST(BelievedTime, AtAStartFurtherAheadWaits) {
  const TimeMs last = kNow - limits::kMaxClockAheadMs - 1;
  World w(last);
  EXPECT_EQ(w.state(), ClockState::kWaits);
  EXPECT_EQ(w.refused(), 1u);
  EXPECT_EQ(w.pass(1000), last + 1000) << "time goes on from the last fact";
  EXPECT_EQ(w.time.status().offset_ms, limits::kMaxClockAheadMs + 1);
  EXPECT_EQ(w.step(-kDayMs), last + limits::kMaxClockAheadMs + 1 + 1000 - kDayMs);
  EXPECT_EQ(w.state(), ClockState::kBelieved) << "mended";
}

TEST(BelievedTime, AcceptedIsBelievedWhateverItShows) {
  World w(kNow - 400 * kDayMs);
  EXPECT_EQ(w.state(), ClockState::kWaits);
  EXPECT_EQ(w.time.accept(w.now), kNow);
  EXPECT_EQ(w.state(), ClockState::kBelieved);
  EXPECT_EQ(w.pass(10), kNow + 10);
  w.step(-400 * kDayMs);
  EXPECT_EQ(w.state(), ClockState::kStepped) << "one that jumps again is not";
}

// A machine whose clock begins in 1970 until the network has told it the time.
TEST(BelievedTime, AtAStartBehindTimeRunsOnUntilTheClockIsSet) {
  World w(kNow + 400 * kDayMs);
  EXPECT_EQ(w.state(), ClockState::kStepped);
  EXPECT_EQ(w.pass(1000), kNow + 400 * kDayMs + 1000);
  EXPECT_EQ(w.step(400 * kDayMs + 2 * kHourMs), kNow + 400 * kDayMs + 2 * kHourMs + 1000);
  EXPECT_EQ(w.state(), ClockState::kBelieved) << "the service was away for two hours";
}

TEST(BelievedTime, AtAStartALittleBehindStands) {
  World w(kNow + kStep);
  EXPECT_EQ(w.state(), ClockState::kBelieved);
  EXPECT_EQ(w.pass(1000), kNow + kStep);
  EXPECT_EQ(w.pass(kStep), kNow + kStep + 1000);
}

TEST(BelievedTime, AStepUpToTheBoundIsTaken) {
  World w(0);
  EXPECT_EQ(w.step(kStep), kNow + kStep);
  EXPECT_EQ(w.state(), ClockState::kBelieved);
  EXPECT_EQ(w.step(-kStep), kNow + kStep) << "never back";
  EXPECT_EQ(w.time.status().offset_ms, -kStep);
  EXPECT_EQ(w.pass(kStep + 1), kNow + kStep + 1);
  EXPECT_EQ(w.refused(), 0u);
}

TEST(BelievedTime, ALargerStepIsNot) {
  for (const DurationMs step : {kStep + 1, 400 * kDayMs, -kStep - 1, -400 * kDayMs}) {
    World w(kNow - kMinuteMs);
    EXPECT_EQ(w.step(step), kNow);
    EXPECT_EQ(w.state(), ClockState::kStepped);
    EXPECT_EQ(w.pass(3000), kNow + 3000);
    EXPECT_EQ(w.time.status().offset_ms, step);
    EXPECT_EQ(w.step(-step), kNow + 3000);
    EXPECT_EQ(w.state(), ClockState::kBelieved);
    EXPECT_EQ(w.refused(), 1u);
  }
}

TEST(BelievedTime, SmallStepsDoNotAddUpToALargeOne) {
  World w(0);
  w.step(kStep);
  w.pass(1000);
  EXPECT_EQ(w.step(1), kNow + kStep + 1000);
  EXPECT_EQ(w.state(), ClockState::kStepped);
}

TEST(BelievedTime, SmallStepsOfALongLifeAreForgotten) {
  World w(0);
  for (int i = 0; i < 100; ++i) {
    w.pass(limits::kClockAnchorMs);
    w.step(kStep / 2);
    ASSERT_EQ(w.state(), ClockState::kBelieved) << i;
  }
  EXPECT_EQ(w.pass(0), w.now.wall_ms);
}

// Accepted behind: it stands until the clock is there, and is believed.
TEST(BelievedTime, AcceptedBehindStandsUntilThen) {
  World w(0);
  w.step(-kDayMs);
  w.pass(1000);
  EXPECT_EQ(w.time.accept(w.now), kNow + 1000);
  EXPECT_EQ(w.state(), ClockState::kBelieved);
  EXPECT_EQ(w.pass(kHourMs), kNow + 1000);
  EXPECT_EQ(w.pass(kDayMs), kNow + 1000 + kHourMs);
}

TEST(BelievedTime, NeverGoesBackAndNeverJumpsByMoreThanABelievedStep) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    World w(random() % 2 == 0 ? 0 : kNow - kHourMs);
    TimeMs before = w.pass(0);
    for (int i = 0; i < 200; ++i) {
      const auto passed = static_cast<DurationMs>(random() % kMinuteMs);
      TimeMs now = w.pass(passed);
      ASSERT_GE(now, before);
      ASSERT_LE(now, before + passed + 2 * kStep);
      before = now;
      const DurationMs most = random() % 3 == 0 ? 500 * kDayMs : 2 * kStep;
      now =
          w.step(static_cast<DurationMs>(random() % (2 * static_cast<std::uint64_t>(most))) - most);
      ASSERT_GE(now, before);
      ASSERT_LE(now, before + 2 * kStep);
      before = now;
    }
  }
}

}  // namespace
}  // namespace subak
