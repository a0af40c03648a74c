// The SQLite store: what is written is read back, and what is not ours or not whole is refused.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/limits.h"
#include "server/codec/packed_facts.h"
#include "server/store/head.h"
#include "server/store/migrate.h"
#include "server/store/sqlite_store.h"
#include "store_random_fact.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

std::string text_of(const Fact& fact) {
  return std::to_string(fact.seq) + "@" + std::to_string(fact.time_ms) + " " +
         std::visit([](const auto& f) { return std::string(f.kName) + " " + to_text(f); },
                    fact.body);
}

struct Texts final : FactSink {
  std::vector<std::string> checkpoint, tail;
  std::uint64_t checkpoint_seq = 999;
  void checkpoint_fact(const Fact& fact) override { checkpoint.push_back(text_of(fact)); }
  void checkpoint_end(std::uint64_t seq) override { checkpoint_seq = seq; }
  void fact(const Fact& fact) override { tail.push_back(text_of(fact)); }
};

class SqliteStoreTest : public testing::Test {
 protected:
  SqliteStoreTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::temp_directory_path() /
           ("subak_store_" + std::string(info->name()) + "_" + std::to_string(::getpid()));
    fs::create_directories(dir_);
    path_ = (dir_ / "subak.db").string();
  }
  ~SqliteStoreTest() override { fs::remove_all(dir_); }

  std::unique_ptr<Store> open() { return open(path_); }
  static std::unique_ptr<Store> open(const std::string& path) {
    auto store = open_sqlite_store({path});
    EXPECT_TRUE(store.ok()) << store.error().message();
    return store.ok() ? std::move(*store) : nullptr;
  }
  std::string open_error() const {
    auto store = open_sqlite_store({path_});
    return store.ok() ? "" : store.error().message();
  }
  static std::unique_ptr<StoreReader> reader(Store& store) {
    return std::move(*store.open_reader());
  }

  // Runs SQL behind the store's back.
  void sql(const std::string& statement) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(db, statement.c_str(), nullptr, nullptr, &message), SQLITE_OK)
        << message;
    sqlite3_free(message);
    sqlite3_close(db);
  }

  fs::path dir_;
  std::string path_;
};

Fact charged(std::uint64_t seq, TimeMs from, TimeMs to, std::uint32_t holder = 5,
             std::string product = "H100") {
  LedgerRow row;
  row.allocation = {JobId(ClusterId(1), seq), 0, 1};
  row.from_ms = from;
  row.to_ms = to;
  row.holder = row.payer = AccountId(holder);
  row.node = NodeId(3);
  row.product = std::move(product);
  row.milligpu = 8000;
  return Fact{seq, to, fact::Charged{row}};
}

Fact account_set(std::uint64_t seq, std::uint32_t id, std::string path, std::int64_t shares,
                 std::string actor) {
  fact::AccountSet set;
  set.id = AccountId(id);
  set.spec.path = std::move(path);
  set.spec.shares = shares;
  set.edit = {std::move(actor), "because", "r" + std::to_string(seq)};
  return Fact{seq, static_cast<TimeMs>(seq * 10), set};
}

