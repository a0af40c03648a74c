// When somebody who leads is taken for dead.
#include <gtest/gtest.h>

#include "core/limits.h"
#include "server/store/postgres/leadership.h"

namespace subak {
namespace {

// Silence is what was listened to.
TEST(LeadershipWatch, CountsTheTimeInWhichItLooked) {
  postgres::LeadershipSeen seen;
  seen.lead.epoch = 1;
  seen.lead.holder = "a";
  const auto free_after = [&](postgres::LeadershipWatch& watch, std::int64_t from_ms) {
    std::int64_t now_ms = from_ms;
    for (watch.begin_look(now_ms); !watch.is_free(seen, now_ms); watch.begin_look(now_ms)) {
      now_ms += limits::kHeartbeatMs;
    }
    return now_ms - from_ms;
  };
  postgres::LeadershipWatch watch;
  EXPECT_EQ(free_after(watch, 1000), limits::kLeaderSilentMs);
  EXPECT_EQ(free_after(watch, 60'000), limits::kLeaderSilentMs) << "it was asleep";
  ++seen.beats;
  EXPECT_EQ(free_after(watch, 63'500), limits::kLeaderSilentMs) << "a sign of life";
  watch.saw_sign(67'000);
  EXPECT_EQ(free_after(watch, 67'000), limits::kLeaderSilentMs) << "facts came";
  watch.saw_nothing(70'500);
  EXPECT_EQ(free_after(watch, 70'500), limits::kLeaderSilentMs) << "no database";
  watch.begin_look(73'500);
  watch.is_free(seen, 80'000);
  watch.begin_look(80'020);
  EXPECT_TRUE(watch.is_free(seen, 87'000)) << "looks that take long are looks";
  seen.lead.holder = "";
  EXPECT_EQ(free_after(watch, 87'500), 0) << "the lead was given up";
}

}  // namespace
}  // namespace subak
