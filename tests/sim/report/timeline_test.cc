#include "sim/report/timeline.h"

#include <gtest/gtest.h>

#include "sim/read/rng.h"

namespace subak::sim {
namespace {

TEST(Timeline, SplitsChangesAtHours) {
  Timeline t(2, 1000, 1000 + 2 * kHourMs + 10);
  t.change(0, 1000, 0, 500);
  t.change(0, 1000 + kHourMs / 2, 500, -500);
  t.change(0, 1000 + kHourMs + 7, -500, 0);
  t.change(1, 1000 + 2 * kHourMs, 8, 0);
  t.change(1, 1000 + 5 * kHourMs, -8, 0);  // beyond the window
  t.finish();
  ASSERT_EQ(t.hours(), 3u);
  EXPECT_EQ(t.hour_length(0), kHourMs);
  EXPECT_EQ(t.hour_length(2), 10);
  EXPECT_EQ(t.cell(0, 0).queued, 500.0 * double{kHourMs} / 2);
  EXPECT_EQ(t.cell(0, 0).running, 500.0 * double{kHourMs} / 2);
  EXPECT_EQ(t.cell(1, 0).running, 500.0 * 7);
  EXPECT_EQ(t.cell(2, 0).running, 0);
  EXPECT_EQ(t.cell(2, 1).running, 80);
}

TEST(Timeline, AgreesWithAStepwiseSum) {
  Rng rng(3);
  const TimeMs to = 40 * kHourMs;
  Timeline t(1, 0, to);
  double expected = 0;
  MilliGpu level = 0;
  TimeMs now = 0;
  while (now < to + kHourMs) {
    const TimeMs next = now + rng.between(0, 3 * kHourMs);
    expected += double(level) * double(std::min(next, to) - std::min(now, to));
    const MilliGpu to_level = rng.between(0, 9) * 1000;
    t.change(0, next, to_level - level, 0);
    level = to_level;
    now = next;
  }
  t.finish();
  double sum = 0;
  for (std::size_t h = 0; h < t.hours(); ++h) sum += t.cell(h, 0).running;
  EXPECT_EQ(sum, expected);
}

}  // namespace
}  // namespace subak::sim
