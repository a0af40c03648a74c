// How far clocks of nodes are off, by their leases.
#include <gtest/gtest.h>

#include "core/limits.h"
#include "server/edge/cache/node_clocks.h"

namespace subak {
namespace {

constexpr TimeMs kNow = 1'700'000'000'000;
constexpr DurationMs kRenewMs = 10'000;

struct World {
  NodeClocks clocks;
  TimeMs now = kNow;
  std::int64_t monotonic = 50;

  // A renewal of a node whose clock is `behind`, which takes `late` to come. What renewed() says.
  bool renew(DurationMs behind, DurationMs late = 5, DurationMs after = kRenewMs) {
    now += after;
    monotonic += after;
    return clocks.renewed("n1", now - late - behind, now, monotonic);
  }
};

TEST(NodeClocks, NothingIsKnownBeforeANodeRenews) {
  World w;
  EXPECT_EQ(w.clocks.behind_ms("n1"), std::nullopt);
  w.clocks.begin_list();
  EXPECT_FALSE(w.renew(60'000)) << "a list names what was written some time before";
  EXPECT_EQ(w.clocks.behind_ms("n1"), std::nullopt);
  w.clocks.end_list();
  w.clocks.renewed("n1", kNow + kRenewMs - 5 - 60'000, w.now, w.monotonic);  // the same once more
  EXPECT_EQ(w.clocks.behind_ms("n1"), std::nullopt);
  w.renew(0);
  EXPECT_EQ(w.clocks.behind_ms("n1"), 5);
}

TEST(NodeClocks, ARightClockIsNotOffHoweverLateItsNewsIs) {
  World w;
  for (int i = 0; i < 30; ++i) EXPECT_FALSE(w.renew(0, i % 3 == 1 ? 60'000 : 40)) << i;
  EXPECT_LE(*w.clocks.behind_ms("n1"), 40);
  EXPECT_EQ(w.clocks.off_ms("n1"), 0);
}

TEST(NodeClocks, AClockThatIsBehindIsToldAfterThree) {
  World w;
  EXPECT_FALSE(w.renew(20'000));
  EXPECT_EQ(w.clocks.behind_ms("n1"), 20'005) << "ends are put right by it at once";
  EXPECT_FALSE(w.renew(20'000));
  EXPECT_TRUE(w.renew(20'000));
  EXPECT_EQ(w.clocks.off_ms("n1"), 20'000);
  EXPECT_FALSE(w.renew(20'900)) << "it drifts a little";
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(w.renew(0 + 20'900));
  EXPECT_TRUE(w.renew(0)) << "and is set right";
  EXPECT_EQ(w.clocks.off_ms("n1"), 0);
}

TEST(NodeClocks, AheadIsNegative) {
  World w;
  for (int i = 0; i < 3; ++i) w.renew(-kDayMs);
  EXPECT_EQ(w.clocks.off_ms("n1"), -kDayMs + 5 - (-kDayMs + 5) % kSecondMs);
  EXPECT_EQ(w.clocks.largest_ms(), -kDayMs + 5);
}

TEST(NodeClocks, WhatAWatchBringsAtOnceAfterAPauseIsOneSample) {
  World w;
  w.renew(0);
  w.now += 60'000;
  w.monotonic += 60'000;
  for (DurationMs age = 60'000; age > 0; age -= 10'000) {
    EXPECT_FALSE(w.clocks.renewed("n1", w.now - age + 3'000, w.now, w.monotonic)) << age;
  }
  EXPECT_FALSE(w.renew(0));
  EXPECT_EQ(w.clocks.off_ms("n1"), 0);
}

TEST(NodeClocks, WhoIsGoneIsForgotten) {
  World w;
  for (int i = 0; i < 3; ++i) w.renew(kDayMs);
  w.clocks.forget("n1");
  EXPECT_EQ(w.clocks.off_ms("n1"), 0);
  EXPECT_EQ(w.clocks.largest_ms(), 0);
}

}  // namespace
}  // namespace subak
