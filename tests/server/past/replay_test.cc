// Each start, reservation and new claim of random worlds comes out the same again; a changed one does not.
// SUBAK_REPLAY_WORLDS sets how many random worlds (17).
#include "server/past/replay.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "server/past/past_limits.h"
#include "tests/server/past/history.h"

namespace subak {
namespace {

constexpr int kInputs = 600;

std::uint64_t worlds() {
  const char* const text = std::getenv("SUBAK_REPLAY_WORLDS");
  return text == nullptr ? 17 : std::strtoull(text, nullptr, 10);
}

History history_of(std::uint64_t seed) {
  return random_history({.seed = seed, .beside = seed % 3 == 0}, kInputs);
}

bool has_ticks(const Replay& replay) {
  return replay.before() != nullptr && replay.before()->policy().order == OrderPolicy::kUsageTick;
}

TEST(Replay, EachDecisionComesOutTheSame) {
  std::size_t starts = 0, reserved = 0, claims = 0, alone = 0, ticks = 0;
  for (std::uint64_t seed = 1; seed <= worlds(); ++seed) {
    const History history = history_of(seed);
    HistoryReader reader(history.facts);
    Replay replay(reader);
    for (const Fact& fact : history.facts) {
      if (!is_decision(fact)) continue;
      const auto done = replay.fact(fact.seq);
      if (!done.ok() && done.error().code == ErrorCode::kPrecondition) {
        ++ticks;
        continue;
      }
      ASSERT_TRUE(done.ok()) << done.error().message();
      const std::string where = "seed " + std::to_string(seed) + ", " + fact_to_text(fact);
      if (!history.of_pass.contains(fact.seq)) {
        EXPECT_NE(done->verdict, ReplayVerdict::kDifferent) << where;
        ++alone;
        continue;
      }
      ASSERT_EQ(done->verdict, ReplayVerdict::kSame)
          << where << "\nstored   " << done->stored << "\nreplayed " << done->replayed;
      EXPECT_LE(done->begin, fact.seq);
      EXPECT_GE(done->end, fact.seq);
      // The replayed pass has all facts of the pass. It may begin with facts that an input before it made, if
      // a pass would have made them too: the rows of a day, or the end of a budget's period.
      const int pass = history.of_pass.at(fact.seq);
      EXPECT_EQ(history.of_pass.at(done->end), pass) << where;
      for (const std::uint64_t beside : {done->begin - 1, done->end + 1}) {
        const auto it = history.of_pass.find(beside);
        EXPECT_TRUE(it == history.of_pass.end() || it->second != pass) << where;
      }
      ASSERT_NE(replay.before(), nullptr);
      EXPECT_EQ(replay.before()->seq(), done->begin - 1);
      EXPECT_FALSE(has_ticks(replay));
      starts += std::holds_alternative<fact::AttemptStarted>(fact.body);
      reserved += std::holds_alternative<fact::Reserved>(fact.body);
      claims += std::holds_alternative<fact::Claimed>(fact.body);
    }
  }
  std::printf(
      "%zu starts, %zu reservations, %zu claims; %zu without a pass, %zu under usage-tick\n",
      starts, reserved, claims, alone, ticks);
  EXPECT_GT(starts, 20 * worlds());
  EXPECT_GT(reserved, worlds() / 2);
}

// Changes one stored fact of a pass, and expects the replay to find exactly this fact.
TEST(Replay, AChangedFactIsTheFirstDifference) {
  std::size_t changed = 0;
  for (const std::uint64_t seed : {2u, 3u, 7u}) {
    History history = history_of(seed);
    for (Fact& fact : history.facts) {
      auto* const started = std::get_if<fact::AttemptStarted>(&fact.body);
      if (started == nullptr || !history.of_pass.contains(fact.seq) || changed % 5 == 4) {
        changed += started != nullptr ? 1 : 0;
        continue;
      }
      started->until_ms += 1;
      HistoryReader reader(history.facts);
      Replay replay(reader);
      const auto done = replay.fact(fact.seq);
      started->until_ms -= 1;
      if (!done.ok()) continue;  // usage-tick
      started->until_ms += 1;
      EXPECT_EQ(done->verdict, ReplayVerdict::kDifferent) << fact_to_text(fact);
      EXPECT_EQ(done->stored, fact_to_text(fact));
      started->until_ms -= 1;
      EXPECT_EQ(done->replayed, fact_to_text(fact));
      EXPECT_EQ(done->end, fact.seq - 1);
      ++changed;
    }
  }
  EXPECT_GT(changed, 50u);
}

TEST(Replay, OtherFactsAreNotReplayed) {
  const History history = history_of(2);
  HistoryReader reader(history.facts);
  Replay replay(reader);
  std::size_t seen = 0;
  for (const Fact& fact : history.facts) {
    if (fact.seq < 2 || history.of_pass.contains(fact.seq) || is_decision(fact)) continue;
    const auto done = replay.fact(fact.seq);
    if (!done.ok()) continue;
    EXPECT_NE(done->verdict, ReplayVerdict::kDifferent) << fact_to_text(fact);
    if (++seen == 100) break;
  }
  EXPECT_EQ(seen, 100u);
}

TEST(Replay, SaysWhatIsMissing) {
  const History history = history_of(2);
  HistoryReader reader(history.facts);
  Replay replay(reader);
  EXPECT_EQ(replay.fact(0).error().field, "decision");
  EXPECT_EQ(replay.fact(1).error().code, ErrorCode::kNotFound);
  const auto beyond = replay.fact(history.facts.size() + 1);
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(replay.before(), nullptr);
  const std::vector<Fact> none;
  HistoryReader empty(none);
  EXPECT_EQ(Replay(empty).fact(5).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace subak
