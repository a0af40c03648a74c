// The state of an earlier moment: which fact a moment means, the fold to it, and the thread that
// serves it.
#include "server/past/past.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <future>
#include <random>
#include <span>
#include <thread>

#include "core/duration.h"
#include "server/codec/past_checkpoint_limits.h"
#include "server/runtime/clock/clock.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/past/history.h"
#include "tests/server/store/support/pack_facts.h"
#include "tests/server/temp_folder.h"

namespace subak {
namespace {

const History& history() {
  static const History all = random_history({91, false}, 3000);
  return all;
}

std::array<std::uint64_t, 2> digest_at(std::uint64_t seq) {
  Engine engine;
  for (std::uint64_t i = 0; i < seq; ++i) engine.evolve(history().facts[i]);
  return engine.digest();
}

void add_checkpoint(HistoryReader& reader, std::uint64_t seq) {
  Engine engine;
  for (std::uint64_t i = 0; i < seq; ++i) engine.evolve(history().facts[i]);
  reader.checkpoint = engine.checkpoint();
  reader.checkpoint_seq = seq;
}

TEST(Moment, IsANumberOrATime) {
  const auto seq = read_moment("42", "at");
  ASSERT_TRUE(seq.ok());
  EXPECT_EQ(*seq, Moment(std::uint64_t{42}));
  const auto time = read_moment("1970-01-01T00:00:02Z", "at");
  ASSERT_TRUE(time.ok());
  EXPECT_EQ(*time, Moment(MomentTime{2000}));
  for (const std::string& text :
       {std::string(), std::string("-1"), std::string("4x"), std::string("99999999999999999999"),
        std::string("yesterday"), std::string(1000, '1')}) {
    const auto wrong = read_moment(text, "at");
    ASSERT_FALSE(wrong.ok()) << text;
    EXPECT_EQ(wrong.error().field, "at");
    EXPECT_LT(wrong.error().got.size(), 80u);
    EXPECT_NE(wrong.error().want.find("number of a fact"), std::string::npos);
  }
}

TEST(Moment, MeansTheLastFactOfATime) {
  HistoryReader reader(history().facts);
  const auto& facts = history().facts;
  const std::uint64_t last = facts.size();
  std::mt19937_64 random(7);
  for (int i = 0; i < 200; ++i) {
    const TimeMs from = facts.front().time_ms, to = facts.back().time_ms + kMinuteMs;
    const TimeMs time =
        from + static_cast<TimeMs>(random() % static_cast<std::uint64_t>(to - from));
    std::uint64_t want = 0;
    while (want < last && facts[want].time_ms <= time) ++want;
    const auto seq = seq_of_moment(reader, MomentTime{time}, last, "at");
    ASSERT_TRUE(seq.ok()) << seq.error().message();
    EXPECT_EQ(*seq, want);
  }
  const auto early = seq_of_moment(reader, MomentTime{facts.front().time_ms - 1}, last, "at");
  ASSERT_FALSE(early.ok());
  EXPECT_NE(early.error().want.find(format_time(facts.front().time_ms)), std::string::npos);
  const auto beyond = seq_of_moment(reader, last + 1, last, "at");
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().message(), "at: was \"" + std::to_string(last + 1) +
                                          "\", want a fact from 1 to " + std::to_string(last));
  EXPECT_FALSE(seq_of_moment(reader, std::uint64_t{0}, last, "at").ok());
  EXPECT_FALSE(seq_of_moment(reader, std::uint64_t{1}, 0, "at").ok());
}

// A history that is longer than a short fold.
const History& long_history() {
  static const History all = random_history({91, false}, 13'000);
  return all;
}

// The facts that rebuild the state after the fact `seq` of the long history.
std::vector<Fact> long_state_at(std::uint64_t seq) {
  Engine engine;
  for (std::uint64_t i = 0; i < seq; ++i) engine.evolve(long_history().facts[i]);
  return engine.checkpoint();
}

// 1,000 random moments, backwards and forwards, from whatever state is best. One past checkpoint is
// damaged.
TEST(Fold, GivesTheStateOfEachMoment) {
  const auto& facts = long_history().facts;
  const std::uint64_t last = facts.size();
  HistoryReader reader(facts);
  reader.checkpoint_seq = last - last / 8;
  reader.checkpoint = long_state_at(reader.checkpoint_seq);
  for (const std::uint64_t at : {last / 4, last / 2, last - last / 8}) {
    reader.past[at] = long_state_at(at);
  }
  reader.past[last / 3] = {};
  Fold fold(reader);
  std::mt19937_64 random(3);
  std::vector<std::uint64_t> moments{last, 1, last / 2, last / 2 - 1, last / 2 + 1, last / 3};
  while (moments.size() < 1000) moments.push_back(1 + random() % last);
  std::map<std::uint64_t, std::array<std::uint64_t, 2>> digests;
  Engine engine;
  std::vector<std::uint64_t> sorted = moments;
  std::sort(sorted.begin(), sorted.end());
  for (const std::uint64_t seq : sorted) {
    while (engine.seq() < seq) engine.evolve(facts[engine.seq()]);
    if (!digests.contains(seq)) digests[seq] = engine.digest();
  }
  for (const std::uint64_t seq : moments) {
    const auto there = fold.to(seq);
    ASSERT_TRUE(there.ok()) << there.error().message();
    ASSERT_EQ(fold.engine().seq(), seq);
    ASSERT_EQ(fold.engine().digest(), digests[seq]) << seq;
  }
  EXPECT_GT(reader.past_read.size(), 100u);
  EXPECT_GT(std::count(reader.past_read.begin(), reader.past_read.end(), last / 3), 10);
  EXPECT_GT(reader.recoveries, 10u);
}

TEST(Fold, StartsFromTheStateThatNeedsTheFewestFacts) {
  const auto& facts = long_history().facts;
  const std::uint64_t last = facts.size();
  ASSERT_GT(last, 5 * limits::kPastShortFold);
  HistoryReader reader(facts);
  reader.checkpoint_seq = last - 20;
  reader.checkpoint = long_state_at(last - 20);
  const std::uint64_t half = last / 2, quarter = last / 4;
  reader.past[half] = long_state_at(half);
  Fold fold(reader);
  const auto reads = [&](std::uint64_t seq) {
    reader.facts_read = 0;
    reader.recoveries = 0;
    reader.past_read.clear();
    EXPECT_TRUE(fold.to(seq).ok());
    return reader.facts_read;
  };
  EXPECT_EQ(reads(last - 10), 0u) << "the checkpoint and what follows it";
  EXPECT_EQ(reader.recoveries, 1u);
  EXPECT_EQ(reads(last - 5), 5u) << "the present state";
  EXPECT_EQ(reads(half + 10), 10u);
  EXPECT_EQ(reader.past_read, std::vector<std::uint64_t>{half});
  EXPECT_EQ(reads(half + 30), 20u);
  EXPECT_EQ(reads(quarter), quarter + 1) << "from fact 1, which is looked at first";
  EXPECT_EQ(reads(quarter + 10), 10u);
  EXPECT_TRUE(reader.past_read.empty());
  EXPECT_EQ(reader.recoveries, 0u);
  EXPECT_EQ(reads(half + 5), 5u) << "a later state is better than the present one";
  EXPECT_EQ(reads(last), 0u);
  EXPECT_EQ(reader.recoveries, 1u);
  // Without facts before it, and with a damaged one between.
  reader.past[half + 100] = {};
  EXPECT_EQ(reads(half + 105), 105u);
  EXPECT_EQ(reader.past_read, (std::vector<std::uint64_t>{half + 100, half}));
  reader.first = half + 1;
  EXPECT_EQ(reads(half + 20), 20u);
  EXPECT_FALSE(fold.to(half - 1).ok());
}

TEST(Fold, SaysWhatIsGone) {
  const std::uint64_t last = history().facts.size();
  HistoryReader reader(history().facts);
  add_checkpoint(reader, last / 2);
  reader.first = last / 4;
  Fold fold(reader);
  const auto gone = fold.to(last / 3);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, ErrorCode::kPrecondition);
  EXPECT_NE(gone.error().want.find(std::to_string(last / 2)), std::string::npos);
  ASSERT_TRUE(fold.to(last / 2).ok());
  EXPECT_EQ(fold.engine().digest(), digest_at(last / 2));
  EXPECT_EQ(fold.to(last + 1).error().code, ErrorCode::kNotFound);
}

TEST(Fold, StopsAndGoesOn) {
  HistoryReader reader(history().facts);
  Fold fold(reader);
  ASSERT_TRUE(fold.to(5).ok());
  const auto stopped = fold.to(50, [] { return false; });
  ASSERT_TRUE(stopped.ok());
  EXPECT_FALSE(*stopped);
  ASSERT_TRUE(*fold.to(50));
  EXPECT_EQ(fold.engine().digest(), digest_at(50));
}

class PastTest : public testing::Test {
 protected:
  PastTest() {
    auto store = open_sqlite_store({folder_.file("subak.db")});
    store_ = std::move(*store);
    EXPECT_FALSE(store_->commit(history().facts));
  }
  void start(DurationMs keep_ms = limits::kPastKeptMs) {
    past_ = std::make_unique<Past>(Past::Options{[] { return history().facts.size(); }, keep_ms});
    past_->start(*store_);
  }
  // The digest at the moment; an error's text.
  std::string ask(const Moment& moment, TimeMs* time_ms = nullptr) {
    std::promise<std::string> answer;
    PastRead read;
    read.moment = moment;
    read.then = [&](PastState& state) {
      if (time_ms != nullptr) *time_ms = state.time_ms();
      EXPECT_LE(state.order().order().size(), state.engine().count(JobState::kQueued));
      EXPECT_TRUE(state.starts().is_made());
      EXPECT_EQ(state.starts().forecast->seq(), state.engine().seq());
      answer.set_value(digest_text(state.engine().digest()));
    };
    read.failed = [&](const std::optional<Error>& error) {
      answer.set_value(error ? error->message() : "stopped");
    };
    EXPECT_EQ(past_->ask("ana", std::move(read)), Queued::kYes);
    return answer.get_future().get();
  }
  static std::string digest_text(const std::array<std::uint64_t, 2>& digest) {
    return std::to_string(digest[0]) + " " + std::to_string(digest[1]);
  }

