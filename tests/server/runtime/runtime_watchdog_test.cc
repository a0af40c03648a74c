#include <gtest/gtest.h>

#include <future>

#include "runtime_fakes.h"
#include "server/runtime/watchdog.h"

namespace subak {
namespace {

RuntimeStats stats(bool work, std::uint64_t batches) {
  RuntimeStats out;
  out.has_work = work;
  out.batches = batches;
  return out;
}

TEST(StallDetector, WorkWithoutProgressForLongerThanThePatience) {
  StallDetector detector(1000);
  EXPECT_FALSE(detector.stalled(stats(true, 1), 5000));  // work has just come
  EXPECT_FALSE(detector.stalled(stats(true, 1), 6000));
  EXPECT_TRUE(detector.stalled(stats(true, 1), 6001));
  EXPECT_FALSE(detector.stalled(stats(true, 2), 6002));  // progress
  EXPECT_FALSE(detector.stalled(stats(true, 2), 7002));
  EXPECT_TRUE(detector.stalled(stats(true, 2), 7003));
}

TEST(StallDetector, IdlingIsNoStall) {
  StallDetector detector(1000);
  EXPECT_FALSE(detector.stalled(stats(false, 1), 0));
  EXPECT_FALSE(detector.stalled(stats(false, 1), 99'000));
  EXPECT_FALSE(detector.stalled(stats(true, 1), 99'500));  // the patience starts with the work
  EXPECT_FALSE(detector.stalled(stats(true, 1), 100'500));
  EXPECT_TRUE(detector.stalled(stats(true, 1), 100'501));
  EXPECT_FALSE(detector.stalled(stats(false, 1), 100'502));
}

// Each look moves the clock on by a second, so that the stall comes after a known number of looks.
TEST(Watchdog, SaysWhenTheLoopHangsAndWhenItGoesOn) {
  FakeClock clock;
  std::atomic<int> looks{0};
  std::atomic<bool> hangs{true};
  const auto next = [&] {
    const int n = ++looks;
    clock.set_mono_ms(n * 1000);
    return stats(true, hangs ? 1 : static_cast<std::uint64_t>(n) + 1);
  };
  Watchdog watchdog(next, clock, /*patience_ms=*/10);
  while (!watchdog.stalled()) std::this_thread::yield();
  EXPECT_EQ(watchdog.stalls(), 1u);
  hangs = false;
  while (watchdog.stalled()) std::this_thread::yield();
  EXPECT_EQ(watchdog.stalls(), 1u);
}

}  // namespace
}  // namespace subak
