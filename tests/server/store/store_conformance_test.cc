// What every store must do, asked of each: the file and the database.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/limits.h"
#include "engine/engine.h"
#include "server/runtime/runtime.h"
#include "tests/oracle/random_world.h"
#include "tests/server/store/support/pack_facts.h"
#include "tests/server/store/support/store_facts.h"
#include "tests/server/store/support/store_random_fact.h"
#include "tests/server/store/support/store_stand.h"

namespace subak {
namespace {

class StoreConformance : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Store> open(std::uint32_t fact_version = kFactVersion) {
    auto store = stand_->open(fact_version);
    EXPECT_TRUE(store.ok()) << store.error().message();
    return store.ok() ? std::move(*store) : nullptr;
  }
  static std::unique_ptr<StoreReader> reader(Store& store) {
    return std::move(*store.open_reader());
  }

 private:
  std::unique_ptr<Stand> stand_ = make_stand(GetParam());
};

TEST_P(StoreConformance, WhatWasCommittedIsRecoveredInOrder) {
  std::vector<std::string> want;
  {
    auto store = open();
    RandomFill random(11);
    std::uint64_t seq = 0;
    for (int batch = 0; batch < 20; ++batch) {
      std::vector<Fact> facts;
      for (int i = 0; i <= batch; ++i) {
        Fact fact = random.fact(random.below(16));  // all kinds before Charged
        fact.seq = ++seq;
        fact.time_ms = static_cast<TimeMs>(seq * 7);
        want.push_back(text_of(fact));
        facts.push_back(std::move(fact));
      }
      ASSERT_FALSE(store->commit(facts));
    }
  }
  auto store = open();
  Texts got;
  const auto recovered = reader(*store)->recover(got);
  ASSERT_TRUE(recovered.ok()) << recovered.error().message();
  EXPECT_EQ(got.tail, want);
  EXPECT_EQ(got.checkpoint_seq, 0u);
  EXPECT_EQ(recovered->seq, want.size());
  EXPECT_EQ(recovered->tail_facts, want.size());
  const auto page = reader(*store)->facts(5, 3);
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->size(), 3u);
  EXPECT_EQ(text_of((*page)[0]), want[5]);
}

TEST_P(StoreConformance, CheckpointReplacesWhatCameBefore) {
  auto store = open();
  RandomFill random(12);
  const auto commit = [&](std::uint64_t seq) {
    ASSERT_FALSE(store->commit(std::vector<Fact>{account_set(seq, 2, "ml", 1, "")}));
  };
  for (std::uint64_t seq = 1; seq <= 5; ++seq) commit(seq);
  for (const std::uint64_t at : {std::uint64_t{3}, std::uint64_t{5}}) {
    std::vector<Fact> kept;
    std::vector<std::string> want;
    for (std::size_t i = 0; i < limits::kCheckpointChunkFacts * 2 + at; ++i) {
      kept.push_back(random.fact(i % kKindsOfVersion[0]));
      kept.back().time_ms = static_cast<TimeMs>(i);
      want.push_back(text_of(kept.back()));
    }
    ASSERT_FALSE(store->write_checkpoint(at, pack(kept)));
    Texts got;
    const auto recovered = reader(*store)->recover(got);
    ASSERT_TRUE(recovered.ok()) << recovered.error().message();
    EXPECT_EQ(got.checkpoint_seq, at);
    EXPECT_EQ(got.tail.size(), 5 - at);
    EXPECT_EQ(got.checkpoint, want);
  }
  store = nullptr;
  store = open();
  Texts got;
  ASSERT_TRUE(reader(*store)->recover(got).ok());
  EXPECT_EQ(got.checkpoint.size(), limits::kCheckpointChunkFacts * 2 + 5);
}

