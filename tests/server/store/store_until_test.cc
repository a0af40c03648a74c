// A store at an earlier moment: what is restored until a fact has the state that a fold of the facts up to it gives,
// wherever it is put, and goes on from there.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/duration.h"
#include "server/runtime/clock/clock.h"
#include "server/runtime/runtime.h"
#include "server/store/move/restore.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/postgres/restore_postgres.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/oracle/random_world.h"
#include "tests/server/store/support/pack_facts.h"
#include "tests/server/store/support/pg_cluster.h"
#include "tests/server/temp_folder.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

// Some life on a store; its facts.
std::vector<Fact> live(Store& store, int inputs) {
  std::vector<Fact> all, batch;
  sim::RandomWorld world({91, false});
  Engine engine;
  for (int i = 1; i <= inputs; ++i) {
    const Input input = world.next(engine.next_deadline());
    const ApplyOutcome outcome = engine.apply(input);
    world.saw(input, outcome);
    batch.insert(batch.end(), outcome.facts.begin(), outcome.facts.end());
    if (i % 50 != 0 || batch.empty()) continue;
    EXPECT_FALSE(store.commit(batch));
    all.insert(all.end(), batch.begin(), batch.end());
    batch.clear();
    if (i == inputs / 2) {
      EXPECT_FALSE(store.write_checkpoint(engine.seq(), pack(engine.checkpoint())));
    }
  }
  return all;
}

class StoreUntilTest : public testing::Test {
 protected:
  StoreUntilTest() {
    auto store = open_sqlite_store({file("subak.db")});
    facts_ = live(**store, 3000);
  }
  std::string file(const std::string& name) const { return folder_.file(name); }
  std::array<std::uint64_t, 2> digest_at(std::uint64_t seq) const {
    Engine engine;
    for (std::uint64_t i = 0; i < seq; ++i) engine.evolve(facts_[i]);
    return engine.digest();
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string refusal(const Until& until) const {
    const auto done = restore_store({file("subak.db"), file("refused.db"), false, until});
    return done.ok() ? "" : done.error().message();
  }
  // The store is that of fact `seq`, with its rows and no more, and goes on with the one after it.
  void goes_on(Store& store, std::uint64_t seq) const {
    auto reader = store.open_reader();
    ASSERT_TRUE(reader.ok()) << reader.error().message();
    Engine engine;
    const auto recovered = recover_engine(**reader, engine);
    ASSERT_TRUE(recovered.ok()) << recovered.error().message();
    ASSERT_EQ(recovered->seq, seq);
    EXPECT_LE(recovered->checkpoint_seq, seq);
    EXPECT_EQ(engine.digest(), digest_at(seq));
    LedgerQuery query;
    query.most = facts_.size();
    const auto rows = (*reader)->ledger(query);
    ASSERT_TRUE(rows.ok()) << rows.error().message();
    std::size_t charged = 0;
    for (std::uint64_t i = 0; i < seq; ++i) {
      charged += std::holds_alternative<fact::Charged>(facts_[i].body) ? 1 : 0;
    }
    EXPECT_EQ(rows->size(), charged);
    AuditQuery edits;
    edits.most = facts_.size();
    const auto audit = (*reader)->audit(edits);
    ASSERT_TRUE(audit.ok()) << audit.error().message();
    if (!audit->empty()) {
      EXPECT_LE(audit->front().seq, seq);
    }
    const ApplyOutcome next = engine.apply({engine.now() + kMinuteMs, "", "", in::Restarted{}});
    in::SetAccount edit;
    edit.spec.path = "after";
    edit.reason = "it goes on";
    std::vector<Fact> more = next.facts;
    const ApplyOutcome edited = engine.apply({engine.now() + kMinuteMs, "ana", "", edit});
    more.insert(more.end(), edited.facts.begin(), edited.facts.end());
    ASSERT_FALSE(more.empty());
    ASSERT_EQ(more.front().seq, seq + 1);
    const auto error = store.commit(more);
    ASSERT_FALSE(error) << error->message();
    const auto newest = (*reader)->audit({0, INT64_MAX, "after", "", INT64_MAX, 1});
    ASSERT_TRUE(newest.ok());
    ASSERT_EQ(newest->size(), 1u);
  }

  const TempFolder folder_;
  std::vector<Fact> facts_;
  SystemClock clock_;
};

TEST_F(StoreUntilTest, AFileUntilAnyFactIsTheFoldUpToIt) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> until{1, facts_.size()};
  for (int i = 0; i < 12; ++i) until.push_back(1 + random() % facts_.size());
  for (const std::uint64_t seq : until) {
    const std::string state = file("at" + std::to_string(seq) + ".db");
    const auto done = restore_store({file("subak.db"), state, false, seq});
    ASSERT_TRUE(done.ok()) << done.error().message();
    EXPECT_EQ(done->report.state.digest, digest_at(seq));
    ASSERT_TRUE(done->cut);
    EXPECT_EQ(done->cut->left_out, facts_.size() - seq);
    EXPECT_EQ(done->cut->time_ms, facts_[seq - 1].time_ms);
    EXPECT_EQ(done->cut->last_ms, facts_.back().time_ms);
    EXPECT_EQ(done->cut->ledger_rows, done->report.ledger_rows);
    const bool within = seq < facts_.size() && facts_[seq].time_ms == facts_[seq - 1].time_ms;
    EXPECT_EQ(done->cut->within_a_moment, within);
    auto store = open_sqlite_store({state});
    ASSERT_TRUE(store.ok()) << store.error().message();
    goes_on(**store, seq);
  }
  for (const std::string& name : files())
    EXPECT_EQ(name.find("restoring"), std::string::npos) << name;
}

