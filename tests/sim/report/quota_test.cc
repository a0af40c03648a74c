#include "sim/report/quota.h"

#include <gtest/gtest.h>

namespace subak::sim {
namespace {

// A team with a quota of 8 GPUs, and one without. The window is ten hours.
Workload two_teams() {
  Workload w;
  w.from_ms = kTraceEpochMs;
  w.to_ms = w.from_ms + 10 * kHourMs;
  w.teams = {{"a", "a", 1, 8000}, {"b", "b", 1, 0}};
  return w;
}

TEST(QueuedWithinQuota, CountsTheJobsThatTheQuotaHasRoomFor) {
  const Workload w = two_teams();
  QueuedWithinQuota meter(w);
  const auto at = [&](std::int64_t hours) { return w.from_ms + hours * kHourMs; };
  meter.queued(0, at(0), 4000);
  meter.queued(0, at(1), 8000);   // 1 h of 4 GPUs; now the 4 fit, and not the 8 beside them
  meter.queued(0, at(2), 2000);   // 1 h of 4; now 2 + 4
  meter.started(0, at(3), 4000);  // 1 h of 6; now the 2
  meter.started(0, at(4), 2000);  // 1 h of 2; now none
  meter.ended(0, at(6), 4000);
  meter.ended(0, at(7), 2000);    // now the 8
  meter.started(0, at(8), 8000);  // 1 h of 8
  EXPECT_DOUBLE_EQ(meter.gpu_hours(), 4 + 4 + 6 + 2 + 8);
}

TEST(QueuedWithinQuota, CountsNothingWithoutQuotaOrAfterTheWindow) {
  const Workload w = two_teams();
  QueuedWithinQuota meter(w);
  meter.queued(1, w.from_ms, 1000);
  meter.queued(0, w.to_ms - kHourMs, 1000);
  meter.started(0, w.to_ms + kHourMs, 1000);
  EXPECT_DOUBLE_EQ(meter.gpu_hours(), 1);
  QueuedWithinQuota open(w);
  open.queued(0, w.from_ms, 1000);
  EXPECT_DOUBLE_EQ(open.gpu_hours(), 10);
}

}  // namespace
}  // namespace subak::sim