TEST_P(StoreConformance, LedgerPagesByTimeAccountAndJob) {
  auto store = open();
  std::vector<Fact> facts;
  for (std::uint64_t seq = 1; seq <= 100; ++seq) {
    const auto end = static_cast<TimeMs>(seq * 100);
    facts.push_back(charged(seq, end - 150, end, seq % 2 == 0 ? 6 : 5));
  }
  ASSERT_FALSE(store->commit(facts));
  const auto read = reader(*store);
  const auto all = read->ledger({});
  ASSERT_EQ(all->size(), 100u);
  EXPECT_EQ((*all)[41].row, std::get<fact::Charged>(facts[41].body).row);
  EXPECT_EQ((*all)[41].seq, 42u);
  EXPECT_EQ((*all)[41].time_ms, 4200);
  LedgerQuery query;
  query.from_ms = 1000;  // ends after: rows 11 and on
  query.to_ms = 2000;    // begins before: row 21 (1950) at the latest
  auto some = read->ledger(query);
  ASSERT_EQ(some->size(), 11u);
  EXPECT_EQ(some->front().seq, 11u);
  EXPECT_EQ(some->back().seq, 21u);
  query.holders = {AccountId(6)};
  query.most = 2;
  some = read->ledger(query);
  ASSERT_EQ(some->size(), 2u);
  EXPECT_EQ((*some)[1].seq, 14u);
  query.after_seq = 14;
  EXPECT_EQ(read->ledger(query)->front().seq, 16u);
  query = {};
  query.payers = {AccountId(7)};
  EXPECT_TRUE(read->ledger(query)->empty());
  query = {};
  query.job = JobId(ClusterId(1), 50);
  ASSERT_EQ(read->ledger(query)->size(), 1u);
}

TEST_P(StoreConformance, LedgerOfPayersIsInTheOrderOfTheFacts) {
  auto store = open();
  std::vector<Fact> facts;
  for (std::uint64_t seq = 1; seq <= 60; ++seq) {
    const auto end = static_cast<TimeMs>(seq * 100);
    facts.push_back(charged(seq, end - 150, end));
    LedgerRow& row = std::get<fact::Charged>(facts.back().body).row;
    row.holder = AccountId(static_cast<std::uint32_t>(5 + seq % 4));
    row.payer = seq % 5 == 0 ? kPlatform : row.holder;
  }
  ASSERT_FALSE(store->commit(facts));
  const auto read = reader(*store);
  const auto numbers = [&](const LedgerQuery& query) {
    std::vector<std::uint64_t> seqs;
    const auto rows = read->ledger(query);
    for (const LedgerEntry& entry : *rows) seqs.push_back(entry.seq);
    return seqs;
  };
  // The naive answer: a filter of all rows.
  const auto all = read->ledger({});
  const auto naive = [&](const LedgerQuery& query) {
    std::vector<std::uint64_t> seqs;
    for (const LedgerEntry& entry : *all) {
      const auto has = [&](AccountId id) {
        return std::find(query.payers.begin(), query.payers.end(), id) != query.payers.end();
      };
      const bool by_platform =
          query.with_platform && entry.row.payer == kPlatform && has(entry.row.holder);
      const bool in_time = entry.seq > query.after_seq && entry.seq <= query.last_seq;
      if (in_time && (has(entry.row.payer) || by_platform) && seqs.size() < query.most)
        seqs.push_back(entry.seq);
    }
    return seqs;
  };
  LedgerQuery query;
  query.payers = {AccountId(5), AccountId(7)};
  EXPECT_EQ(numbers(query), naive(query));
  query.with_platform = true;
  EXPECT_EQ(numbers(query), naive(query));
  EXPECT_EQ(numbers(query).size(), 30u);
  query.most = 7;
  EXPECT_EQ(numbers(query), naive(query));
  query.after_seq = 11;
  query.last_seq = 25;
  EXPECT_EQ(numbers(query), naive(query));
  query.payers.clear();
  for (std::uint32_t id = 5; id < 5 + 300; ++id) query.payers.push_back(AccountId(id));
  EXPECT_EQ(numbers(query), naive(query)) << "more payers than an index serves";
}

