// When somebody who leads is taken for dead.
#include <gtest/gtest.h>

#include "core/limits.h"
#include "server/store/postgres/lead.h"

namespace subak {
namespace {

// Silence is what was listened to.
TEST(LeadWatch, CountsTheTimeInWhichItLooked) {
  postgres::LeadSeen seen;
  seen.lead.epoch = 1;
  seen.lead.holder = "a";
  const auto free_after = [&](postgres::LeadWatch& watch, std::int64_t from_ms) {
    std::int64_t now_ms = from_ms;
    while (!watch.is_free(seen, now_ms)) now_ms += limits::kBeatMs;
    return now_ms - from_ms;
  };
  postgres::LeadWatch watch;
  EXPECT_EQ(free_after(watch, 1000), limits::kLeaderSilentMs);
  EXPECT_EQ(free_after(watch, 60'000), limits::kLeaderSilentMs) << "it was asleep";
  ++seen.beats;
  EXPECT_EQ(free_after(watch, 63'500), limits::kLeaderSilentMs) << "a sign of life";
  watch.saw_sign(67'000);
  EXPECT_EQ(free_after(watch, 67'000), limits::kLeaderSilentMs) << "facts came";
  watch.saw_nothing(70'500);
  EXPECT_EQ(free_after(watch, 70'500), limits::kLeaderSilentMs) << "no database";
  seen.lead.holder = "";
  EXPECT_EQ(free_after(watch, 75'000), 0) << "the lead was given up";
}

}  // namespace
}  // namespace subak
