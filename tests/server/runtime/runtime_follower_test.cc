// Recovery and the follower on the real store:
// the state is the fold of the facts, wherever it is folded.
#include <atomic>
#include <filesystem>

#include "follower_fixture.h"

namespace subak {
namespace {

namespace fs = std::filesystem;
using Digest = std::array<std::uint64_t, 2>;

Digest digest_of(Store& store) {
  Engine engine;
  auto reader = std::move(*store.open_reader());
  EXPECT_TRUE(recover_engine(*reader, engine).ok());
  engine.check_invariants();
  return engine.digest();
}

// What the follower's engine says, once it has everything released so far.
template <class F>
auto ask(Follower& follower, F fn) {
  using T = decltype(fn(std::declval<const Engine&>()));
  std::promise<T> promise;
  EXPECT_TRUE(follower.read([&](const Engine& engine) { promise.set_value(fn(engine)); }));
  return promise.get_future().get();
}

Digest digest_of(Follower& follower) {
  return ask(follower, [](const Engine& engine) { return engine.digest(); });
}

class FollowerTest : public FollowerFixture {
 protected:
  FollowerTest() { runtime_options_.digest_every = 1; }

  // A few hours of jobs: submitted, reserved, bound, ended, held, cancelled, expired.
  void work(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      clock_.set_wall(clock_.wall_ms() + 10 * kMinuteMs);
      const JobId id = call(*runtime_, job(1 + i % 8)).job;
      if (i % 5 == 1) call(*runtime_, in::HoldJob{id, true, "wait"});
      if (i % 5 == 2) call(*runtime_, in::CancelJob{id, "no"});
      if (i % 5 >= 3) bind_and_end(id, i % 2 == 0);
    }
  }
  void bind_and_end(JobId id, bool end) {
    const auto row = ask(*follower_, [&](const Engine& engine) { return engine.job(id, true); });
    ASSERT_TRUE(row);
    if (row->state != JobState::kStarting) return;
    const std::string node = ask(*follower_, [&](const Engine& engine) {
      return engine.fleet().node(row->pods[0].slot.node)->name;
    });
    call(*runtime_, in::PodBound{"c", {"", id, 0}, node, 0});
    if (end) call(*runtime_, in::PodGone{"c", {"", id, 0}, 0, Cause::kFinished});
  }
};

TEST_F(FollowerTest, DigestsAgreeAfterEveryBatch) {
  start();
  build_world(*runtime_, 3);
  work(60);
  const Digest live = digest_of(*follower_);
  const FollowerStats stats = follower_->stats();
  EXPECT_EQ(stats.digests_different, 0u);
  EXPECT_GT(stats.digests_equal, 60u);
  EXPECT_EQ(live, digest_of(*store_));
}

TEST_F(FollowerTest, ReadsSeeWhatWasAnswered) {
  start();
  build_world(*runtime_, 1);
  for (int i = 0; i < 50; ++i) {
    const JobId id = call(*runtime_, job(1)).job;
    EXPECT_TRUE(ask(*follower_, [&](const Engine& e) { return e.job(id, false).has_value(); }));
  }
}

TEST_F(FollowerTest, RestartFromTailGivesTheSameState) {
  follower_options_.checkpoint_on_stop = false;
  start();
  build_world(*runtime_, 3);
  work(40);
  stop();
  const Digest before = digest_of(*store_);
  shut();
  open();
  EXPECT_EQ(digest_of(*store_), before);
  start();  // Restarted must leave a state that goes on
  work(20);
  EXPECT_EQ(digest_of(*follower_), digest_of(*store_));
  EXPECT_EQ(follower_->stats().digests_different, 0u);
}

TEST_F(FollowerTest, RestartFromCheckpointGivesTheSameState) {
  follower_options_.checkpoint_every = 50;
  start();
  build_world(*runtime_, 3);
  work(60);
  const Digest before = digest_of(*follower_);
  stop();
  EXPECT_GE(follower_->stats().checkpoints, 2u);  // on the way, and on stop
  shut();
  open();
  Engine engine;
  auto reader = std::move(*store_->open_reader());
  const auto recovered = recover_engine(*reader, engine);
  ASSERT_TRUE(recovered.ok());
  EXPECT_GT(recovered->checkpoint_facts, 0u);
  EXPECT_EQ(recovered->tail_facts, 0u);
  EXPECT_EQ(engine.digest(), before);
  start();
  work(10);
  EXPECT_EQ(follower_->stats().digests_different, 0u);
}

// A copy of the files taken while commits go on holds every answered call.
TEST_F(FollowerTest, CopyTakenMidRunRecovers) {
  follower_options_.checkpoint_every = 40;
  start();
  build_world(*runtime_, 2);
  for (int round = 0; round < 4; ++round) {
    work(10);
    const Digest live = digest_of(*follower_);
    const std::string copy = (dir_ / ("copy" + std::to_string(round))).string();
    fs::copy_file(path_, copy);
    fs::copy_file(path_ + "-wal", copy + "-wal");
    auto second = open_sqlite_store({copy});
    ASSERT_TRUE(second.ok()) << second.error().message();
    EXPECT_EQ(digest_of(**second), live);
  }
}

TEST_F(FollowerTest, TooSlowFollowerReadsTheStore) {
  follower_options_.most_queued_facts = 4;
  start();
  build_world(*runtime_, 3);  // more facts in one batch than may be queued
  work(30);
  EXPECT_GT(follower_->stats().caught_up_from_store, 0u);
  EXPECT_EQ(digest_of(*follower_), digest_of(*store_));
  EXPECT_EQ(follower_->stats().digests_different, 0u);
}

TEST(FollowerWithoutStore, DoesNotStart) {
  struct Failing final : Store {
    std::optional<Error> commit(std::span<const Fact>) override { return std::nullopt; }
    std::optional<Error> write_checkpoint(std::uint64_t, const PackedFacts&) override {
      return std::nullopt;
    }
    Result<std::unique_ptr<StoreReader>> open_reader() override {
      return Error{ErrorCode::kPrecondition, "store", "gone", "a disk"};
    }
    std::string describe() const override { return "failing"; }
  } failing;
  Follower follower({}, failing);
  EXPECT_TRUE(follower.start());
  EXPECT_FALSE(follower.read([](const Engine&) {}));
  EXPECT_EQ(follower.read_expensive("a", [](const Engine&) {}), Queued::kStopped);
}

// A disk that takes long over a checkpoint: the next one waits, reads do not.
TEST_F(FollowerTest, ReadsDoNotWaitForASlowCheckpoint) {
  struct Slow final : MemoryStore {
    std::optional<Error> write_checkpoint(std::uint64_t seq, const PackedFacts& facts) override {
      if (first) {
        first = false;
        begun.set_value();
        go_on.get_future().wait();
      }
      return MemoryStore::write_checkpoint(seq, facts);
    }
    bool first = true;
    std::promise<void> begun, go_on;
  } slow;
  FollowerOptions options;
  options.checkpoint_every = 1;
  options.checkpoint_on_stop = false;
  Follower follower(options, slow);
  ASSERT_FALSE(follower.start());
  const auto released = [&](std::uint64_t seq) {
    Released batch;
    batch.seq = seq;
    batch.facts =
        std::make_shared<const std::vector<Fact>>(1, Fact{seq, 1000, fact::EditRefused{}});
    return batch;
  };
  follower.durable(released(1));
  slow.begun.get_future().wait();
  for (std::uint64_t seq = 2; seq < 5; ++seq) {
    follower.durable(released(seq));
    EXPECT_EQ(ask(follower, [](const Engine& engine) { return engine.seq(); }), seq);
  }
  EXPECT_EQ(follower.stats().checkpoints, 0u);
  slow.go_on.set_value();
  follower.stop();
  EXPECT_GE(follower.stats().checkpoints, 1u);  // a second one may have become due meanwhile
}

// A follower that a dear read of "greedy" holds up until it is told to go on.
struct HeldUp {
  HeldUp() : follower(options(), memory) {
    EXPECT_FALSE(follower.start());
    EXPECT_EQ(follower.read_expensive("greedy",
                                      [this](const Engine&) {
                                        entered.set_value();
                                        go_on.get_future().wait();
                                      }),
              Queued::kYes);
    entered.get_future().wait();
  }
  static FollowerOptions options() {
    FollowerOptions out;
    out.checkpoint_on_stop = false;
    return out;
  }
  MemoryStore memory;
  std::promise<void> entered, go_on;
  Follower follower;
};

TEST(FollowerLanesTest, CheapReadsPassDearOnesAndCallersTakeTurns) {
  HeldUp held;
  std::string order;
  const auto note = [&order](char who) { return [&order, who](const Engine&) { order += who; }; };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(held.follower.read_expensive("greedy", note('g')), Queued::kYes);
  }
  EXPECT_EQ(held.follower.read_expensive("modest", note('m')), Queued::kYes);
  EXPECT_TRUE(held.follower.read(note('1')));
  EXPECT_TRUE(held.follower.read(note('2')));
  EXPECT_EQ(held.follower.stats().reads_waiting, 6u);
  held.go_on.set_value();
  held.follower.stop();
  EXPECT_EQ(order, "12gmgg");
}

