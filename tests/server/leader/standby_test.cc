// A standby shows what the store has, ends when the store has something else, and goes on as the leader.
#include "server/leader/standby.h"

#include <gtest/gtest.h>

#include <array>
#include <future>

#include "server/runtime/follower.h"
#include "tests/oracle/random_world.h"
#include "tests/server/runtime/runtime_fakes.h"
#include "tests/server/store/support/facts_reader.h"

namespace subak {
namespace {

using Look = StoreTail::Look;

// Facts in memory, and a checkpoint of the first of them, which somebody else writes until the lead is free.
class Shared final : public SharedStore {
 public:
  std::vector<Fact> kept, all;
  std::uint64_t checkpoint = 0;
  std::atomic<bool> fails{false}, is_free{false}, is_away{false};
  std::size_t whole_reads = 0, checkpoints = 0, watches = 0;

  Result<bool> try_lead() override {
    if (is_away) {
      return Error{ErrorCode::kPrecondition, "store.lead", "",
                   "want a database server that answers"};
    }
    if (is_free) leads_ = true;
    return leads_.load();
  }
  bool leads() const override { return leads_; }
  bool took_over() const override { return false; }
  void give_up_lead() override { leads_ = false; }
  Leadership lead() const override { return {1, is_free ? "" : "another", "", {}}; }
  void tell(const KnownAs&) override {}
  void watch() override { ++watches; }
  std::optional<Error> commit(std::span<const Fact> facts) override {
    all.insert(all.end(), facts.begin(), facts.end());
    return std::nullopt;
  }
  std::optional<Error> write_checkpoint(std::uint64_t, const PackedFacts&) override {
    ++checkpoints;
    return std::nullopt;
  }
  Result<std::unique_ptr<StoreReader>> open_reader() override {
    return std::unique_ptr<StoreReader>(std::make_unique<Reader>(*this));
  }
  std::string describe() const override { return "shared"; }

 private:
  class Reader final : public FactsReader {
   public:
    explicit Reader(Shared& store) : store_(store) {}
    Result<Recovered> recover(FactSink& sink) override {
      ++store_.whole_reads;
      for (const Fact& fact : store_.kept) sink.checkpoint_fact(fact);
      sink.checkpoint_end(store_.checkpoint);
      for (const Fact& fact : store_.all) {
        if (fact.seq > store_.checkpoint) sink.fact(fact);
      }
      return Recovered{store_.all.empty() ? 0 : store_.all.back().seq, store_.checkpoint, 0, 0};
    }
    Result<std::vector<Fact>> facts(std::uint64_t after, std::size_t most) override {
      if (store_.fails) return Error{ErrorCode::kPrecondition, "store", "away", ""};
      std::vector<Fact> out;
      for (const Fact& fact : store_.all) {
        if (fact.seq > after && out.size() < most) out.push_back(fact);
      }
      return out;
    }

   private:
    Shared& store_;
  };
  std::atomic<bool> leads_{false};
};

class StandbyTest : public testing::Test {
 protected:
  StandbyTest() {
    FollowerOptions reading;
    reading.stepped = true;
    reading.checkpoint_every = 1;
    reading.may_write = [this] { return runtime_->stats().leads; };
    follower_ = std::make_unique<Follower>(std::move(reading), store_);
    RuntimeOptions options;
    options.stepped = true;
    options.digest_every = 1;
    options.on_durable = [this](const Released& batch) {
      follower_->durable(batch);
      ours_ += batch.ours ? 1 : 0;
    };
    runtime_ = std::make_unique<Runtime>(std::move(options), store_, clock_);
    tail_ = std::make_unique<StoreTail>(*runtime_);
  }
  void live(int inputs) {
    for (int i = 0; i < inputs; ++i) {
      const Input input = world_.next(leader_.next_deadline());
      const ApplyOutcome outcome = leader_.apply(input);
      world_.saw(input, outcome);
      store_.all.insert(store_.all.end(), outcome.facts.begin(), outcome.facts.end());
    }
  }
  void begin() {
    ASSERT_TRUE(tail_->begin().ok());
    ASSERT_FALSE(follower_->start());
  }
  Look look() { return tail_->look(*reader_); }
  std::array<std::uint64_t, 2> digest_of_reads() {
    std::array<std::uint64_t, 2> out{};
    EXPECT_TRUE(follower_->read([&](const Engine& engine) { out = engine.digest(); }));
    follower_->turn();
    return out;
  }
  void expect_what_the_store_has() {
    EXPECT_EQ(runtime_->view()->seq, store_.all.back().seq);
    Engine fresh;
    for (const Fact& fact : store_.all) fresh.evolve(fact);
    EXPECT_EQ(digest_of_reads(), fresh.digest());
  }

