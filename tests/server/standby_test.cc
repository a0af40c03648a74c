// A standby knows what the store has, and begins anew when the store has something else.
#include "server/service/standby.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/random_world.h"

namespace subak {
namespace {

// Facts in memory, and a checkpoint of the first of them.
class Reader final : public StoreReader {
 public:
  std::vector<Fact> kept, all;
  std::uint64_t checkpoint = 0;
  bool fails = false;
  std::size_t whole_reads = 0;

  Result<Recovered> recover(FactSink& sink) override {
    ++whole_reads;
    if (fails) return Error{ErrorCode::kPrecondition, "store", "away", ""};
    for (const Fact& fact : kept) sink.checkpoint_fact(fact);
    sink.checkpoint_end(checkpoint);
    for (const Fact& fact : all) {
      if (fact.seq > checkpoint) sink.fact(fact);
    }
    return Recovered{};
  }
  Result<std::vector<Fact>> facts(std::uint64_t after, std::size_t most) override {
    if (fails) return Error{ErrorCode::kPrecondition, "store", "away", ""};
    std::vector<Fact> out;
    for (const Fact& fact : all) {
      if (fact.seq > after && out.size() < most) out.push_back(fact);
    }
    return out;
  }
  Result<std::vector<LedgerEntry>> ledger(const LedgerQuery&) override {
    return std::vector<LedgerEntry>();
  }
  Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery&) override {
    return std::vector<DailyUsage>();
  }
  Result<std::vector<AuditEntry>> audit(const AuditQuery&) override {
    return std::vector<AuditEntry>();
  }
};

class StandbyTest : public testing::Test {
 protected:
  void live(int inputs) {
    for (int i = 0; i < inputs; ++i) {
      const Input input = world_.next(leader_.next_deadline());
      const ApplyOutcome outcome = leader_.apply(input);
      world_.saw(input, outcome);
      reader_.all.insert(reader_.all.end(), outcome.facts.begin(), outcome.facts.end());
    }
  }
  void expect_the_same() {
    const Standby::Engines engines = standby_.take();
    ASSERT_NE(engines.loop, nullptr);
    EXPECT_EQ(engines.loop->seq(), leader_.seq());
    EXPECT_EQ(engines.loop->digest(), engines.follower->digest());
    Engine fresh;
    for (const Fact& fact : reader_.all) fresh.evolve(fact);
    EXPECT_EQ(engines.loop->digest(), fresh.digest());
  }

  sim::RandomWorld world_{{5, false}};
  Engine leader_;
  Reader reader_;
  Standby standby_;
};

TEST_F(StandbyTest, KeepsUp) {
  EXPECT_FALSE(standby_.is_warm());
  for (int look = 0; look < 20; ++look) {
    live(50);
    standby_.look(reader_);
  }
  EXPECT_EQ(reader_.whole_reads, 1u);
  expect_the_same();
  EXPECT_FALSE(standby_.is_warm());
}

TEST_F(StandbyTest, BeginsWithACheckpoint) {
  live(400);
  leader_.checkpoint([&](const Fact& fact) { reader_.kept.push_back(fact); });
  reader_.checkpoint = leader_.seq();
  standby_.look(reader_);
  live(400);
  standby_.look(reader_);
  EXPECT_EQ(reader_.whole_reads, 1u);
  EXPECT_EQ(standby_.take().loop->seq(), leader_.seq());
}

// A copy of the database that lacked the last facts took its place, and others came there.
TEST_F(StandbyTest, BeginsAnewWhereTheStoreHasSomethingElse) {
  live(300);
  standby_.look(reader_);
  reader_.all.back().time_ms += 1;
  standby_.look(reader_);
  EXPECT_EQ(reader_.whole_reads, 2u);
  reader_.all.pop_back();
  standby_.look(reader_);
  EXPECT_EQ(reader_.whole_reads, 3u);
  EXPECT_EQ(standby_.take().loop->seq(), reader_.all.back().seq);
}

TEST_F(StandbyTest, TriesAgainWhatItCouldNotRead) {
  live(100);
  reader_.fails = true;
  standby_.look(reader_);
  EXPECT_FALSE(standby_.is_warm());
  reader_.fails = false;
  standby_.look(reader_);
  live(100);
  reader_.fails = true;
  standby_.look(reader_);
  EXPECT_TRUE(standby_.is_warm());
  reader_.fails = false;
  standby_.look(reader_);
  expect_the_same();
}

// What it knew may not be there any more.
TEST_F(StandbyTest, HasNothingToGiveIfItsLastLookFailed) {
  live(100);
  standby_.look(reader_);
  reader_.fails = true;
  standby_.look(reader_);
  EXPECT_EQ(standby_.take().loop, nullptr);
}

}  // namespace
}  // namespace subak
