// What keeps a store one store, on one disk, under one name; and the way on when only its
// checkpoint is damaged.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "server/store/file/connection.h"
#include "server/store/file/file_system.h"
#include "server/store/file/row_sum.h"
#include "server/store/file/store_lock.h"
#include "server/store/proof/checks.h"
#include "server/store/proof/full_check.h"
#include "server/store/proof/sqlite_reader.h"
#include "tests/server/store/support/store_program.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

class StoreGuardTest : public testing::Test {
 protected:
  StoreGuardTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::temp_directory_path() /
           ("subak_guard_" + std::string(info->name()) + "_" + std::to_string(::getpid()));
    fs::create_directories(dir_);
    path_ = file("subak.db");
  }
  ~StoreGuardTest() override { fs::remove_all(dir_); }

  std::string file(const std::string& name) const { return (dir_ / name).string(); }
  // A store with history, a checkpoint and facts after it; its state at the end.
  std::array<std::uint64_t, 2> made() const {
    Program program(path_);
    EXPECT_EQ(program.error(), "");
    program.found();
    program.work();
    program.checkpoint();
    program.work();
    return program.engine().digest();
  }
  static void sql(const std::string& path, const std::string& statement) {
    Connection db;
    ASSERT_TRUE(db.open(path, OpenMode::kReadWrite));
    ASSERT_TRUE(db.exec(statement.c_str())) << db.error("").got;
  }
  std::string refusal(const SqliteOptions& options) const {
    auto store = open_sqlite_store(options);
    return store.ok() ? "" : store.error().message();
  }
  std::string refusal() const { return refusal({path_}); }

  fs::path dir_;
  std::string path_;
};

TEST(RowSumTest, IsCrc32c) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);  // RFC 3720
  EXPECT_EQ(crc32c("56789", crc32c("1234")), crc32c("123456789"));
  EXPECT_EQ(crc32c(""), 0u);
  const std::string large(1000, 'x');
  EXPECT_NE(RowSum(0).add("ab").add("c").value(), RowSum(0).add("a").add("bc").value());
  EXPECT_NE(RowSum(0).add(std::int64_t{1}).value(), RowSum(1).add(std::int64_t{1}).value());
  EXPECT_EQ(RowSum(7).add(large).add("y").value(),
            crc32c(std::string("\1\0\0\0\0\0\0\0y", 9),
                   crc32c(large, crc32c(std::string("\xe8\3\0\0\0\0\0\0", 8), 7))));
  EXPECT_EQ(sum_of(sum_column(0xffffffffu)), 0xffffffffu);
}

TEST_F(StoreGuardTest, ALinkToAStoreIsThatStore) {
  const auto digest = made();
  fs::create_symlink(path_, file("link.db"));
  {
    const Program program(path_);
    const std::string error = refusal({file("link.db")});
    EXPECT_NE(error.find("subak.db.lock: was \"locked by process"), std::string::npos) << error;
  }
  Program linked(file("link.db"));
  EXPECT_EQ(linked.engine().digest(), digest);
  linked.work();
  EXPECT_FALSE(fs::exists(file("link.db-wal")));
  EXPECT_FALSE(fs::exists(file("link.db.lock")));
}

// A lock file that was removed, or a second name of the same file: the store itself is locked.
TEST_F(StoreGuardTest, TheFileItselfIsLocked) {
  made();
  fs::create_hard_link(path_, file("second.db"));
  const Program program(path_);
  fs::remove(path_ + ".lock");
  for (const std::string& name : {path_, file("second.db")}) {
    const auto lock = StoreLock::acquire(name, StoreLock::Missing::kLeave);
    ASSERT_FALSE(lock.ok());
    EXPECT_EQ(lock.error().message(),
              name +
                  ": was \"locked by another process, which has it under another name\", one "
                  "subakd per store: stop that process first, or use another --state");
  }
}

TEST_F(StoreGuardTest, ANetworksFileSystemIsRefused) {
  SqliteOptions options{path_};
  for (const std::uint32_t magic : {0x6969u, 0xff534d42u, 0xfe534d42u, 0x517bu, 0x01021997u}) {
    options.file_system = magic;
    EXPECT_NE(refusal(options).find("a network file system\", want a disk of this machine"),
              std::string::npos)
        << magic;
  }
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_FALSE(fs::exists(path_ + ".lock"));
  options.file_system = 0xef53;  // ext4
  EXPECT_EQ(refusal(options), "");
  EXPECT_NE(file_system_of(path_), 0u);
  EXPECT_EQ(file_system_of(file("nowhere/subak.db")), 0u);
}