  sim::RandomWorld world_{{5, false}};
  Engine leader_;
  Shared store_;
  FakeClock clock_;
  int ours_ = 0;
  // Its folder is not there, so nothing is kept.
  DurableMark known_{"/nowhere/subak.known"};
  std::unique_ptr<Follower> follower_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<StoreTail> tail_;
  std::unique_ptr<StoreReader> reader_ = store_.open_reader().value();
};

TEST_F(StandbyTest, ShowsWhatAnotherCommits) {
  live(50);
  begin();
  for (int i = 0; i < 20; ++i) {
    live(50);
    EXPECT_EQ(look(), Look::kAll);
    expect_what_the_store_has();
  }
  EXPECT_EQ(store_.whole_reads, 2u) << "once for each engine";
  EXPECT_EQ(store_.checkpoints, 0u) << "it may not write";
  EXPECT_EQ(ours_, 0);
}

// No fact says it, and the webhook needs it: who opens gates is known by it.
TEST_F(StandbyTest, KnowsAsWhomClustersKnowTheLeader) {
  live(50);
  begin();
  const std::string cluster = runtime_->view()->clusters->front().name;
  const std::uint64_t seq = runtime_->view()->seq;
  EXPECT_EQ(runtime_->view()->cluster(cluster)->known_as, "");
  EXPECT_EQ(tail_->look(*reader_, {{cluster, "subak"}, {"elsewhere", "other"}}), Look::kAll);
  EXPECT_EQ(runtime_->view()->cluster(cluster)->known_as, "subak");
  EXPECT_EQ(runtime_->view()->seq, seq);
  live(50);
  EXPECT_EQ(tail_->look(*reader_, {{cluster, "subak"}}), Look::kAll);
  EXPECT_EQ(runtime_->view()->cluster(cluster)->known_as, "subak") << "with new facts too";
  EXPECT_EQ(runtime_->view()->seq, store_.all.back().seq);
}

TEST_F(StandbyTest, BeginsWithACheckpoint) {
  live(400);
  leader_.checkpoint([&](const Fact& fact) { store_.kept.push_back(fact); });
  store_.checkpoint = leader_.seq();
  begin();
  EXPECT_EQ(look(), Look::kAll);
  live(400);
  EXPECT_EQ(look(), Look::kAll);
  expect_what_the_store_has();
}

TEST_F(StandbyTest, ChangesNothingAndSaysHowOldItsPictureIs) {
  live(50);
  begin();
  EXPECT_FALSE(runtime_->stats().leads);
  EXPECT_FALSE(runtime_->post(input(in::Pass{}), nullptr));
  EXPECT_EQ(runtime_->subscribe(ClusterId{1}, [] {}), nullptr);
  const TimeMs before = runtime_->now_ms();
  clock_.set_wall(clock_.wall_ms() + 5000);
  store_.fails = true;
  EXPECT_EQ(look(), Look::kFailed);
  EXPECT_EQ(runtime_->stats().behind_ms, 5000);
  EXPECT_EQ(runtime_->now_ms(), before + 5000);
  store_.fails = false;
  EXPECT_EQ(look(), Look::kAll);
  EXPECT_EQ(runtime_->stats().behind_ms, 0);
}

// A copy of the database that lacked the last facts took its place, and others came there.
TEST_F(StandbyTest, SeesThatTheStoreHasSomethingElse) {
  live(300);
  begin();
  store_.all.back().time_ms += 1;
  EXPECT_EQ(look(), Look::kGone);
  store_.all.pop_back();
  EXPECT_EQ(look(), Look::kGone);
}

TEST_F(StandbyTest, GoesOnAsTheLeader) {
  live(300);
  begin();
  live(50);
  EXPECT_EQ(look(), Look::kAll);
  const std::uint64_t led_by_other = store_.all.back().seq;
  ASSERT_TRUE(runtime_->start().ok());
  bool is_done = false;
  in::SetAccount account;
  account.spec.path = "new";
  account.reason = "test";
  ASSERT_TRUE(runtime_->post(input(account), [&](const Reply& reply) { is_done = !reply.error; }));
  for (int i = 0; i < 10 && runtime_->stats().has_work; ++i) {
    runtime_->turn();
    runtime_->commit();
  }
  EXPECT_TRUE(is_done);
  EXPECT_TRUE(runtime_->stats().leads);
  EXPECT_GT(ours_, 0);
  EXPECT_EQ(store_.all[led_by_other].seq, led_by_other + 1) << "there is no gap";
  expect_what_the_store_has();
  EXPECT_GT(follower_->stats().digests_equal, 0u) << "the loop's engine knows the same";
  EXPECT_EQ(follower_->stats().digests_different, 0u);
  EXPECT_GT(store_.checkpoints, 0u);
}

// --- the thread ----------------------------------------------------------------------------------

TEST_F(StandbyTest, WhereNobodyLeadsItNeedNotFollow) {
  store_.is_free = true;
  Standby standby({store_, *runtime_, &known_, nullptr, nullptr, nullptr});
  const auto leads = standby.begin();
  ASSERT_TRUE(leads.ok());
  EXPECT_TRUE(*leads);
  EXPECT_EQ(store_.whole_reads, 0u);
}

// A leader that falls silent while a late replica reads is not noticed only after that.
// Somebody is told as often as that is seen, and whoever waits begins once the database is back.
TEST_F(StandbyTest, SaysThatTheDatabaseIsAwayWhileItBegins) {
  live(20);
  int times = 0;
  Standby standby({store_, *runtime_, nullptr, {}, {}, {}, [&] { ++times; }});
  store_.is_away = true;
  ASSERT_TRUE(says_away(store_.try_lead().error()));
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(*standby.try_begin(), Standby::Begun::kNotYet);
    EXPECT_EQ(times, i);
  }
  store_.is_away = false;
  EXPECT_EQ(*standby.try_begin(), Standby::Begun::kFollows);
  EXPECT_EQ(times, 3);
}

TEST_F(StandbyTest, WatchesWhileItReadsAllThereIs) {
  live(4000);
  ASSERT_GT(store_.all.size(), 1000u);
  Standby standby({store_, *runtime_, &known_, nullptr, nullptr, nullptr});
  ASSERT_TRUE(standby.begin().ok());
  EXPECT_GE(store_.watches, store_.all.size() / 1000);
}

// A database that became another between the look at it and the lead.
TEST_F(StandbyTest, WhoHasLedOnWhatLacksTheKnownEndsAtOnce) {
  live(100);
  known_.seen(store_.all);
  store_.all.pop_back();
  store_.is_free = true;
  Standby standby({store_, *runtime_, &known_, nullptr, nullptr, nullptr});
  const auto leads = standby.begin();
  ASSERT_FALSE(leads.ok());
  EXPECT_NE(leads.error().message().find("a fact that this replica knows is no longer in shared"),
            std::string::npos);
}

TEST_F(StandbyTest, TakesOverOnceTheLeadIsFree) {
  live(100);
  std::promise<std::uint64_t> took;
  const auto take_over = [&]() -> std::optional<Error> {
    took.set_value(runtime_->view()->seq);
    return std::nullopt;
  };
  Standby standby({store_, *runtime_, &known_, take_over, nullptr, nullptr});
  const auto leads = standby.begin();
  ASSERT_TRUE(leads.ok());
  EXPECT_FALSE(*leads);
  live(100);  // committed before the lead was free, and not seen yet
  store_.is_free = true;
  standby.start();
  EXPECT_EQ(took.get_future().get(), store_.all.back().seq);
  standby.stop();
}

TEST_F(StandbyTest, EndsTheProcessWhereItCannotGoOn) {
  live(100);
  std::promise<std::string> why;
  const auto fatal = [&](const Error& error) { why.set_value(error.message()); };
  Standby standby({store_, *runtime_, &known_, nullptr, fatal, nullptr});
  ASSERT_TRUE(standby.begin().ok());
  store_.all.pop_back();
  standby.start();
  EXPECT_NE(why.get_future().get().find("is no longer in shared"), std::string::npos);
}

}  // namespace
}  // namespace subak
