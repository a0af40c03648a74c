// The database as a store: who leads, and what becomes of a commit whose answer is lost.
// SUBAK_PG_KILLS sets how often the server is killed (20).
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <random>
#include <thread>

#include "core/limits.h"
#include "server/runtime/clock/clock.h"
#include "server/store/postgres/postgres_store.h"
#include "tests/server/store/support/pack_facts.h"
#include "tests/server/store/support/pg_cluster.h"
#include "tests/server/store/support/pg_proxy.h"
#include "tests/server/store/support/store_facts.h"

namespace subak {
namespace {

using namespace std::chrono_literals;

// Goes with the real one, and further when told to.
class ForecastRun final : public Clock {
 public:
  TimeMs wall_ms() const override { return real_.wall_ms(); }
  std::int64_t monotonic_us() const override { return real_.monotonic_us() + ahead_us; }
  std::atomic<std::int64_t> ahead_us{0};

 private:
  SystemClock real_;
};

class PostgresStoreTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = std::make_unique<PgCluster>(); }
  static void TearDownTestSuite() { cluster_ = nullptr; }

  std::unique_ptr<Store> open(const std::string& holder = "a") { return open_at(address_, holder); }
  // Takes the lead from whoever has it.
  std::unique_ptr<Store> open_at(const std::string& address, const std::string& holder) {
    PostgresOptions options{address, &clock_, holder};
    options.take_lead = true;
    auto store = open_postgres_store(options);
    EXPECT_TRUE(store.ok()) << store.error().message();
    return store.ok() ? std::move(*store) : nullptr;
  }
  std::string open_error() {
    const auto store = open_postgres_store({address_, &clock_, "a"});
    return store.ok() ? "" : store.error().message();
  }
  static std::string word_of(const std::optional<Error>& error) {
    return error ? error->message() : "";
  }
  static std::vector<Fact> batch(std::uint64_t first, std::uint64_t count = 3) {
    std::vector<Fact> out;
    for (std::uint64_t seq = first; seq < first + count; ++seq) {
      const auto end = static_cast<TimeMs>(seq * 10);
      out.push_back(seq % 2 == 0 ? charged(seq, 0, end) : account_set(seq, 2, "ml", 1, "ana"));
    }
    return out;
  }
  // How many facts there are, each once and in order, with their rows.
  static std::uint64_t facts_of(Store& store) {
    Texts got;
    auto reader = store.open_reader();
    if (!reader.ok()) return 0;
    const auto recovered = (*reader)->recover(got);
    EXPECT_TRUE(recovered.ok()) << recovered.error().message();
    LedgerQuery rows;
    AuditQuery edits;
    rows.most = edits.most = 1'000'000;
    EXPECT_EQ((*reader)->ledger(rows)->size(), got.tail.size() / 2);
    EXPECT_EQ((*reader)->audit(edits)->size(), (got.tail.size() + 1) / 2);
    return got.tail.size();
  }
  void sql(const std::string& statement) const { cluster_->sql(address_, statement); }

  static std::unique_ptr<PgCluster> cluster_;
  ForecastRun clock_;
  std::string address_ = cluster_->make_database();
};
std::unique_ptr<PgCluster> PostgresStoreTest::cluster_;

TEST_F(PostgresStoreTest, WhoTakesTheLeadHasItAndTheOneBeforeNoLonger) {
  auto first = open("first host");
  ASSERT_FALSE(first->commit(batch(1)));
  auto second = open("second host");
  EXPECT_FALSE(first->check_owned()) << "it was confirmed a moment ago";
  clock_.ahead_us += 3'000'000;
  EXPECT_NE(word_of(first->check_owned()).find("second host"), std::string::npos);
  EXPECT_NE(word_of(first->commit(batch(4))).find("second host"), std::string::npos);
  EXPECT_TRUE(first->write_checkpoint(3, pack({account_set(0, 2, "ml", 1, "")})));
  EXPECT_TRUE(first->write_calibration("old"));
  ASSERT_FALSE(second->commit(batch(4)));
  EXPECT_FALSE(second->check_owned());
  EXPECT_EQ(*second->read_calibration(), "");
  EXPECT_EQ(facts_of(*second), 6u);
}

// It has nothing to commit, so that would not say it.
TEST_F(PostgresStoreTest, AnIdleLeaderIsToldThatAnotherLeads) {
  std::promise<Error> lost;
  PostgresOptions options{address_, &clock_, "first"};
  options.on_lost = [&](const Error& error) { lost.set_value(error); };
  auto first = open_postgres_store(options);
  ASSERT_TRUE(first.ok()) << first.error().message();
  const auto second = open("second host");
  EXPECT_NE(lost.get_future().get().message().find("second host"), std::string::npos);
}

