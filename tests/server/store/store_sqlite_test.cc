// The SQLite store: what is written is read back, and what is not ours or not whole is refused.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/limits.h"
#include "server/store/proof/head.h"
#include "server/store/proof/migrate.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/server/store/support/pack_facts.h"
#include "tests/server/store/support/store_facts.h"
#include "tests/server/store/support/store_random_fact.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

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