// A queue too long to be ordered on the follower's thread.
std::vector<Fact> long_queue(std::uint64_t jobs) {
  Engine engine;
  std::vector<Fact> facts;
  const auto apply = [&](in::Body body) {
    Input input;
    input.time_ms = 1000;
    input.body = std::move(body);
    ApplyOutcome outcome = engine.apply(input);
    EXPECT_FALSE(outcome.reply.error);
    for (Fact& fact : outcome.facts) facts.push_back(std::move(fact));
  };
  in::SetCluster cluster;
  cluster.name = "c";
  cluster.mode = Mode::kEnforce;
  cluster.reason = "test";
  apply(cluster);
  for (const char* path : {"a", "b"}) {
    in::SetAccount account;
    account.spec.path = path;
    account.spec.shares = 1;
    account.reason = "test";
    apply(account);
  }
  for (std::uint64_t i = 0; i < jobs; ++i) {
    in::SubmitJob submit = job(1);
    submit.account = i % 3 == 0 ? "a" : "b";
    apply(submit);
  }
  return facts;
}

TEST(FollowerQueueTest, ALongQueueIsOrderedBesideOtherReads) {
  std::atomic<DurationMs> now = 0;
  FollowerOptions options = HeldUp::options();
  options.monotonic_ms = [&now] { return now.load(); };
  MemoryStore memory;
  Follower follower(options, memory);
  ASSERT_FALSE(follower.start());
  Released batch;
  batch.facts =
      std::make_shared<const std::vector<Fact>>(long_queue(limits::kQueueOrderedAtOnce + 1));
  batch.seq = batch.facts->back().seq;
  follower.durable(batch);
  using Order = std::vector<JobId>;
  const auto ask_order = [&] {
    auto told = std::make_shared<std::promise<Order>>();
    EXPECT_EQ(follower.read_queue(
                  "a", [told](const Engine&, const QueueSnapshot& snapshot,
                              const ForecastStarts&) { told->set_value(snapshot.order()); }),
              Queued::kYes);
    return told->get_future();
  };
  auto first = ask_order(), second = ask_order();
  const Order expected = ask(follower, [](const Engine& e) { return e.queue_snapshot().order(); });
  EXPECT_EQ(expected.size(), limits::kQueueOrderedAtOnce + 1);
  EXPECT_EQ(first.get(), expected);
  EXPECT_EQ(second.get(), expected);
  EXPECT_EQ(follower.stats().queue_snapshots, 1u);
  // What came since is not in a picture that is young enough.
  Released more;
  more.seq = batch.seq + 1;
  fact::AccountSet account;
  account.id = AccountId(9);
  account.spec.path = "c";
  account.revision = 1;
  more.facts = std::make_shared<const std::vector<Fact>>(1, Fact{more.seq, 1000, account});
  follower.durable(more);
  EXPECT_EQ(ask_order().get(), expected);
  EXPECT_EQ(follower.stats().queue_snapshots, 1u);
  now += limits::kQueueSnapshotMs;
  EXPECT_EQ(ask_order().get(), expected);
  EXPECT_EQ(follower.stats().queue_snapshots, 2u);
  auto last = ask_order();
  follower.stop();  // answers first
  EXPECT_EQ(last.get(), expected);
}