TEST_F(SqliteStoreTest, WhatWasCommittedIsRecoveredInOrder) {
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

// A fact that no start could read again is refused while nothing of its batch is durable.
TEST_F(SqliteStoreTest, CheckpointReplacesWhatCameBefore) {
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

TEST_F(SqliteStoreTest, HalfWrittenCheckpointIsIgnoredAndDroppedLater) {
  auto store = open();
  ASSERT_FALSE(store->commit(std::vector<Fact>{account_set(1, 2, "ml", 1, "")}));
  sql("INSERT INTO checkpoint SELECT 77, seq, time_ms, kind, body, sum FROM facts");
  Texts got;
  ASSERT_TRUE(reader(*store)->recover(got).ok());
  EXPECT_TRUE(got.checkpoint.empty());
  ASSERT_FALSE(store->write_checkpoint(1, pack({account_set(0, 2, "ml", 1, "")})));
  store = nullptr;
  sql("CREATE TABLE t AS SELECT CASE WHEN count(*) = 1 THEN 1 ELSE NULL END AS x FROM checkpoint; "
      "CREATE TABLE u (x NOT NULL); INSERT INTO u SELECT x FROM t");
}

TEST_F(SqliteStoreTest, MissingCheckpointRowStopsTheStart) {
  auto store = open();
  ASSERT_FALSE(store->commit(std::vector<Fact>{account_set(1, 2, "ml", 1, "")}));
  ASSERT_FALSE(
      store->write_checkpoint(1, pack(std::vector<Fact>(3, account_set(0, 2, "ml", 1, "")))));
  sql("DELETE FROM checkpoint WHERE ord = 1");
  Texts got;
  const auto recovered = reader(*store)->recover(got);
  ASSERT_FALSE(recovered.ok());
  EXPECT_NE(recovered.error().message().find("checkpoint: row 1 is missing"), std::string::npos)
      << recovered.error().message();
  sql("DELETE FROM checkpoint WHERE ord = 2");
  const auto cut = reader(*store)->recover(got);
  ASSERT_FALSE(cut.ok());
  EXPECT_NE(cut.error().message().find("1 of 3 rows"), std::string::npos) << cut.error().message();
}

TEST_F(SqliteStoreTest, GapOrAlteredFactStopsTheStart) {
  auto store = open();
  for (std::uint64_t seq = 1; seq <= 3; ++seq) {
    ASSERT_FALSE(store->commit(std::vector<Fact>{account_set(seq, 2, "ml", 1, "")}));
  }
  sql("UPDATE facts SET kind = 99 WHERE seq = 3");
  Texts got;
  auto recovered = reader(*store)->recover(got);
  ASSERT_FALSE(recovered.ok());
  EXPECT_NE(recovered.error().message().find("row 3 of table facts"), std::string::npos);
  EXPECT_TRUE(says_damage(recovered.error()));
  sql("UPDATE facts SET kind = 6; DELETE FROM facts WHERE seq = 2");
  recovered = reader(*store)->recover(got);
  ASSERT_FALSE(recovered.ok());
  EXPECT_NE(recovered.error().message().find("row 2 of table facts is missing"), std::string::npos);
}

TEST_F(SqliteStoreTest, FailedCommitLeavesNothing) {
  auto store = open();
  ASSERT_FALSE(store->commit(std::vector<Fact>{charged(1, 0, 10)}));
  Fact twice = charged(3, 0, 10);
  std::get<fact::Charged>(twice.body).row.allocation.job = JobId(ClusterId(1), 1);
  const auto error = store->commit(std::vector<Fact>{charged(2, 0, 10), twice});
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("UNIQUE"), std::string::npos) << error->message();
  Texts got;
  ASSERT_TRUE(reader(*store)->recover(got).ok());
  EXPECT_EQ(got.tail.size(), 1u);
  EXPECT_EQ(reader(*store)->ledger({})->size(), 1u);
}

TEST_F(SqliteStoreTest, LedgerPagesByTimeAccountAndJob) {
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

TEST_F(SqliteStoreTest, DailyUsageCutsAtMidnightAndSumsToTheLedger) {
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

TEST_F(SqliteStoreTest, AuditShowsWhoWhatWhyBeforeAndAfter) {
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

TEST_F(SqliteStoreTest, SecondOpenerIsRefusedByName) {
  auto store = open();
  const std::string error = open_error();
  EXPECT_NE(error.find("locked by process " + std::to_string(::getpid())), std::string::npos)
      << error;
  store = nullptr;
  EXPECT_EQ(open_error(), "");
}

TEST_F(SqliteStoreTest, GarbageAndForeignFilesAreRefusedAndNotTouched) {
  const std::string garbage =
      "this is not a database, and longer than a header, " + std::string(200, '!');
  std::ofstream(path_) << garbage;
  EXPECT_NE(open_error().find("not an SQLite file"), std::string::npos);
  std::stringstream after;
  after << std::ifstream(path_).rdbuf();
  EXPECT_EQ(after.str(), garbage);
  fs::remove(path_);
  sql("CREATE TABLE photos (x)");
  EXPECT_NE(open_error().find("another program"), std::string::npos);
}

class DamagedStoreTest : public SqliteStoreTest {
 protected:
  void SetUp() override {
    auto store = open();
    std::vector<Fact> facts;
    for (std::uint64_t seq = 1; seq <= 2000; ++seq)
      facts.push_back(account_set(seq, 2, "ml", 1, "ana"));
    ASSERT_FALSE(store->commit(facts));
    store = nullptr;
    ASSERT_GT(fs::file_size(path_), 100'000u);
  }
};

TEST_F(DamagedStoreTest, TruncatedFileIsRefused) {
  fs::resize_file(path_, fs::file_size(path_) / 2);
  EXPECT_NE(open_error().find("cut off"), std::string::npos) << open_error();
  fs::resize_file(path_, 50);
  EXPECT_NE(open_error(), "");
}

TEST_F(DamagedStoreTest, OverwrittenPagesAreRefused) {
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  const std::string junk(4096, '\xa5');
  for (std::uint64_t page = 8; page < 12; ++page) {
    file.seekp(static_cast<std::streamoff>(page * 4096));
    file.write(junk.data(), static_cast<std::streamsize>(junk.size()));
  }
  file.close();
  EXPECT_NE(open_error().find("undamaged"), std::string::npos) << open_error();
}

TEST_F(SqliteStoreTest, ChangedOrNewerMigrationsAreRefused) {
  std::vector<Migration> other{{"0001_facts", "CREATE TABLE other (x)"}};
  const auto make = [this](const std::vector<Migration>& all) {
    fs::remove(path_);
    Connection db;
    ASSERT_TRUE(db.open(path_, OpenMode::kCreate));
    ASSERT_TRUE(db.exec("PRAGMA application_id=0x5342414b"));
    ASSERT_TRUE(migrate(db, all).ok());
  };
  make(other);
  EXPECT_NE(open_error().find("the migration that this program has"), std::string::npos)
      << open_error();
  std::vector<Migration> more = sqlite_migrations();
  more.push_back({"0999_later", "CREATE TABLE later (x)"});
  make(more);
  EXPECT_NE(open_error().find("newer subakd"), std::string::npos) << open_error();
  sql("UPDATE migrations SET checksum = 'x'");
  EXPECT_NE(open_error().find("row 1 of table migrations is not"), std::string::npos)
      << open_error();
  sql("DELETE FROM migrations");
  EXPECT_NE(open_error().find("row 1 of table migrations is missing"), std::string::npos)
      << open_error();
  fs::remove(path_);
  open();
  {
    Connection db;
    ASSERT_TRUE(db.open(path_, OpenMode::kReadWrite));
    ASSERT_TRUE(write_meta(db, "fact_version", "999"));
  }
  EXPECT_NE(open_error().find("newer subakd"), std::string::npos) << open_error();
}

TEST_F(SqliteStoreTest, MigrationsGoForwardOnce) {
  Connection db;
  ASSERT_TRUE(db.open(path_, OpenMode::kCreate));
  std::vector<Migration> all{{"0001_a", "CREATE TABLE a (x)"}};
  EXPECT_EQ(*migrate(db, all), 1);
  EXPECT_EQ(*migrate(db, all), 0);
  all.push_back({"0002_b", "CREATE TABLE b (x); INSERT INTO b VALUES (1)"});
  all.push_back({"0003_broken", "CREATE TABLE c (x); INSERT INTO nowhere VALUES (1)"});
  EXPECT_FALSE(migrate(db, all).ok());
  EXPECT_EQ(db.number("SELECT count(*) FROM migrations"), 2);
  EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_master WHERE name = 'c'"), 0);  // undone
  all.pop_back();
  EXPECT_EQ(*migrate(db, all), 0);
  EXPECT_EQ(db.number("SELECT count(*) FROM b"), 1);
  all[0].sql = "CREATE TABLE a (y)";
  EXPECT_FALSE(migrate(db, all).ok());
}

TEST_F(SqliteStoreTest, EmbeddedMigrationsAreTheFiles) {
  std::stringstream file;
  file << std::ifstream("migrations/sqlite/0001_facts.sql").rdbuf();
  ASSERT_FALSE(file.str().empty());
  EXPECT_EQ(sqlite_migrations().front().name, "0001_facts");
  EXPECT_EQ(sqlite_migrations().front().sql, file.str());
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// The log of a store that was never closed (a copy taken while it runs) is applied on open.
TEST_F(SqliteStoreTest, CopyOfARunningStoreHasEveryCommit) {
  auto store = open();
  std::size_t copies = 0;
  std::uint64_t seq = 0;
  for (int round = 0; round < 5; ++round) {
    std::vector<Fact> facts;
    for (int i = 0; i < 300; ++i) facts.push_back(account_set(++seq, 2, "ml", 1, "ana"));
    ASSERT_FALSE(store->commit(facts));
    const std::string copy = (dir_ / ("copy" + std::to_string(++copies) + ".db")).string();
    fs::copy_file(path_, copy);
    fs::copy_file(path_ + "-wal", copy + "-wal");
    auto second = open(copy);
    ASSERT_NE(second, nullptr);
    Texts got;
    ASSERT_TRUE(reader(*second)->recover(got).ok());
    EXPECT_EQ(got.tail.size(), seq);
  }
}

// Many commits with a checkpoint beside them: the log is copied and starts over, nothing is lost.
TEST_F(SqliteStoreTest, LogStaysBoundedUnderLoad) {
  auto store = open();
  const auto page = [](std::uint64_t pages) { return pages * 4096; };
  std::uint64_t seq = 0;
  std::uintmax_t largest = 0;
  for (int round = 0; round < 150; ++round) {
    std::vector<Fact> facts;
    for (int i = 0; i < 1000; ++i) {
      ++seq;
      facts.push_back(charged(seq, static_cast<TimeMs>(seq), static_cast<TimeMs>(seq) + 1));
    }
    ASSERT_FALSE(store->commit(facts));
    if (round % 50 == 20) {
      ASSERT_FALSE(store->write_checkpoint(
          seq, pack(std::vector<Fact>(3000, account_set(0, 2, "ml", 1, "")))));
    }
    largest = std::max(largest, fs::file_size(path_ + "-wal"));
  }
  EXPECT_GT(fs::file_size(path_), page(limits::kWalPages) / 2);  // it was copied
  RecordProperty("largest_log_bytes", std::to_string(largest));
  EXPECT_LT(largest, page(limits::kWalPages) * 8);
  Texts got;
  const auto recovered = reader(*store)->recover(got);
  ASSERT_TRUE(recovered.ok());
  EXPECT_EQ(recovered->seq, seq);
}

}  // namespace
}  // namespace subak