TEST_F(PostgresStoreTest, OthersWaitUntilTheLeadIsGivenUp) {
  auto first = open("first");
  PostgresOptions options{address_, &clock_, "second"};
  std::atomic<bool> stop{false};
  options.stop = [&] { return stop.load(); };
  const auto wait = [&] {
    return std::async(std::launch::async, [&] { return open_postgres_store(options); });
  };
  auto stopped = wait();
  EXPECT_EQ(stopped.wait_for(300ms), std::future_status::timeout);
  stop = true;
  const auto none = stopped.get();
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("while first"), std::string::npos);
  stop = false;
  auto second = wait();
  EXPECT_EQ(second.wait_for(4s), std::future_status::timeout) << "it lives";
  EXPECT_FALSE(first->commit(batch(1)));
  first = nullptr;
  auto store = second.get();
  ASSERT_TRUE(store.ok()) << store.error().message();
  EXPECT_FALSE((*store)->commit(batch(4)));
  EXPECT_EQ(facts_of(**store), 6u);
}

// A leader that stops gives the lead up before it writes its last checkpoint.
TEST_F(PostgresStoreTest, ACheckpointAfterTheLeadIsGivenUpIsRefusedOnceAnotherLeads) {
  const PackedFacts state = pack({account_set(0, 2, "ml", 1, "")});
  auto opened = open_shared_store({address_, &clock_, "first"});
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  const std::unique_ptr<SharedStore> first = std::move(*opened);
  ASSERT_TRUE(*first->try_lead());
  ASSERT_FALSE(first->commit(batch(1)));
  first->give_up_lead();
  EXPECT_EQ(word_of(first->write_checkpoint(3, state)), "");
  auto second = open("second");
  ASSERT_FALSE(second->commit(batch(4)));
  EXPECT_NE(word_of(first->write_checkpoint(6, state)).find("another process leads"),
            std::string::npos);
  first->give_up_lead();  // not what another has
  EXPECT_FALSE(second->commit(batch(7)));
  EXPECT_FALSE(second->check_owned());
}

// The line breaks while it waits to raise the epoch: what became of that is not known. It looks again.
TEST_F(PostgresStoreTest, WhoDoesNotKnowWhetherItLeadsLooksAgain) {
  open("first")->commit(batch(1));
  PgProxy proxy(cluster_->folder());
  PgSession other(address_);
  other.run("BEGIN");
  other.run("SELECT epoch FROM lead FOR UPDATE");
  const PostgresOptions options{cluster_->uri_by(proxy.folder(), address_), &clock_, "second"};
  auto opened = std::async(std::launch::async, [&] { return open_postgres_store(options); });
  PgSession looker(cluster_->uri("postgres"));
  while (looker.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") ==
         0) {
    std::this_thread::sleep_for(1ms);
  }
  proxy.drop();
  other.run("COMMIT");
  const auto store = opened.get();
  ASSERT_TRUE(store.ok()) << store.error().message();
  EXPECT_FALSE((*store)->commit(batch(4)));
  EXPECT_EQ(facts_of(**store), 6u);
}

// What replicas know of each other, beside the facts.
TEST_F(PostgresStoreTest, WhoWaitsSeesWhoLeadsAndWhere) {
  PostgresOptions options{address_, &clock_, "first host"};
  options.advertise = "gpu-7:9444";
  auto first = open_shared_store(options);
  ASSERT_TRUE(first.ok()) << first.error().message();
  EXPECT_FALSE((*first)->leads());
  ASSERT_TRUE(*(*first)->try_lead());
  auto second = open_shared_store({address_, &clock_, "second host"});
  ASSERT_TRUE(second.ok()) << second.error().message();
  EXPECT_FALSE(*(*second)->try_lead());
  EXPECT_FALSE((*second)->leads());
  for (const auto* store : {first->get(), second->get()}) {
    EXPECT_EQ(store->lead().epoch, 1);
    EXPECT_EQ(store->lead().holder, "first host");
    EXPECT_EQ(store->lead().address, "gpu-7:9444");
  }
  EXPECT_TRUE((*second)->lead().known_as.empty());
  const KnownAs known_as{{"east", "system:serviceaccount:subak-system:subak"}, {"west", "a\\b c"}};
  (*first)->tell(known_as);
  while ((*second)->lead().known_as != known_as) {
    EXPECT_FALSE(*(*second)->try_lead());
    std::this_thread::sleep_for(5ms);
  }
  *first = nullptr;
  clock_.ahead_us += limits::kHeartbeatMs * 1000;  // it has watched for long enough
  EXPECT_TRUE(*(*second)->try_lead());
  EXPECT_EQ((*second)->lead().holder, "second host");
  EXPECT_EQ((*second)->lead().epoch, 2);
  EXPECT_FALSE((*second)->commit(batch(1)));
}