// Nothing is acknowledged into a file that nobody will find again.
TEST_F(StoreGuardTest, AFileThatWasTakenAwayTakesNoCommits) {
  for (const std::string suffix : {"", "-wal"}) {
    const std::string path = file("store" + suffix);
    auto store = std::move(*open_sqlite_store({path}));
    const std::vector<Fact> facts{Fact{1, 1, fact::AccountSet{}}};
    fs::rename(path + suffix, file("taken"));
    const auto error = store->commit(facts);
    ASSERT_TRUE(error);
    EXPECT_NE(error->message().find(path + suffix +
                                    ": was \"removed or replaced while the service ran\""),
              std::string::npos)
        << error->message();
    fs::copy_file(file("taken"), path + suffix);  // another file of that name
    EXPECT_TRUE(store->commit(facts));
    EXPECT_TRUE(store->check_owned());
    fs::rename(file("taken"), path + suffix);
    EXPECT_FALSE(store->check_owned());
    EXPECT_FALSE(store->commit(facts));
  }
}

TEST_F(StoreGuardTest, AFileThatWasTakenAwayIsToldWithoutACommit) {
  std::promise<Error> lost;
  SqliteOptions options{path_};
  options.on_lost = [&lost](const Error& error) { lost.set_value(error); };
  auto store = open_sqlite_store(options);
  ASSERT_TRUE(store.ok()) << store.error().message();
  fs::rename(path_, file("taken"));
  EXPECT_EQ(lost.get_future().get().field, path_);
}

TEST_F(StoreGuardTest, AStoreThatLostItsEndIsNotTakenForWhole) {
  made();
  fs::copy_file(path_, file("older.db"));
  {
    Program program(path_);
    program.work();
  }
  fs::rename(path_, file("newer.db"));
  EXPECT_NE(refusal().find("was \"empty, but there was a store of"), std::string::npos)
      << refusal();
  EXPECT_NE(refusal().find("was \"empty, but there was a store of"), std::string::npos);
  fs::remove(path_);
  fs::copy_file(file("older.db"), path_);
  const std::string error = refusal();
  EXPECT_NE(error.find("it ends with fact"), std::string::npos) << error;
  EXPECT_NE(error.find("was durable"), std::string::npos) << error;
  EXPECT_EQ(refusal(), error);  // trying again changes nothing
  fs::remove(path_ + ".lock");  // what it says for an older copy that is meant
  EXPECT_EQ(refusal(), "");
}

TEST_F(StoreGuardTest, TheNoteOfALockIsBelievedOnlyWhole) {
  made();
  std::fstream note(path_ + ".lock", std::ios::in | std::ios::out | std::ios::binary);
  note.seekp(60);
  note << "999";
  note.close();
  const auto lock = StoreLock::acquire(path_, StoreLock::Missing::kLeave);
  ASSERT_TRUE(lock.ok());
  EXPECT_FALSE(lock->mark());
  lock->note({17, 42});
  ASSERT_TRUE(lock->mark());
  EXPECT_EQ(lock->mark()->seed, 17u);
  EXPECT_EQ(lock->mark()->facts, 42u);
  lock->forget();
  EXPECT_FALSE(lock->mark());
}

TEST_F(StoreGuardTest, ADamagedCheckpointIsLeftOutWhenAsked) {
  const auto digest = made();
  SqliteOptions leave_out{path_};
  leave_out.ignore_checkpoint = true;
  sql(path_, "UPDATE checkpoint SET body = body || x'00' WHERE ord = 1");
  const std::string error = refusal();
  EXPECT_NE(error.find("checkpoint: row 1 is not what was written"), std::string::npos) << error;
  EXPECT_NE(error.find("start once with --ignore-checkpoint"), std::string::npos) << error;
  EXPECT_EQ(refusal(leave_out), "");
  EXPECT_TRUE(fs::exists(path_ + ".replaced-1"));
  {
    Program program(path_);
    EXPECT_EQ(program.error(), "");
    EXPECT_EQ(program.engine().digest(), digest);
    program.work();
    program.checkpoint();
  }
  EXPECT_EQ(refusal(leave_out), "");  // of a sound one: it is just not used
  EXPECT_FALSE(fs::exists(path_ + ".replaced-2"));
  EXPECT_EQ(Program(path_).error(), "");
}