  const TempFolder folder_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Past> past_;
};

TEST_F(PastTest, ShowsTheStateOfAMoment) {
  start();
  const std::uint64_t last = history().facts.size();
  for (const std::uint64_t seq : {last / 3, last / 2, last / 3, last}) {
    TimeMs time_ms = 0;
    EXPECT_EQ(ask(seq, &time_ms), digest_text(digest_at(seq)));
    EXPECT_EQ(time_ms, history().facts[seq - 1].time_ms);
  }
  TimeMs time_ms = 0;
  const TimeMs later = history().facts.back().time_ms + kHourMs;
  EXPECT_EQ(ask(MomentTime{later}, &time_ms), digest_text(digest_at(last)));
  EXPECT_EQ(time_ms, later);
  EXPECT_NE(ask(last + 1).find("want a fact from 1 to"), std::string::npos);
}

// A store of an older version has no past checkpoints. A read of the past makes those on its way,
// and the next one starts from them.
TEST_F(PastTest, ALongFoldFillsTheGaps) {
  constexpr std::uint64_t kN = limits::kPastCheckpointFacts;
  std::vector<Fact> facts = history().facts;
  const std::uint64_t real = facts.size();
  while (facts.size() < 2 * kN + 50'000) {  // nothing happens in the rest
    facts.push_back({facts.size() + 1, facts.back().time_ms, fact::TimeLeapt{}});
  }
  for (std::size_t at = real; at < facts.size(); at += 10'000) {
    const std::size_t count = std::min<std::size_t>(10'000, facts.size() - at);
    ASSERT_FALSE(store_->commit(std::span(facts).subspan(at, count)));
  }
  past_ = std::make_unique<Past>(Past::Options{[&] { return facts.size(); }, limits::kPastKeptMs});
  past_->start(*store_);
  Engine engine;
  for (const Fact& fact : facts) engine.evolve(fact);
  const std::uint64_t last = facts.size();
  EXPECT_EQ(ask(last), digest_text(engine.digest()));
  auto reader = std::move(*store_->open_reader());
  const auto kept = reader->past_checkpoints();
  ASSERT_TRUE(kept.ok());
  ASSERT_EQ(kept->size(), 2u);
  EXPECT_EQ(kept->front().seq, kN);
  EXPECT_EQ(kept->back().seq, 2 * kN);
  // Another fold reads only the facts after the past checkpoint.
  Fold fold(*reader);
  std::size_t parts = 0;
  ASSERT_TRUE(*fold.to(last, [&] { return ++parts > 0; }));
  EXPECT_EQ(parts, (last - 2 * kN + limits::kPastFactsAtOnce - 1) / limits::kPastFactsAtOnce);
  EXPECT_EQ(fold.engine().digest(), engine.digest());
  EXPECT_EQ(ask(real), digest_text(digest_at(real)));
  EXPECT_EQ(ask(last), digest_text(engine.digest()));
  EXPECT_EQ(reader->past_checkpoints()->size(), 2u) << "no gap is left";
}

// Prints how long random moments of a long history take. SUBAK_PAST_INPUTS sets its length (3000).
TEST_F(PastTest, RandomMomentsOfALongHistory) {
  const char* const text = std::getenv("SUBAK_PAST_INPUTS");
  const History all = random_history({91, false}, text == nullptr ? 3000 : std::atoi(text));
  auto store = open_sqlite_store({folder_.file("long.db")});
  for (std::size_t at = 0; at < all.facts.size(); at += 10'000) {
    const std::size_t count = std::min<std::size_t>(10'000, all.facts.size() - at);
    ASSERT_FALSE((*store)->commit(std::span(all.facts).subspan(at, count)));
  }
  Past past({[&] { return all.facts.size(); }, limits::kPastKeptMs});
  past.start(**store);
  std::mt19937_64 random(5);
  std::int64_t longest_ms = 0, all_ms = 0;
  const std::clock_t cpu = std::clock();
  constexpr int kMoments = 10;
  for (int i = 0; i < kMoments; ++i) {
    const std::uint64_t seq = i == 0 ? all.facts.size() : 1 + random() % all.facts.size();
    std::promise<std::uint64_t> shown;
    PastRead read{seq, [&](PastState& state) { shown.set_value(state.engine().seq()); },
                  [&](const std::optional<Error>&) { shown.set_value(0); }, nullptr};
    const std::int64_t began_ms = SystemClock().monotonic_ms();
    ASSERT_EQ(past.ask("ana", std::move(read)), Queued::kYes);
    EXPECT_EQ(shown.get_future().get(), seq);
    const std::int64_t ms = SystemClock().monotonic_ms() - began_ms;
    longest_ms = std::max(longest_ms, ms);
    all_ms += ms;
  }
  past.stop();
  std::printf(
      "%zu facts: the longest of %d moments took %lld ms, the mean %lld ms (%lld ms of CPU)\n",
      all.facts.size(), kMoments, static_cast<long long>(longest_ms),
      static_cast<long long>(all_ms / kMoments),
      static_cast<long long>((std::clock() - cpu) / (CLOCKS_PER_SEC / 1000) / kMoments));
}

TEST_F(PastTest, DropsAStateThatNobodyReads) {
  start(20);
  EXPECT_EQ(ask(std::uint64_t{10}), digest_text(digest_at(10)));
  for (int i = 0; i < 1000 && past_->keeps_state(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(past_->keeps_state());
  EXPECT_EQ(ask(std::uint64_t{11}), digest_text(digest_at(11)));
}

TEST_F(PastTest, RefusesBeyondItsBoundsAndFailsWaitingReadsAtTheStop) {
  start();
  std::promise<void> entered, leave;
  const std::shared_future<void> left = leave.get_future().share();
  std::atomic<std::size_t> stopped = 0;
  PastRead first{std::uint64_t{1}, [&](PastState&) { entered.set_value(), left.wait(); },
                 [](const std::optional<Error>&) {}, nullptr};
  ASSERT_EQ(past_->ask("ana", std::move(first)), Queued::kYes);
  entered.get_future().wait();
  const auto one = [&] {
    return PastRead{std::uint64_t{2}, [](PastState&) { FAIL() << "after the stop"; },
                    [&](const std::optional<Error>& error) { stopped += error ? 0 : 1; }, nullptr};
  };
  std::size_t queued = 0;
  while (past_->ask("ana", one()) == Queued::kYes) ++queued;
  EXPECT_EQ(queued, limits::kMaxPastReadsPerCaller - 1);  // and the one that is served
  while (past_->ask("bo" + std::to_string(queued), one()) == Queued::kYes) ++queued;
  EXPECT_EQ(queued, limits::kMaxPastReads);
  EXPECT_EQ(past_->ask("cy", one()), Queued::kFull);
  std::thread stop([&] { past_->stop(); });
  while (past_->ask("dee", one()) != Queued::kStopped) std::this_thread::yield();
  leave.set_value();
  stop.join();
  EXPECT_EQ(stopped, queued);
}

TEST_F(PastTest, DropsAReadThatNobodyWantsAnyMore) {
  start();
  std::promise<bool> failed;
  PastRead read{std::uint64_t{100}, [](PastState&) { FAIL() << "nobody wants it"; },
                [&](const std::optional<Error>& error) { failed.set_value(!error); },
                [] { return false; }};
  ASSERT_EQ(past_->ask("ana", std::move(read)), Queued::kYes);
  EXPECT_TRUE(failed.get_future().get());
}

}  // namespace
}  // namespace subak