TEST(FollowerLanesTest, OneCallerHasNoMoreThanItsShareOfReads) {
  HeldUp held;
  const auto nothing = [](const Engine&) {};
  for (std::size_t i = 1; i < limits::kMaxReadsPerCaller; ++i) {
    ASSERT_EQ(held.follower.read_expensive("greedy", nothing), Queued::kYes);
  }
  EXPECT_EQ(held.follower.read_expensive("greedy", nothing), Queued::kCallerFull);
  EXPECT_EQ(held.follower.read_expensive("modest", nothing), Queued::kYes);
  for (std::size_t i = 0; i < limits::kMaxCheapReads; ++i) ASSERT_TRUE(held.follower.read(nothing));
  EXPECT_FALSE(held.follower.read(nothing));
  held.go_on.set_value();
  held.follower.stop();
  EXPECT_EQ(held.follower.read_expensive("modest", nothing), Queued::kStopped);
}

TEST(FairQueueTest, AFullQueueStillTakesOneOfEachCaller) {
  FairQueue<int> queue(3, 2);
  EXPECT_EQ(queue.push("a", 1), Queued::kYes);
  EXPECT_EQ(queue.push("a", 2), Queued::kYes);
  EXPECT_EQ(queue.push("a", 3), Queued::kCallerFull);
  EXPECT_EQ(queue.push("b", 4), Queued::kYes);
  EXPECT_EQ(queue.push("b", 5), Queued::kFull);
  EXPECT_EQ(queue.push("c", 6), Queued::kYes) << "it has nothing there yet";
  const auto first = queue.take();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->second, 1);
  EXPECT_EQ(queue.push("a", 7), Queued::kCallerFull) << "what was taken counts until it is done";
  queue.done("a");
  EXPECT_EQ(queue.take()->second, 4);
  EXPECT_EQ(queue.push("a", 8), Queued::kYes);
  EXPECT_EQ(queue.take()->second, 6);
  EXPECT_EQ(queue.take()->second, 2);
  EXPECT_EQ(queue.take()->second, 8);
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.take());
}