TEST_P(StoreConformance, DailyUsageCutsAtMidnightAndSumsToTheLedger) {
  auto store = open();
  std::vector<Fact> facts{charged(1, kDayMs - kHourMs, kDayMs + 2 * kHourMs),
                          charged(2, kDayMs, kDayMs + 3 * kHourMs),
                          charged(3, 0, 3 * kDayMs, 6, "A100")};
  ASSERT_FALSE(store->commit(facts));
  const auto read = reader(*store);
  const auto rows = read->daily_usage({});
  ASSERT_EQ(rows->size(), 5u);
  EXPECT_EQ((*rows)[0].day, 0);
  EXPECT_EQ((*rows)[0].holder, AccountId(5));
  EXPECT_EQ((*rows)[0].amount, GpuTime::of(8000, kHourMs));
  EXPECT_EQ((*rows)[2].day, 1);
  EXPECT_EQ((*rows)[2].amount, GpuTime::of(8000, 5 * kHourMs));
  EXPECT_EQ((*rows)[2].rows, 2u);
  GpuTime total, want;
  for (const DailyUsage& row : *rows) total += row.amount;
  for (const Fact& fact : facts) want += std::get<fact::Charged>(fact.body).row.amount();
  EXPECT_EQ(total, want);
  LedgerQuery query;
  query.from_ms = kDayMs;
  query.to_ms = kDayMs + kHourMs;
  const auto hour = read->daily_usage(query);
  ASSERT_EQ(hour->size(), 2u);
  EXPECT_EQ((*hour)[0].amount, GpuTime::of(2 * 8000, kHourMs));
}

TEST_P(StoreConformance, AuditShowsWhoWhatWhyBeforeAndAfter) {
  auto store = open();
  fact::EditRefused refused{"set_account", "ml.vision", "shares: was -1", {"bob", "more", "r4"}};
  fact::AccountDeleted deleted;
  deleted.id = AccountId(3);
  deleted.edit = {"ana", "gone", "r5"};
  std::vector<Fact> facts{
      account_set(1, 2, "ml", 1, "ana"), account_set(2, 3, "ml.vision", 2, "ana"),
      account_set(3, 3, "ml.vision", 7, "bob"), Fact{4, 40, refused}, Fact{5, 50, deleted}};
  Fact quiet = account_set(6, 4, "ml/eve", 1, "");
  std::get<fact::AccountSet>(quiet.body).edit = {};
  facts.push_back(quiet);
  ASSERT_FALSE(store->commit(facts));
  const auto read = reader(*store);
  const auto all = read->audit({});
  ASSERT_EQ(all->size(), 5u);
  EXPECT_EQ((*all)[0].what, "account_deleted");
  EXPECT_EQ((*all)[0].subject, "ml.vision");
  EXPECT_NE((*all)[0].before.find("shares=7"), std::string::npos);
  EXPECT_EQ((*all)[0].after, "");
  EXPECT_EQ((*all)[1].what, "set_account");
  EXPECT_EQ((*all)[1].error, "shares: was -1");
  EXPECT_NE((*all)[2].before.find("shares=2"), std::string::npos);
  EXPECT_NE((*all)[2].after.find("shares=7"), std::string::npos);
  EXPECT_EQ((*all)[2].actor, "bob");
  EXPECT_EQ((*all)[2].reason, "because");
  EXPECT_EQ((*all)[4].before, "");
  AuditQuery query;
  query.subject = "ml";
  EXPECT_EQ(read->audit(query)->size(), 5u);
  query.subject = "ml.vision";
  query.actor = "bob";
  EXPECT_EQ(read->audit(query)->size(), 2u);
  query = {};
  query.most = 2;
  query.before_seq = 5;
  const auto page = read->audit(query);
  ASSERT_EQ(page->size(), 2u);
  EXPECT_EQ((*page)[0].seq, 4u);
  query = {};
  query.from_ms = 20;
  query.to_ms = 40;
  EXPECT_EQ(read->audit(query)->size(), 2u);
}

// Texts that somebody chose: quotes, what is no ASCII, a zero byte, no UTF-8, nothing at all.
TEST_P(StoreConformance, TextsComeBackAsTheyWere) {
  const std::string kActor("o'neil \\ \"ü\" \n\t {NULL} \0 \xff \xc3", 29);
  auto store = open();
  Fact edit = account_set(1, 2, "ml", 1, kActor);
  std::get<fact::AccountSet>(edit.body).edit.reason = "";
  ASSERT_FALSE(store->commit(std::vector<Fact>{edit, charged(2, 0, 10, 5, "{\"a,b\"}, \\x41")}));
  const auto read = reader(*store);
  const auto audit = read->audit({});
  ASSERT_TRUE(audit.ok()) << audit.error().message();
  ASSERT_EQ(audit->size(), 1u);
  EXPECT_EQ((*audit)[0].actor, kActor);
  EXPECT_EQ((*audit)[0].reason, "");
  EXPECT_EQ(read->ledger({})->at(0).row.product, "{\"a,b\"}, \\x41");
}