TEST_F(PostgresStoreTest, LooksAndSignsOfLifeSayWhatTheDatabasesClockShows) {
  std::atomic<int> samples{0};
  PostgresOptions options{address_, &clock_, "first"};
  options.on_time = [&](const ClockSample& sample) {
    EXPECT_LE(sample.began_ms, sample.ended_ms);
    EXPECT_NEAR(static_cast<double>(sample.wall_ms - clock_.wall_ms()), 0, 5000);
    ++samples;
  };
  auto store = open_postgres_store(options);
  ASSERT_TRUE(store.ok()) << store.error().message();
  EXPECT_GT(samples, 0) << "it knows the time before it leads";
  for (const int looks = samples; samples < looks + 2;) std::this_thread::sleep_for(5ms);
}

// As it was before the leader had an address.
TEST_F(PostgresStoreTest, TheRowsOfALeadOfBeforeAreMended) {
  open("first");
  sql("ALTER TABLE lead DROP COLUMN address");
  sql("ALTER TABLE beat DROP COLUMN said");
  auto second = open_shared_store({address_, &clock_, "second"});
  ASSERT_TRUE(second.ok()) << second.error().message();
  EXPECT_FALSE(*(*second)->try_lead()) << "others may know the state";
  clock_.ahead_us += limits::kHeartbeatMs * 1000;
  EXPECT_TRUE(*(*second)->try_lead());
  EXPECT_EQ((*second)->lead().address, "");
}

TEST_F(PostgresStoreTest, ItIsKnownHowLongACommitWaits) {
  PgProxy proxy(cluster_->folder());
  auto store = open_at(cluster_->uri_by(proxy.folder(), address_), "a");
  EXPECT_EQ(store->waiting_ms(), 0);
  proxy.hold_answers(true);
  auto commit = std::async(std::launch::async, [&] { return store->commit(batch(1)); });
  while (proxy.held_answers() == 0) std::this_thread::sleep_for(1ms);
  const DurationMs at_first = store->waiting_ms();
  EXPECT_GT(at_first, 0);
  clock_.ahead_us += 90'000'000;
  EXPECT_GE(store->waiting_ms(), 90'000);
  proxy.cut();
  proxy.hold_answers(false);
  EXPECT_EQ(word_of(commit.get()), "") << "a minute and a half is no reason to give up";
  EXPECT_EQ(store->waiting_ms(), 0);
}

// Its line is cut for good, so it shows no sign of life; another leads, and it finds that out.
TEST_F(PostgresStoreTest, WhoShowsNoSignOfLifeLeadsNoLonger) {
  PgProxy proxy(cluster_->folder());
  auto first = open_at(cluster_->uri_by(proxy.folder(), address_), "first");
  ASSERT_FALSE(first->commit(batch(1)));
  proxy.hold_requests(true);
  auto second = open_postgres_store({address_, &clock_, "second"});
  ASSERT_TRUE(second.ok()) << second.error().message();
  EXPECT_FALSE((*second)->commit(batch(4)));
  proxy.cut();
  proxy.hold_requests(false);
  EXPECT_NE(word_of(first->commit(batch(4))).find("second"), std::string::npos);
  EXPECT_EQ(facts_of(**second), 6u);
}

// A leader that has stopped in the middle of a message keeps the row locked.
TEST_F(PostgresStoreTest, ALeaderThatStoppedInTheMiddleIsEnded) {
  PgProxy proxy(cluster_->folder());
  auto first = open_at(cluster_->uri_by(proxy.folder(), address_), "first");
  ASSERT_FALSE(first->commit(batch(1)));
  // Its backend as it is between two messages of a transaction.
  std::atomic<bool> locked{false}, done{false};
  std::thread stopped([&] {
    PgSession session(address_);
    session.run("BEGIN");
    session.run("UPDATE lead SET backend = pg_backend_pid()");
    session.run("COMMIT");
    session.run("BEGIN");
    session.run("SELECT epoch FROM lead FOR SHARE");
    locked = true;
    while (!done) std::this_thread::sleep_for(5ms);
  });
  while (!locked) std::this_thread::sleep_for(5ms);
  auto second = open("second");
  done = true;
  stopped.join();
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->commit(batch(4)));
  EXPECT_TRUE(first->commit(batch(4)));
  EXPECT_EQ(facts_of(*second), 6u);
}