// A fact that cannot be read back ends the follower, loudly, and reads are refused from then on.
TEST_F(FollowerTest, DamagedStoreIsFatal) {
  MemoryStore memory;
  struct Damaged final : Store {
    explicit Damaged(MemoryStore& m) : memory(m) {}
    struct Reader final : FactsReader {
      Error error{ErrorCode::kPrecondition, "store.facts", "damaged", "a backup"};
      Result<Recovered> recover(FactSink&) override { return error; }
      Result<std::vector<Fact>> facts(std::uint64_t, std::size_t) override { return error; }
      Result<std::vector<LedgerEntry>> ledger(const LedgerQuery&) override { return error; }
      Result<std::vector<DailyUsage>> daily_usage(const LedgerQuery&) override { return error; }
      Result<std::vector<AuditEntry>> audit(const AuditQuery&) override { return error; }
    };
    std::optional<Error> commit(std::span<const Fact> facts) override {
      return memory.commit(facts);
    }
    std::optional<Error> write_checkpoint(std::uint64_t, const PackedFacts&) override {
      return std::nullopt;
    }
    Result<std::unique_ptr<StoreReader>> open_reader() override {
      return std::unique_ptr<StoreReader>(std::make_unique<Reader>());
    }
    std::string describe() const override { return "damaged"; }
    MemoryStore& memory;
  } damaged(memory);
  std::promise<Error> fatal;
  follower_options_.fatal = [&](const Error& error) { fatal.set_value(error); };
  Follower follower(follower_options_, damaged);
  ASSERT_FALSE(follower.start());
  EXPECT_EQ(fatal.get_future().get().got, "damaged");
  EXPECT_FALSE(follower.read([](const Engine&) {}));
  EXPECT_TRUE(follower.stats().failed);
}

}  // namespace
}  // namespace subak