// What was before an edit is what the last one left, whether of another life, an earlier batch or the same one.
TEST_P(StoreConformance, BeforeIsWhatTheLastEditLeft) {
  {
    auto store = open();
    ASSERT_FALSE(store->commit(
        std::vector<Fact>{account_set(1, 2, "ml", 1, "ana"), account_set(2, 2, "ml", 2, "ana")}));
    ASSERT_FALSE(store->commit(std::vector<Fact>{account_set(3, 2, "ml", 3, "ana")}));
  }
  auto store = open();
  fact::AccountDeleted deleted;
  deleted.id = AccountId(2);
  deleted.edit = {"bob", "gone", "r5"};
  ASSERT_FALSE(
      store->commit(std::vector<Fact>{account_set(4, 2, "ml.x", 4, "ana"), Fact{5, 50, deleted}}));
  const auto rows = reader(*store)->audit({});
  ASSERT_EQ(rows->size(), 5u);
  for (std::size_t i = 0; i < 4; ++i) {  // newest first: after 4, 3, 2, 1 shares
    EXPECT_NE((*rows)[i].before.find("shares=" + std::to_string(4 - i)), std::string::npos)
        << (*rows)[i].before;
  }
  EXPECT_EQ((*rows)[0].subject, "ml.x");
  EXPECT_EQ((*rows)[4].before, "");
}

// An error is final, and nothing of its batch is there.
TEST_P(StoreConformance, FailedCommitLeavesNothing) {
  auto store = open();
  ASSERT_FALSE(store->commit(std::vector<Fact>{charged(1, 0, 10)}));
  Fact twice = charged(3, 0, 10);
  std::get<fact::Charged>(twice.body).row.allocation.job = JobId(ClusterId(1), 1);
  EXPECT_TRUE(store->commit(std::vector<Fact>{charged(2, 0, 10), twice}));
  Texts got;
  ASSERT_TRUE(reader(*store)->recover(got).ok());
  EXPECT_EQ(got.tail.size(), 1u);
  EXPECT_EQ(reader(*store)->ledger({})->size(), 1u);
}

TEST_P(StoreConformance, ReadsGoOverPages) {
  auto store = open();
  constexpr std::uint64_t kFacts = 10'000;
  std::vector<Fact> facts;
  for (std::uint64_t seq = 1; seq <= kFacts; ++seq) {
    facts.push_back(seq % 2 == 0 ? charged(seq, 0, static_cast<TimeMs>(seq * 10), 5)
                                 : account_set(seq, 2, "ml", 1, "ana"));
  }
  ASSERT_FALSE(store->commit(facts));
  const auto read = reader(*store);
  Texts got;
  ASSERT_TRUE(read->recover(got).ok());
  ASSERT_EQ(got.tail.size(), kFacts);
  for (std::size_t i = 0; i < kFacts; ++i) ASSERT_EQ(got.tail[i], text_of(facts[i]));
  EXPECT_EQ(read->facts(3, 9000)->size(), 9000u);
  EXPECT_EQ(read->facts(kFacts - 1, 5)->size(), 1u);
  EXPECT_EQ(read->facts(kFacts, 5)->size(), 0u);
  LedgerQuery rows;
  rows.most = kFacts;
  EXPECT_EQ(read->ledger(rows)->size(), kFacts / 2);
  rows.last_seq = 9000;
  EXPECT_EQ(read->ledger(rows)->size(), 4500u);
  AuditQuery edits;
  edits.most = kFacts;
  EXPECT_EQ(read->audit(edits)->size(), kFacts / 2);
  EXPECT_EQ(read->daily_usage({})->at(0).rows, kFacts / 2);
}