// The answer never comes: the facts are there, and are found there.
TEST_F(PostgresStoreTest, ACommitWhoseAnswerIsLostIsFoundThere) {
  PgProxy proxy(cluster_->folder());
  auto store = open_at(cluster_->uri_by(proxy.folder(), address_), "a");
  ASSERT_FALSE(store->commit(batch(1)));
  proxy.hold_answers(true);
  auto commit = std::async(std::launch::async, [&] { return store->commit(batch(4)); });
  while (proxy.held_answers() == 0) std::this_thread::sleep_for(1ms);
  proxy.hold_answers(false);
  proxy.cut();  // before what was held is sent, or after: both must do
  EXPECT_EQ(word_of(commit.get()), "");
  EXPECT_EQ(facts_of(*store), 6u);
  EXPECT_FALSE(store->commit(batch(7)));
}

// The batch is still on its way when the line is cut. It may reach the server before its writer has raised the epoch,
// and is found there; or after, and is refused, as it was committed again or will be.
TEST_F(PostgresStoreTest, ABatchThatComesLateIsThereOnce) {
  for (const char* const before : {"UPDATE lead", "SELECT seq, sum, ledger", "INSERT INTO facts"}) {
    SCOPED_TRACE(before);
    address_ = cluster_->make_database();
    PgProxy proxy(cluster_->folder());
    auto store = open_at(cluster_->uri_by(proxy.folder(), address_), "a");
    ASSERT_FALSE(store->commit(batch(1)));
    proxy.hold_requests(true);
    auto commit = std::async(std::launch::async, [&] { return store->commit(batch(4, 1)); });
    while (proxy.held_requests() == 0) std::this_thread::sleep_for(1ms);
    proxy.deliver_late_before(before);
    proxy.cut();
    proxy.hold_requests(false);
    ASSERT_EQ(word_of(commit.get()), "");
    EXPECT_EQ(facts_of(*store), 4u);
    EXPECT_FALSE(store->commit(batch(5)));
    EXPECT_EQ(facts_of(*store), 7u);
  }
}

