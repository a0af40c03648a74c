// A database's clock, sampled and carried on.
#include "server/runtime/clock/database_clock.h"

#include <gtest/gtest.h>

#include "core/limits.h"
#include "server/runtime/clock/believed_time.h"

namespace subak {
namespace {

constexpr TimeMs kDatabaseNow = 1'700'000'000'000;

// The machine's clocks, which are wrong by an hour, and the database's, which is right.
class Machine final : public Clock {
 public:
  TimeMs wall_ms() const override { return kDatabaseNow + boot + kHourMs; }
  std::int64_t monotonic_us() const override { return 7; }
  std::int64_t boot_ms() const override { return boot; }
  std::int64_t boot = 5000;
};

class DatabaseClockTest : public testing::Test {
 protected:
  TimeMs right() const { return kDatabaseNow + machine_.boot; }
  // The database is read in the middle of the way, `off_ms` from what is right.
  void sample(DurationMs way_ms, DurationMs off_ms = 0) {
    const std::int64_t began_ms = machine_.boot;
    machine_.boot += way_ms;
    clock_.take({kDatabaseNow + began_ms + way_ms / 2 + off_ms, began_ms, machine_.boot});
  }
  std::uint64_t steps() const { return clock_.status()->steps; }

  Machine machine_;
  DatabaseClock clock_{machine_};
};

TEST_F(DatabaseClockTest, WithoutASampleItIsTheMachines) {
  EXPECT_EQ(clock_.wall_ms(), machine_.wall_ms());
  EXPECT_EQ(clock_.boot_ms(), 5000);
  EXPECT_EQ(clock_.monotonic_us(), 7);
  EXPECT_FALSE(clock_.status());
}

TEST_F(DatabaseClockTest, ASampleIsCarriedOnByTheBootClock) {
  sample(40);
  EXPECT_EQ(clock_.wall_ms(), right());
  machine_.boot += 12'345;
  EXPECT_EQ(clock_.wall_ms(), right());
  EXPECT_EQ(clock_.status()->offset_ms, -kHourMs);
  EXPECT_EQ(steps(), 0u);
}

TEST_F(DatabaseClockTest, WhatWasUnderWayForTooLongIsNotUsed) {
  sample(0);
  sample(limits::kClockSampleMs + 1, 700);
  EXPECT_EQ(clock_.wall_ms(), right());
  sample(limits::kClockSampleMs, 700);
  EXPECT_EQ(clock_.wall_ms(), right() + 700);
  EXPECT_EQ(steps(), 0u);
}

TEST_F(DatabaseClockTest, TheFirstIsUsedAllTheSameAndIsNotAhead) {
  sample(8000);
  EXPECT_EQ(clock_.wall_ms(), right() - 4000);
  sample(9000);
  EXPECT_EQ(clock_.wall_ms(), right() - 4000) << "no better";
  sample(20);
  EXPECT_EQ(clock_.wall_ms(), right());
  EXPECT_EQ(steps(), 0u) << "the clock did not step";
}

TEST_F(DatabaseClockTest, AStepOfMoreThanASecondIsCounted) {
  sample(0);
  sample(10, limits::kClockStepMs);
  EXPECT_EQ(steps(), 0u);
  sample(10);
  EXPECT_EQ(steps(), 0u);
  sample(10, limits::kClockStepMs + 1);
  EXPECT_EQ(steps(), 1u);
  EXPECT_EQ(clock_.wall_ms(), right() + limits::kClockStepMs + 1);
  sample(10, -1);
  EXPECT_EQ(steps(), 2u);
  sample(10);
  EXPECT_EQ(steps(), 2u);
}

// What is believed of a machine's clock is believed of a database's, and no more.
TEST_F(DatabaseClockTest, ALongStepIsNotBelieved) {
  const auto reading = [&] { return ClockReading{clock_.wall_ms(), clock_.boot_ms()}; };
  sample(0);
  BelievedTime time;
  time.start(right() - 1000, reading());
  EXPECT_EQ(time.look(reading()), right());
  sample(10, kHourMs);
  EXPECT_EQ(time.look(reading()), right());
  EXPECT_EQ(time.status().state, ClockState::kStepped);
  EXPECT_EQ(time.status().offset_ms, kHourMs);
  sample(10);
  EXPECT_EQ(time.look(reading()), right());
  EXPECT_EQ(time.status().state, ClockState::kBelieved);
}

}  // namespace
}  // namespace subak
