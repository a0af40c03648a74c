// The runtime on a fake clock and a store in memory: what is shown, when, and in which order.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "core/limits.h"
#include "runtime_fakes.h"
#include "server/runtime/runtime.h"

namespace subak {
namespace {

// An input that any state answers, with one EditRefused fact and no other change.
in::Body nothing() { return in::HoldJob{JobId(ClusterId(9), 9), true, "none"}; }

class RuntimeTest : public testing::Test {
 protected:
  Runtime& start() {
    runtime_ = std::make_unique<Runtime>(options_, store_, clock_);
    const auto recovered = runtime_->start();
    EXPECT_TRUE(recovered.ok());
    return *runtime_;
  }

  FakeClock clock_;
  MemoryStore store_;
  RuntimeOptions options_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(RuntimeTest, NothingIsShownBeforeItIsDurable) {
  Runtime& runtime = start();
  const auto before = runtime.view();
  store_.block();
  std::promise<Reply> promise;
  auto reply = promise.get_future();
  std::atomic<bool> replied{false};
  runtime.post(input(in::SetCluster{"c", Mode::kEnforce, {}, "test", false}), [&](const Reply& r) {
    replied = true;
    promise.set_value(r);
  });
  store_.await_commit();
  EXPECT_FALSE(replied);
  EXPECT_EQ(runtime.view(), before);
  EXPECT_TRUE(runtime.stats().has_work);
  store_.unblock();
  EXPECT_FALSE(reply.get().error);
  EXPECT_NE(runtime.view()->cluster("c"), nullptr);
}

TEST_F(RuntimeTest, OneBatchInFlightWhileTheNextFills) {
  Runtime& runtime = start();
  store_.block();
  std::vector<int> order;
  std::promise<void> last;
  runtime.post(input(nothing()), [&](const Reply&) { order.push_back(0); });
  store_.await_commit();
  for (int i = 1; i <= 10; ++i) {
    runtime.post(input(nothing()), [&, i](const Reply&) {
      order.push_back(i);
      if (i == 10) last.set_value();
    });
  }
  const std::size_t batches = store_.batches().size();
  store_.unblock();
  last.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  ASSERT_EQ(store_.batches().size(), batches + 2);
  EXPECT_EQ(store_.batches().back(), 10u);
}

TEST_F(RuntimeTest, FullMailboxRefusesAndWhatWasAcceptedIsAnswered) {
  Runtime& runtime = start();
  store_.block();
  std::atomic<std::size_t> answered{0};
  const auto done = [&](const Reply&) { ++answered; };
  std::size_t accepted = 0;
  while (accepted <= 2 * limits::kLoopMailbox && runtime.post(input(nothing()), done)) ++accepted;
  EXPECT_GE(accepted, limits::kLoopMailbox);
  EXPECT_LE(accepted, limits::kLoopMailbox + 2 * limits::kMaxBatchInputs);
  EXPECT_EQ(runtime.stats().refused, 1u);
  store_.unblock();
  runtime.stop();
  EXPECT_EQ(answered, accepted);
}

TEST_F(RuntimeTest, FailedCommitReleasesNothingAndEndsTheProcess) {
  std::promise<Error> fatal;
  options_.fatal = [&](const Error& error) { fatal.set_value(error); };
  Runtime& runtime = start();
  const auto before = runtime.view();
  store_.block();
  std::atomic<int> replies{0};
  const auto done = [&](const Reply&) { ++replies; };
  runtime.post(input(nothing()), done);
  store_.await_commit();
  runtime.post(input(nothing()), done);
  store_.unblock(/*failing=*/true);
  EXPECT_EQ(fatal.get_future().get().got, "disk full");
  EXPECT_FALSE(runtime.post(input(nothing()), done));
  EXPECT_TRUE(runtime.stats().failed);
  runtime.stop();
  EXPECT_EQ(replies, 0);
  EXPECT_EQ(runtime.view(), before);
}

TEST_F(RuntimeTest, StartFailsWhenTheFirstBatchCannotBeWritten) {
  options_.fatal = [](const Error&) {};
  store_.unblock(/*failing=*/true);
  runtime_ = std::make_unique<Runtime>(options_, store_, clock_);
  const auto recovered = runtime_->start();
  // Restarted of an empty store may have nothing to write; the first edit then fails.
  if (recovered.ok()) {
    EXPECT_TRUE(runtime_->post(input(nothing()), nullptr));
    runtime_->stop();
    EXPECT_TRUE(runtime_->stats().failed);
  }
}

TEST_F(RuntimeTest, GroupHasOneCompletionAndOneTransaction) {
  Runtime& runtime = start();
  build_world(runtime, 1);
  const std::size_t batches = store_.batches().size();
  std::promise<std::vector<Reply>> promise;
  runtime.post_many({input(job(8)), input(job(-1)), input(job(8))},
                    [&](const std::vector<Reply>& replies) { promise.set_value(replies); });
  const auto replies = promise.get_future().get();
  ASSERT_EQ(replies.size(), 3u);
  EXPECT_FALSE(replies[0].error);
  EXPECT_TRUE(replies[1].error);
  EXPECT_FALSE(replies[2].error);
  EXPECT_LT(replies[0].job, replies[2].job);
  EXPECT_EQ(store_.batches().size(), batches + 1);
}

TEST_F(RuntimeTest, RestartedIsTheFirstInputAndTimesNeverGoBack) {
  std::vector<std::string> inputs;
  options_.record = [&](const Input& i) {
    inputs.push_back(std::to_string(i.time_ms) + " " +
                     std::visit([](const auto& b) { return std::string(b.kName); }, i.body));
  };
  Runtime& runtime = start();
  clock_.set_wall(2'000'000);
  call(runtime, nothing());
  clock_.step_wall(1'900'000);
  call(runtime, nothing());
  EXPECT_EQ(runtime.stats().clock.offset_ms, -100'000);
  clock_.set_wall(2'000'001);
  call(runtime, nothing());
  EXPECT_EQ(runtime.stats().clock.offset_ms, 0);
  EXPECT_EQ(runtime.stats().clock.steps_refused, 0u);
  runtime.stop();
  std::erase_if(inputs,
                [](const std::string& s) { return s.ends_with("pass") || s.ends_with("tick"); });
  EXPECT_EQ(inputs, (std::vector<std::string>{"1000000 restarted", "2000000 hold_job",
                                              "2000000 hold_job", "2000001 hold_job"}));
}

TEST_F(RuntimeTest, TimeGoesOnWhereTheStoreEnded) {
  clock_.set_wall(5'000'000);
  call(start(), nothing());
  runtime_->stop();
  clock_.set_wall(4'000'000);
  Runtime& runtime = start();
  call(runtime, nothing());
  EXPECT_EQ(store_.facts().back().time_ms, 5'000'000);
}

// A jump of 400 days for a moment: nothing is stamped with it, and time goes on meanwhile.
TEST_F(RuntimeTest, AStepOfTheWallClockIsNotTaken) {
  Runtime& runtime = start();
  clock_.step_wall(1'000'000 + 400 * kDayMs);
  call(runtime, nothing());
  EXPECT_EQ(runtime.stats().clock.state, ClockState::kStepped);
  EXPECT_EQ(runtime.stats().clock.offset_ms, 400 * kDayMs);
  EXPECT_EQ(store_.facts().back().time_ms, 1'000'000);
  clock_.set_wall(1'003'000 + 400 * kDayMs);
  EXPECT_EQ(runtime.now_ms(), 1'003'000);
  call(runtime, nothing());
  EXPECT_EQ(store_.facts().back().time_ms, 1'003'000);
  clock_.step_wall(1'003'500);
  call(runtime, nothing());
  EXPECT_EQ(runtime.stats().clock.state, ClockState::kBelieved);
  EXPECT_EQ(runtime.stats().clock.steps_refused, 1u);
  EXPECT_EQ(store_.facts().back().time_ms, 1'003'500);
}

// What is accepted is in force for the inputs behind it, and after a restart.
TEST_F(RuntimeTest, AnAcceptedClockIsBelieved) {
  Runtime& runtime = start();
  call(runtime, nothing());
  EXPECT_EQ(call(runtime, in::AcceptClock{0, false, "test", false}).error->code,
            ErrorCode::kPrecondition);
  const TimeMs ahead = 1'000'000 + 400 * kDayMs;
  clock_.step_wall(ahead);
  call(runtime, nothing());
  EXPECT_EQ(call(runtime, in::AcceptClock{0, false, "test", true}).revision, ahead);
  EXPECT_EQ(runtime.stats().clock.state, ClockState::kStepped);
  std::promise<std::vector<Reply>> promise;
  runtime.post_many({input(in::AcceptClock{0, false, "it is right", false}, "c1"), input(nothing()),
                     input(in::AcceptClock{0, false, "it is right", false}, "c2")},
                    [&](const std::vector<Reply>& replies) { promise.set_value(replies); });
  const auto replies = promise.get_future().get();
  EXPECT_EQ(replies[0].revision, ahead);
  EXPECT_EQ(replies[2].error->code, ErrorCode::kPrecondition) << "it is believed by then";
  EXPECT_EQ(runtime.stats().clock.state, ClockState::kBelieved);
  EXPECT_EQ(runtime.stats().clock.offset_ms, 0);
  EXPECT_EQ(store_.facts().back().time_ms, ahead);
  const auto facts = store_.facts();
  const auto accepted = std::find_if(facts.begin(), facts.end(), [](const Fact& fact) {
    return std::holds_alternative<fact::ClockAccepted>(fact.body);
  });
  ASSERT_NE(accepted, facts.end());
  EXPECT_EQ(std::get<fact::ClockAccepted>(accepted->body).before_ms, 1'000'000);
  EXPECT_EQ(std::get<fact::ClockAccepted>(accepted->body).after_ms, ahead);
  runtime.stop();
  EXPECT_EQ(start().stats().clock.state, ClockState::kBelieved);
}

// Right after the acceptance, with no fact later than it.
TEST_F(RuntimeTest, AnAcceptedClockIsBelievedAfterARestartAtOnce) {
  call(start(), nothing());
  runtime_->stop();
  clock_.set_wall(1'000'000 + 31 * kDayMs);
  Runtime& runtime = start();
  EXPECT_EQ(runtime.stats().clock.state, ClockState::kWaits);
  EXPECT_EQ(runtime.now_ms(), 1'000'000);
  EXPECT_FALSE(call(runtime, in::AcceptClock{0, false, "a long rest", false}).error);
  runtime.stop();
  EXPECT_EQ(start().stats().clock.state, ClockState::kBelieved);
}

TEST_F(RuntimeTest, PassesAreOursOnlyWhenAsked) {
  options_.auto_pass = false;
  Runtime& runtime = start();
  build_world(runtime, 1);
  call(runtime, job(8));
  EXPECT_EQ(runtime.view()->count(JobState::kQueued), 1u);
  call(runtime, in::Pass{});
  EXPECT_EQ(runtime.view()->count(JobState::kQueued), 0u);
  EXPECT_EQ(runtime.view()->count(JobState::kStarting), 1u);
}

// A reply without facts says that the facts so far are all there are: who does not own the store any
// more cannot know.
TEST_F(RuntimeTest, NothingIsShownWithoutFactsOnceTheStoreIsAnothers) {
  std::promise<void> ended;
  options_.fatal = [&](const Error& error) {
    EXPECT_EQ(error.got, "another's now");
    ended.set_value();
  };
  Runtime& runtime = start();
  call(runtime, in::SetCluster{"c", Mode::kEnforce, {}, "test", false});
  const in::Body again = in::SetCluster{"c", Mode::kEnforce, {}, "test", false};
  EXPECT_FALSE(call(runtime, again).error);  // as it is: no fact
  store_.lose_ownership();
  bool replied = false;
  ASSERT_TRUE(runtime.post(input(again), [&](const Reply&) { replied = true; }));
  ended.get_future().wait();
  runtime.stop();
  EXPECT_FALSE(replied);
}

// The store said that it is ours, and then the process slept: it asks again before it shows anything.
TEST_F(RuntimeTest, NothingIsShownOnAWordOfTheStoreThatIsTooOld) {
  options_.stepped = true;
  std::string why;
  options_.fatal = [&](const Error& error) { why = error.got; };
  Runtime& runtime = start();
  const auto step = [&] { runtime.turn(), runtime.commit(); };
  const in::Body set = in::SetCluster{"c", Mode::kEnforce, {}, "test", false};
  ASSERT_TRUE(runtime.post(input(set), nullptr));
  for (int i = 0; i < 3; ++i) step();
  int replies = 0;
  const auto ask = [&] { return runtime.post(input(set), [&](const Reply&) { ++replies; }); };
  ASSERT_TRUE(ask());  // as it is: no fact
  store_.own_until(clock_.boot_ms() + 1);
  step();
  clock_.set_wall(clock_.wall_ms() + 2);
  runtime.turn();
  EXPECT_EQ(replies, 0);
  store_.own_until(clock_.boot_ms() + 1);
  runtime.commit();
  runtime.turn();
  EXPECT_EQ(replies, 1) << "it is still ours";

  in::SetAccount account;
  account.spec.path = "ml";
  ASSERT_TRUE(runtime.post(input(account), [&](const Reply&) { ++replies; }));
  step();
  const std::size_t batches = store_.batches().size();
  clock_.set_wall(clock_.wall_ms() + 2);
  runtime.turn();
  EXPECT_EQ(replies, 1) << "its effects could be long past";
  store_.own_until(clock_.boot_ms() + 1);
  runtime.commit();
  runtime.turn();
  EXPECT_EQ(replies, 2);
  EXPECT_EQ(store_.batches().size(), batches) << "what is durable is not committed again";

  ASSERT_TRUE(ask());
  step();
  clock_.set_wall(clock_.wall_ms() + 2);
  store_.lose_ownership();
  for (int i = 0; i < 3; ++i) step();
  EXPECT_EQ(replies, 2);
  EXPECT_EQ(why, "another's now");
}

// The store was away for longer than a hold; the word that the pod was bound waited all the while.
TEST_F(RuntimeTest, AWordThatWaitsComesBeforeTheTick) {
  std::size_t ended = 0;
  options_.stepped = true;
  options_.on_durable = [&](const Released& batch) {
    for (const Fact& fact : *batch.facts) {
      ended += std::holds_alternative<fact::AttemptEnded>(fact.body) ? 1 : 0;
    }
  };
  Runtime& runtime = start();
  const auto post = [&](in::Body body) {
    ASSERT_TRUE(runtime.post(input(std::move(body)), nullptr));
    for (int i = 0; i < 3; ++i) {
      runtime.turn();
      runtime.commit();
    }
  };
  NodeSpec node;
  node.name = "n0";
  node.product = "H100";
  node.gpus = 8;
  in::SetAccount account;
  account.spec.path = "ml";
  post(in::SetCluster{"c", Mode::kEnforce, {}, "test", false});
  post(in::ImportNodes{"c", {node}, "test", false});
  post(account);
  post(job(8));
  ASSERT_EQ(runtime.view()->count(JobState::kStarting), 1u);
  PodRef pod;
  pod.job = JobId(ClusterId(1), 1);
  clock_.set_wall(clock_.wall_ms() + Policy{}.hold_ms + 1);
  post(in::PodBound{"c", pod, "n0", 0});
  EXPECT_EQ(ended, 0u);
  EXPECT_EQ(runtime.view()->count(JobState::kRunning), 1u);
}

TEST_F(RuntimeTest, DeadlineOfAHoldIsMetByATick) {
  std::promise<void> released;
  options_.on_durable = [&](const Released& batch) {
    for (const Fact& fact : *batch.facts) {
      if (std::holds_alternative<fact::AttemptEnded>(fact.body)) released.set_value();
    }
  };
  Runtime& runtime = start();
  build_world(runtime, 1);
  call(runtime, job(8));
  clock_.set_wall(clock_.wall_ms() + Policy{}.hold_ms + 1);
  runtime.nudge();
  released.get_future().wait();
  runtime.stop();
}

// Waits for effects of one stream.
class Inbox {
 public:
  std::function<void()> wake() {
    return [this] {
      const std::lock_guard lock(mutex_);
      ++wakes_;
      woken_.notify_all();
    };
  }
  std::vector<Effect> await(EffectStream& stream, std::size_t count) {
    std::vector<Effect> got;
    while (got.size() < count) {
      {
        std::unique_lock lock(mutex_);
        woken_.wait(lock, [&] { return wakes_ > seen_; });
        seen_ = wakes_;
      }
      for (Effect& effect : stream.take()) got.push_back(std::move(effect));
    }
    return got;
  }

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  int wakes_ = 0;
  int seen_ = 0;
};

TEST_F(RuntimeTest, SubscriberGetsWhatIsOutstandingThenWhatIsNew) {
  Runtime& runtime = start();
  build_world(runtime, 2);
  const JobId first = call(runtime, job(8)).job;
  const ClusterId cluster = runtime.view()->cluster("c")->id;
  Inbox inbox;
  const auto stream = runtime.subscribe(cluster, inbox.wake());
  ASSERT_NE(stream, nullptr);
  const auto outstanding = inbox.await(*stream, 1);
  ASSERT_EQ(outstanding.size(), 1u);
  EXPECT_EQ(outstanding[0].kind, EffectKind::kOpenGate);
  EXPECT_EQ(outstanding[0].job, first);
  const JobId second = call(runtime, job(8)).job;
  const auto fresh = inbox.await(*stream, 1);
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh[0].job, second);
  runtime.stop();
  EXPECT_EQ(stream->state(), EffectStream::State::kStopped);
  EXPECT_EQ(runtime.subscribe(cluster, nullptr), nullptr);
}

TEST_F(RuntimeTest, EffectsWaitForTheirBatch) {
  Runtime& runtime = start();
  build_world(runtime, 1);
  Inbox inbox;
  const auto stream = runtime.subscribe(runtime.view()->cluster("c")->id, inbox.wake());
  call(runtime, nothing());  // the subscription is in place
  store_.block();
  runtime.post(input(job(8)), nullptr);
  store_.await_commit();
  EXPECT_TRUE(stream->take().empty());
  store_.unblock();
  EXPECT_EQ(inbox.await(*stream, 1).size(), 1u);
  stream->cancel();  // the inbox goes before the runtime does
}

TEST_F(RuntimeTest, StopAnswersWhatWasAcceptedAndRefusesTheRest) {
  Runtime& runtime = start();
  std::atomic<int> answered{0};
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(runtime.post(input(nothing()), [&](const Reply&) { ++answered; }));
  }
  runtime.stop();
  EXPECT_EQ(answered, 5000);
  EXPECT_FALSE(runtime.post(input(nothing()), nullptr));
  EXPECT_EQ(store_.facts().back().seq, store_.facts().size());
  EXPECT_FALSE(runtime.stats().has_work);
  runtime.stop();
}

// Many threads at once: every accepted post is answered once, in each thread's own order.
TEST_F(RuntimeTest, ManyThreadsPostReadAndSubscribe) {
  options_.digest_every = 3;
  Runtime& runtime = start();
  build_world(runtime, 4);
  constexpr int kThreads = 4;
  constexpr int kPosts = 300;
  std::array<std::vector<int>, kThreads> answers;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto stream = runtime.subscribe(ClusterId(1), [] {});
      for (int i = 0; i < kPosts; ++i) {
        auto& mine = answers[static_cast<std::size_t>(t)];
        runtime.post(i % 7 == 0 ? input(job(1)) : input(nothing()),
                     [&mine, i](const Reply&) { mine.push_back(i); });
        if (i % 50 == 0) stream->take();
        if (runtime.view()->seq > 0 && runtime.stats().failed) return;
      }
      stream->cancel();
    });
  }
  for (std::thread& thread : threads) thread.join();
  runtime.stop();
  for (const auto& mine : answers) {
    ASSERT_EQ(mine.size(), static_cast<std::size_t>(kPosts));
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
  }
  std::uint64_t seq = 0;
  for (const Fact& fact : store_.facts()) EXPECT_EQ(fact.seq, ++seq);
}

TEST(EffectStreamTest, ClosesWhenTheReaderIsTooSlow) {
  int wakes = 0;
  EffectStream stream([&] { ++wakes; });
  const std::vector<Effect> many(limits::kMaxEffectBacklog + 1);
  EXPECT_TRUE(stream.push(many));  // what is outstanding may be more than the bound
  EXPECT_EQ(wakes, 1);
  EXPECT_FALSE(stream.push(std::vector<Effect>(1)));
  EXPECT_EQ(stream.state(), EffectStream::State::kOverflowed);
  EXPECT_EQ(wakes, 2);
  EXPECT_EQ(stream.take().size(), many.size());
  EXPECT_FALSE(stream.push(std::vector<Effect>(1)));
}

TEST(EffectStreamTest, CancelledStreamIsQuiet) {
  int wakes = 0;
  EffectStream stream([&] { ++wakes; });
  stream.cancel();
  EXPECT_FALSE(stream.push(std::vector<Effect>(1)));
  stream.stop();
  EXPECT_EQ(wakes, 0);
  EXPECT_EQ(stream.state(), EffectStream::State::kCancelled);
}

}  // namespace
}  // namespace subak