TEST_F(StoreGuardTest, DamagedFactsAreNotLeftOut) {
  made();
  SqliteOptions leave_out{path_};
  leave_out.ignore_checkpoint = true;
  sql(path_, "UPDATE checkpoint SET body = body || x'00' WHERE ord = 1");
  sql(path_, "UPDATE facts SET body = body || x'00' WHERE seq = 2");
  EXPECT_NE(refusal(leave_out).find("row 2 of table facts is not what was written"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(path_ + ".replaced-1"));
}

// A store that is too large to be read whole first: what is read is proved as it is read.
TEST_F(StoreGuardTest, WhatIsReadLaterIsProvedThen) {
  made();
  sql(path_, "UPDATE facts SET time_ms = time_ms + 1 WHERE seq = 2");
  sql(path_, "UPDATE ledger SET milligpu = milligpu + 1 WHERE ord = 1");
  sql(path_, "UPDATE audit SET actor = 'eve' WHERE ord = 2");
  SqliteOptions options{path_};
  options.check = false;
  auto store = open_sqlite_store(options);
  ASSERT_TRUE(store.ok()) << store.error().message();
  const auto reader = std::move(*(*store)->open_reader());
  const auto facts = reader->facts(0, 10);
  ASSERT_FALSE(facts.ok());
  EXPECT_NE(facts.error().message().find("row 2 of table facts"), std::string::npos);
  for (const auto& error : {reader->ledger({}).error(), reader->daily_usage({}).error()}) {
    EXPECT_NE(error.message().find("of table ledger is not what was written"), std::string::npos)
        << error.message();
    EXPECT_TRUE(says_damage(error));
  }
  const auto audit = reader->audit({});
  ASSERT_FALSE(audit.ok());
  EXPECT_NE(audit.error().message().find("of table audit is not what was written"),
            std::string::npos);
}

TEST_F(StoreGuardTest, ALargeStoreIsProvedBesideItsUse) {
  made();
  for (const bool damaged : {false, true}) {
    if (damaged) sql(path_, "UPDATE audit SET actor = 'eve' WHERE ord = 2");
    const auto sound = std::make_shared<std::atomic<bool>>(false);
    FullCheck check(sound);
    check.start(path_);
    check.wait();
    EXPECT_EQ(*sound, !damaged);
  }
}

// Until its indexes are proved, the rows of a job or payer are found without them, and the same.
TEST_F(StoreGuardTest, RowsWithAndWithoutTheIndexes) {
  made();
  LedgerQuery of_job, of_payer;
  of_job.job = JobId(ClusterId(1), 1);
  const auto sound = std::make_shared<std::atomic<bool>>(true);
  const auto plain = std::move(*SqliteReader::open(path_, kFactVersion));
  const auto indexed = std::move(*SqliteReader::open(path_, kFactVersion, sound));
  of_payer.payers = {plain->ledger({})->front().row.payer};
  for (const LedgerQuery& query : {of_job, of_payer}) {
    const auto a = plain->ledger(query), b = indexed->ledger(query);
    ASSERT_TRUE(a.ok() && b.ok());
    ASSERT_FALSE(a->empty());
    ASSERT_EQ(a->size(), b->size());
    for (std::size_t i = 0; i < a->size(); ++i) EXPECT_EQ((*a)[i].row, (*b)[i].row);
  }
  sql(path_, "UPDATE ledger SET milligpu = milligpu + 1");
  for (const LedgerQuery& query : {of_job, of_payer}) {
    EXPECT_FALSE(plain->ledger(query).ok());
    EXPECT_FALSE(indexed->ledger(query).ok());
  }
}

TEST_F(StoreGuardTest, MissingRowsAreNoticed) {
  made();
  const auto ledger_without = [&](const char* which) {
    const std::string copy = file("copy.db");
    fs::copy_file(path_, copy, fs::copy_options::overwrite_existing);
    sql(copy, std::string("DELETE FROM ledger WHERE ord = ") + which);
    SqliteOptions options{copy};
    options.check = false;
    auto store = open_sqlite_store(options);
    EXPECT_TRUE(store.ok());
    const auto rows = (*(*store)->open_reader())->ledger({});
    return rows.ok() ? "" : rows.error().message();
  };
  EXPECT_EQ(ledger_without("99"), "");
  for (const char* which : {"1", "2", "(SELECT max(ord) FROM ledger)"}) {
    EXPECT_NE(ledger_without(which).find("of table ledger is missing"), std::string::npos) << which;
  }
}

}  // namespace
}  // namespace subak