// A reader sees what is durable when it asks, and a page of it never changes.
TEST_P(StoreConformance, ReadersSeeWhatIsDurableWhileItIsCommitted) {
  auto store = open();
  ASSERT_FALSE(store->commit(std::vector<Fact>{charged(1, 0, 10)}));
  std::atomic<bool> end{false};
  std::thread writer([&] {
    for (std::uint64_t seq = 2; seq <= 400; seq += 2) {
      const auto to = static_cast<TimeMs>(seq * 10);
      if (store->commit(std::vector<Fact>{charged(seq, 0, to), charged(seq + 1, 0, to + 10)}))
        break;
    }
    end = true;
  });
  const auto read = reader(*store);
  std::size_t last = 0;
  while (!end) {
    Texts got;
    const auto recovered = read->recover(got);
    if (!recovered.ok() || got.tail.size() < last || got.tail.size() % 2 != 1) {
      ADD_FAILURE() << got.tail.size() << " facts after " << last;
      break;
    }
    last = got.tail.size();
  }
  writer.join();
  EXPECT_EQ(read->facts(0, 1000)->size(), 401u);
}

TEST_P(StoreConformance, ASecondCheckpointOfTheSameTimeIsNone) {
  auto store = open();
  ASSERT_FALSE(store->commit(std::vector<Fact>{account_set(1, 2, "ml", 1, "")}));
  ASSERT_FALSE(store->write_checkpoint(1, pack({account_set(0, 2, "ml", 1, "")})));
  ASSERT_FALSE(store->write_checkpoint(1, pack({account_set(0, 2, "other", 1, "")})));
  Texts got;
  ASSERT_TRUE(reader(*store)->recover(got).ok());
  ASSERT_EQ(got.checkpoint.size(), 1u);
  EXPECT_NE(got.checkpoint[0].find("ml"), std::string::npos);
}

TEST_P(StoreConformance, WhatWasToldIsReplacedWhole) {
  auto store = open();
  EXPECT_EQ(*store->read_calibration(), "");
  const std::string bytes("a\0b\xff", 4);
  ASSERT_FALSE(store->write_calibration("first"));
  ASSERT_FALSE(store->write_calibration(bytes));
  EXPECT_EQ(*store->read_calibration(), bytes);
  store = nullptr;
  EXPECT_EQ(*open()->read_calibration(), bytes);
}

TEST_P(StoreConformance, MarksOfNoticesAreReplacedWhole) {
  auto store = open();
  EXPECT_EQ(*store->read_notice_marks(), "");
  const std::string bytes("a\0b\xff", 4);
  ASSERT_FALSE(store->write_notice_marks("first"));
  ASSERT_FALSE(store->write_notice_marks(bytes));
  EXPECT_EQ(*store->read_notice_marks(), bytes);
  store = nullptr;
  EXPECT_EQ(*open()->read_notice_marks(), bytes);
}

TEST_P(StoreConformance, APartOfActivityIsReplacedWhole) {
  auto store = open();
  EXPECT_EQ(*store->read_activity(20454), "");
  const std::string bytes("part\0of\xff", 8);
  ASSERT_FALSE(store->write_activity(0, "jobs"));
  ASSERT_FALSE(store->write_activity(20454, "first"));
  ASSERT_FALSE(store->write_activity(20454, bytes));
  EXPECT_EQ(*store->read_activity(0), "jobs");
  EXPECT_EQ(*store->read_activity(20454), bytes);
  store = nullptr;
  EXPECT_EQ(*open()->read_activity(20454), bytes);
}

// An engine that lives on the store, with checkpoints on the way, is the same after each restart.
TEST_P(StoreConformance, ARandomLifeIsRecoveredToTheDigest) {
  sim::RandomWorld world({77, false});
  auto engine = std::make_unique<Engine>();
  auto store = open();
  for (int i = 1; i <= 1500; ++i) {
    const Input input = world.next(engine->next_deadline());
    const ApplyOutcome outcome = engine->apply(input);
    world.saw(input, outcome);
    if (!outcome.facts.empty()) {
      ASSERT_FALSE(store->commit(outcome.facts));
    }
    if (i % 200 == 0) {
      std::vector<Fact> kept;
      engine->checkpoint([&](const Fact& fact) { kept.push_back(fact); });
      ASSERT_FALSE(store->write_checkpoint(engine->seq(), pack(kept)));
    }
    if (i % 250 != 0) continue;
    store = nullptr;
    store = open();
    Engine again;
    const auto recovered = recover_engine(*reader(*store), again);
    ASSERT_TRUE(recovered.ok()) << recovered.error().message();
    ASSERT_EQ(again.digest(), engine->digest());
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreConformance, testing::Values("sqlite", "postgres"),
                         [](const auto& stand) { return stand.param; });

}  // namespace
}  // namespace subak