// Nobody waits for the standby any more, so the commit may be lost with this machine: it is not acknowledged.
TEST_F(PostgresStoreTest, AWarningBesideSuccessIsNoSuccess) {
  auto store = open();
  ASSERT_FALSE(store->commit(batch(1)));
  cluster_->sql(cluster_->uri("postgres"), "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  cluster_->sql(cluster_->uri("postgres"), "SELECT pg_reload_conf()");
  PgSession session(address_);
  const auto wait_for = [&](long sessions) {
    while (session.number("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") <
           sessions) {
      std::this_thread::sleep_for(5ms);
    }
  };
  wait_for(1);  // a sign of life: by now every session knows of the standby
  auto commit = std::async(std::launch::async, [&] { return store->commit(batch(4)); });
  wait_for(2);
  session.run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  EXPECT_EQ(commit.wait_for(500ms), std::future_status::timeout);
  cluster_->sql(cluster_->uri("postgres"), "ALTER SYSTEM RESET synchronous_standby_names");
  cluster_->sql(cluster_->uri("postgres"), "SELECT pg_reload_conf()");
  EXPECT_EQ(word_of(commit.get()), "");
  EXPECT_EQ(facts_of(*store), 6u);
}

// The server dies at any instant and comes back. Each commit is acknowledged once, and is there once.
TEST_F(PostgresStoreTest, KilledInTheMiddleOfCommitsNothingIsLostOrTwice) {
  const char* const text = std::getenv("SUBAK_PG_KILLS");
  const int kills = text ? std::atoi(text) : 20;
  auto store = open();
  std::atomic<std::uint64_t> acknowledged{0};
  std::atomic<bool> end{false};
  std::string error;
  std::thread writer([&] {
    for (std::uint64_t next = 1; !end; next += 3) {
      error = word_of(store->commit(batch(next)));
      if (!error.empty()) return;
      acknowledged = next + 2;
    }
  });
  std::mt19937 random(7);
  for (int i = 0; i < kills; ++i) {
    const std::uint64_t before = acknowledged;
    while (acknowledged == before && error.empty()) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    cluster_->kill();
    cluster_->start();
  }
  end = true;
  writer.join();
  EXPECT_EQ(error, "");
  EXPECT_GT(acknowledged, static_cast<std::uint64_t>(kills));
  EXPECT_EQ(facts_of(*store), acknowledged);
  store = nullptr;
  store = open();
  EXPECT_EQ(facts_of(*store), acknowledged);
}

TEST_F(PostgresStoreTest, ARestartOfTheServerIsOvercome) {
  auto store = open();
  ASSERT_FALSE(store->commit(batch(1)));
  auto reader = std::move(*store->open_reader());
  cluster_->restart();
  EXPECT_EQ(word_of(store->commit(batch(4))), "");
  clock_.ahead_us += 3'000'000;
  EXPECT_EQ(word_of(store->check_owned()), "");
  EXPECT_EQ(reader->facts(0, 100)->size(), 6u) << "a reader connects again";
  EXPECT_EQ(word_of(store->write_checkpoint(6, pack({account_set(0, 2, "ml", 1, "")}))), "");
}

TEST_F(PostgresStoreTest, WithoutADatabaseACommitWaitsForItOrForTheEnd) {
  std::atomic<bool> stop{false};
  PostgresOptions options{address_, &clock_, "a"};
  options.stop = [&] { return stop.load(); };
  auto store = open_postgres_store(options);
  ASSERT_TRUE(store.ok()) << store.error().message();
  const auto begin = [&](std::uint64_t first) {
    return std::async(std::launch::async, [&, first] { return (*store)->commit(batch(first)); });
  };
  cluster_->kill();
  auto waiting = begin(1);
  clock_.ahead_us += 3'600'000'000;
  EXPECT_EQ(waiting.wait_for(300ms), std::future_status::timeout) << "an hour is no reason";
  cluster_->start();
  EXPECT_EQ(word_of(waiting.get()), "");
  EXPECT_EQ(facts_of(**store), 3u);
  cluster_->kill();
  auto given_up = begin(4);
  EXPECT_EQ(given_up.wait_for(100ms), std::future_status::timeout);
  stop = true;
  EXPECT_NE(word_of(given_up.get()), "");
  cluster_->start();
}

TEST_F(PostgresStoreTest, WhatWasAlteredStopsTheStart) {
  auto store = open();
  ASSERT_FALSE(store->commit(batch(1, 8)));
  ASSERT_FALSE(store->write_checkpoint(2, pack({account_set(0, 2, "ml", 1, "")})));
  const auto recovery = [&] {
    Texts got;
    const auto recovered = (*store->open_reader())->recover(got);
    return recovered.ok() ? "" : recovered.error().message();
  };
  EXPECT_EQ(recovery(), "");
  sql("UPDATE facts SET time_ms = time_ms + 1 WHERE seq = 5");
  EXPECT_NE(recovery().find("row 5 of table facts"), std::string::npos) << recovery();
  sql("UPDATE facts SET time_ms = time_ms - 1 WHERE seq = 5");
  sql("DELETE FROM facts WHERE seq = 4");
  EXPECT_NE(recovery().find("row 4 of table facts is missing"), std::string::npos) << recovery();
  sql("UPDATE checkpoint SET rows = substring(rows FROM 1 FOR 20)");
  EXPECT_NE(recovery().find("table checkpoint"), std::string::npos) << recovery();
  sql("UPDATE ledger SET milligpu = 1 WHERE seq = 2");
  EXPECT_FALSE((*store->open_reader())->ledger({}).ok());
  sql("UPDATE audit SET actor = 'eve' WHERE seq = 1");
  EXPECT_FALSE((*store->open_reader())->audit({}).ok());
}

TEST_F(PostgresStoreTest, OfANewerProgramItIsRefused) {
  open();
  sql("UPDATE migrations SET checksum = 'x'");
  EXPECT_NE(open_error().find("under that number"), std::string::npos) << open_error();
  sql("INSERT INTO migrations VALUES (99, '0099_later', 'x', 0)");
  sql("DELETE FROM migrations WHERE version = 1");
  EXPECT_NE(open_error(), "");
}

TEST_F(PostgresStoreTest, AServerThatDoesNotKeepItsWordIsRefused) {
  cluster_->sql(cluster_->uri("postgres"), "ALTER SYSTEM SET fsync = off");
  cluster_->sql(cluster_->uri("postgres"), "SELECT pg_reload_conf()");
  std::string error;
  for (int i = 0; i < 100 && error.empty(); ++i) {  // until it has read it
    error = open_error();
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_NE(error.find("fsync = off"), std::string::npos) << error;
  cluster_->sql(cluster_->uri("postgres"), "ALTER SYSTEM RESET fsync");
  cluster_->sql(cluster_->uri("postgres"), "SELECT pg_reload_conf()");
}

}  // namespace
}  // namespace subak
