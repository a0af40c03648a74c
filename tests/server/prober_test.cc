#include "server/service/prober.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "server/service/sockets.h"
#include "tests/server/runtime/runtime_fakes.h"

namespace subak {
namespace {

using ::testing::HasSubstr;
using Kind = ProbeResult::Kind;

TEST(ProbeJudge, OnlyWhoLetsNobodyInForLongIsDead) {
  ProbeJudge judge(100);
  EXPECT_FALSE(judge.serves());
  judge.take({}, 0);
  EXPECT_TRUE(judge.serves());
  judge.take({Kind::kSilent, "slow"}, 10);
  EXPECT_FALSE(judge.serves());
  judge.take({Kind::kSilent, "slow"}, 10'000);
  EXPECT_FALSE(judge.dead());  // full or slow is not dead
  judge.take({Kind::kShut, "gone"}, 10'010);
  judge.take({Kind::kNotAsked, "no socket"}, 10'200);
  judge.take({Kind::kShut, "gone"}, 10'110);
  EXPECT_FALSE(judge.dead());
  judge.take({Kind::kShut, "gone"}, 10'111);
  EXPECT_TRUE(judge.dead());
}

TEST(ProbeJudge, WhatCouldNotBeAskedChangesNothing) {
  ProbeJudge judge(100);
  judge.take({}, 0);
  judge.take({Kind::kNotAsked, "no socket"}, 1000);
  EXPECT_TRUE(judge.serves());
  judge.take({Kind::kShut, "gone"}, 1000);
  judge.take({}, 1050);
  judge.take({Kind::kShut, "gone"}, 1090);
  judge.take({Kind::kShut, "gone"}, 1190);
  EXPECT_FALSE(judge.dead());  // the patience began anew
}

TEST(Prober, AsksEachAndEndsTheServiceForADeadOne) {
  FakeClock clock;
  std::atomic<int> asked{0};
  std::promise<std::string> dead;
  std::vector<Probed> probed{{"webhook", [](DurationMs) { return ProbeResult{}; }},
                             {"grpc", [&](DurationMs) {
                                const int times = asked++;
                                if (times == 0) return ProbeResult{};
                                clock.set_mono_ms(times * 60);
                                return ProbeResult{Kind::kShut, "connect: refused"};
                              }}};
  Prober prober(
      std::move(probed), clock,
      [&, told = false](const Error& error) mutable {
        if (!std::exchange(told, true)) dead.set_value(error.message());
      },
      1, 100);
  prober.start();
  EXPECT_TRUE(prober.serves(0));
  const std::string why = dead.get_future().get();
  EXPECT_THAT(why, HasSubstr("grpc"));
  EXPECT_THAT(why, HasSubstr("connect: refused"));
  EXPECT_TRUE(prober.serves(0));
  EXPECT_FALSE(prober.serves(1));
  prober.stop();
  EXPECT_GE(asked, 4);  // at 60, 120, 180: more than 100 since the first
}

TEST(ShareFiles, EverythingFitsOrTheSamePartOfAll) {
  const auto plenty = share_files(limits::kWantedFiles);
  ASSERT_TRUE(plenty.ok());
  EXPECT_EQ(plenty->webhook.all, limits::kMaxHttpConnections);
  EXPECT_EQ(plenty->grpc.per_peer, limits::kMaxGrpcConnectionsPerPeer);
  const std::size_t files = 1024;
  const auto few = share_files(files);
  ASSERT_TRUE(few.ok());
  EXPECT_EQ(few->webhook.all, few->grpc.all);
  EXPECT_LE(few->webhook.all + few->http.all + few->grpc.all + limits::kOwnFiles +
                3 * (limits::kReservedConnections + limits::kMaxLeavingConnections),
            files);
  EXPECT_GT(few->webhook.all, 200u);
  EXPECT_GT(few->grpc.per_peer, 50u);
}

TEST(ShareFiles, TooFewRefuseTheStartAndSayHowMany) {
  const auto none = share_files(64);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message(),
              HasSubstr("open files: was \"64\", want a limit of at least"));
  const std::string text = none.error().want;
  const auto least =
      static_cast<std::size_t>(std::stoul(text.substr(text.find_first_of("0123456789"))));
  EXPECT_TRUE(share_files(least).ok());
  EXPECT_FALSE(share_files(least - 1).ok());
}

}  // namespace
}  // namespace subak