TEST_F(StoreUntilTest, ATimeIsTheLastFactOfItOrBeforeIt) {
  const std::uint64_t middle = facts_.size() / 2;
  const TimeMs at = facts_[middle].time_ms;
  std::uint64_t last = middle + 1;
  while (last < facts_.size() && facts_[last].time_ms == at) ++last;
  for (const TimeMs time : {at, facts_[last].time_ms - 1}) {
    const std::string state = file(std::to_string(time) + ".db");
    const auto done = restore_store({file("subak.db"), state, false, UntilTime{time}});
    ASSERT_TRUE(done.ok()) << done.error().message();
    EXPECT_EQ(done->report.state.seq, last);
    EXPECT_EQ(done->report.state.digest, digest_at(last));
    EXPECT_FALSE(done->cut->within_a_moment);
  }
}

TEST_F(StoreUntilTest, WhatIsNotInItIsRefusedAndLeavesNothing) {
  const auto before = files();
  const std::string last = std::to_string(facts_.size());
  EXPECT_EQ(refusal(std::uint64_t{0}),
            "until: was \"0\", want the number of a fact that is there: 1 to " + last);
  EXPECT_NE(refusal(facts_.size() + 1).find("1 to " + last), std::string::npos);
  const std::string span = "want a time from " + format_time(facts_.front().time_ms) +
                           " (fact 1) to " + format_time(facts_.back().time_ms) + " (fact " + last;
  for (const TimeMs time : {facts_.front().time_ms - 1, facts_.back().time_ms + 1}) {
    EXPECT_NE(refusal(UntilTime{time}).find(span), std::string::npos) << refusal(UntilTime{time});
  }
  std::vector<std::string> after = files();
  for (const char* const name :
       {"refused.db.lock", "subak.db-shm", "subak.db-wal"}) {  // of readers
    std::erase(after, name);
  }
  EXPECT_EQ(after, before);
}

// A backup that noted its history is cut like any, and the note does not go with what it is not true of any more.
TEST_F(StoreUntilTest, FromAFileIntoADatabaseAndBack) {
  PgCluster cluster;
  const std::string whole = cluster.make_database();
  const auto moved = restore_to_postgres(file("subak.db"), whole, clock_, std::nullopt);
  ASSERT_TRUE(moved.ok()) << moved.error().message();
  EXPECT_FALSE(moved->cut);
  PostgresOptions options{whole, &clock_, "test"};
  options.copy_path = file("copy.db");
  {
    auto store = open_postgres_store(options);
    ASSERT_TRUE(store.ok()) << store.error().message();
    ASSERT_TRUE((*store)->make_copy([] { return true; }).ok());
  }
  const auto report = verify_store(file("copy.db"), std::nullopt);
  ASSERT_TRUE(report.ok()) << report.error().message();
  ASSERT_FALSE(note_history(file("copy.db"), *report));
  std::mt19937_64 random(2);
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t seq = 1 + random() % facts_.size();
    options.address = cluster.make_database();
    const auto done = restore_to_postgres(file("copy.db"), options.address, clock_, seq);
    ASSERT_TRUE(done.ok()) << done.error().message();
    EXPECT_EQ(done->report.state.seq, seq);
    EXPECT_EQ(done->report.state.digest, digest_at(seq));
    EXPECT_EQ(done->cut->left_out, facts_.size() - seq);
    auto store = open_postgres_store(options);
    ASSERT_TRUE(store.ok()) << store.error().message();
    goes_on(**store, seq);
    const std::string state = file("back" + std::to_string(seq) + ".db");
    const auto back = restore_store({file("copy.db"), state, false, seq});
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_EQ(back->report.state.digest, digest_at(seq));
    EXPECT_EQ(back->report.ledger_rows, done->report.ledger_rows);
  }
  const auto none =
      restore_to_postgres(file("copy.db"), cluster.make_database(), clock_, facts_.size() + 1);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().field, "until");
}

// Wherever the history is cut, also within what one input did, the engine can go on: it restarts, time passes, a pass
// is played, and nothing breaks its rules.
TEST_F(StoreUntilTest, AnEngineGoesOnFromAnyFact) {
  for (std::uint64_t seq = 1; seq <= facts_.size(); seq += 37) {
    Engine engine;
    for (std::uint64_t i = 0; i < seq; ++i) engine.evolve(facts_[i]);
    engine.apply({engine.now(), "", "", in::Restarted{}});
    for (int day = 0; day < 3; ++day) {
      const TimeMs later = engine.now() + 24 * 60 * kMinuteMs;
      while (engine.next_deadline() && *engine.next_deadline() < later) {
        engine.apply({*engine.next_deadline(), "", "", in::Tick{}});
      }
      engine.apply({later, "", "", in::Tick{}});
      engine.apply({later, "", "", in::Pass{}});
    }
    EXPECT_EQ(residual_of(engine.bill(engine.now())), GpuTime()) << seq;
  }
}

}  // namespace
}  // namespace subak
