// Copies, their proof, and putting one in place: what passes is whole, and nothing is ever lost.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "server/store/file/activity_files.h"
#include "server/store/file/connection.h"
#include "server/store/file/copy.h"
#include "server/store/file/side_files.h"
#include "server/store/move/restore.h"
#include "server/store/past/past_files.h"
#include "server/store/proof/head.h"
#include "server/store/proof/ledger_rows.h"
#include "server/store/proof/migrate.h"
#include "server/store/proof/verify.h"
#include "tests/server/store/support/store_program.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

bool always() { return true; }

std::string bytes_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class StoreBackupTest : public testing::Test {
 protected:
  StoreBackupTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::temp_directory_path() /
           ("subak_backup_" + std::string(info->name()) + "_" + std::to_string(::getpid()));
    fs::create_directories(dir_);
    path_ = file("subak.db");
    backup_ = file("backup.db");
  }
  ~StoreBackupTest() override { fs::remove_all(dir_); }

  std::string file(const std::string& name) const { return (dir_ / name).string(); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  // A store with history, a checkpoint and facts after it; its state at the end.
  StateMark made() {
    Program program(path_);
    program.found();
    program.work();
    program.checkpoint();
    program.work();
    return {program.engine().seq(), program.engine().digest()};
  }
  // As `subak admin backup` leaves it.
  StoreReport backed_up() {
    const StateMark live = made();
    EXPECT_FALSE(copy_store(path_, backup_, always));
    auto report = verify_store(backup_, live);
    EXPECT_TRUE(report.ok()) << report.error().message();
    EXPECT_FALSE(note_history(backup_, *report));
    return *report;
  }
  static void sql(const std::string& path, const std::string& statement) {
    Connection db;
    ASSERT_TRUE(db.open(path, OpenMode::kReadWrite));
    ASSERT_TRUE(db.exec(statement.c_str())) << db.error("").got;
  }
  static void write(const std::string& path, const char* key, const char* value) {
    Connection db;
    ASSERT_TRUE(db.open(path, OpenMode::kReadWrite));
    ASSERT_TRUE(write_meta(db, key, value));
  }
  static std::string refusal(const std::string& path,
                             const std::optional<StateMark>& live = std::nullopt) {
    const auto report = verify_store(path, live);
    return report.ok() ? "" : report.error().message();
  }
  std::string restore_refusal(bool force = false) {
    const auto done = restore_store({backup_, path_, force});
    return done.ok() ? "" : done.error().message();
  }

  fs::path dir_;
  std::string path_, backup_;
};

TEST_F(StoreBackupTest, ReportSaysWhatIsInIt) {
  const StateMark live = made();
  ASSERT_FALSE(copy_store(path_, backup_, always));
  const auto report = verify_store(backup_, live);
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->state.seq, live.seq);
  EXPECT_EQ(report->state.digest, live.digest);
  EXPECT_EQ(report->fact_version, 1u);
  EXPECT_GT(report->checkpoint_seq, 0u);
  EXPECT_LT(report->checkpoint_seq, live.seq);
  EXPECT_GT(report->ledger_rows, 0u);
  EXPECT_EQ(report->bytes, static_cast<std::int64_t>(fs::file_size(backup_)));
  EXPECT_EQ(report->history.size(), 64u);
  EXPECT_EQ(fs::status(backup_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(digest_text({0x0123456789abcdefULL, 1}), "0123456789abcdef0000000000000001");
}

// A copy is one picture: commits between its parts neither get into it nor make it begin anew.
TEST_F(StoreBackupTest, CommitsWhileItIsCopiedStayOut) {
  const StateMark before = made();
  Program program(path_);
  int asked = 0;
  const auto work_meanwhile = [&] {
    if (++asked == 1) program.work();
    return asked < 1000;
  };
  ASSERT_FALSE(copy_store(path_, backup_, work_meanwhile));
  EXPECT_GT(program.engine().seq(), before.seq);
  const auto report = verify_store(backup_, before);
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->state.seq, before.seq);
}

TEST_F(StoreBackupTest, CopyStopsWhenNobodyWantsItAndNeverOverwrites) {
  made();
  EXPECT_TRUE(copy_store(path_, backup_, [] { return false; }));
  EXPECT_FALSE(fs::exists(backup_));
  std::ofstream(backup_) << "mine";
  EXPECT_TRUE(copy_store(path_, backup_, always));
  EXPECT_EQ(bytes_of(backup_), "mine");
  EXPECT_TRUE(copy_store(path_, file("nowhere/backup.db"), always));
}

TEST_F(StoreBackupTest, ACopyThatWouldFillTheDiskIsRefused) {
  made();
  const auto error = copy_store(path_, backup_, always, std::int64_t{1} << 60);
  ASSERT_TRUE(error);
  EXPECT_NE(error->message().find("MiB free"), std::string::npos) << error->message();
  EXPECT_FALSE(fs::exists(backup_));
}

TEST_F(StoreBackupTest, StoreMakesCopiesBesideItself) {
  made();
  std::ofstream(path_ + ".copy") << "left by a process that was killed";
  Program program(path_);
  EXPECT_FALSE(fs::exists(path_ + ".copy"));
  const auto copy = program.store().make_copy(always);
  ASSERT_TRUE(copy.ok()) << copy.error().message();
  EXPECT_EQ(*copy, path_ + ".copy");
  EXPECT_EQ(refusal(*copy), "");
}

TEST_F(StoreBackupTest, WhatIsNoStoreIsRefused) {
  EXPECT_NE(refusal(file("nothing")).find("there is no such file"), std::string::npos);
  std::ofstream(file("text")) << std::string(200, '!');
  EXPECT_NE(refusal(file("text")).find("not an SQLite file"), std::string::npos);
  Connection db;
  ASSERT_TRUE(db.open(file("photos.db"), OpenMode::kCreate));
  ASSERT_TRUE(db.exec("CREATE TABLE photos (x)"));
  EXPECT_NE(refusal(file("photos.db")).find("another program"), std::string::npos);
  backed_up();
  fs::resize_file(backup_, fs::file_size(backup_) / 2);
  EXPECT_NE(refusal(backup_).find("cut off"), std::string::npos);
}

TEST_F(StoreBackupTest, NewerStoresAreRefused) {
  backed_up();
  write(backup_, "fact_version", "99");
  EXPECT_NE(refusal(backup_).find("finalized to fact version 99"), std::string::npos);
  {
    std::vector<Migration> more = sqlite_migrations();
    more.push_back({"0099_later", "CREATE TABLE later (x)"});
    Connection db;
    ASSERT_TRUE(db.open(backup_, OpenMode::kReadWrite) && migrate(db, more).ok());
  }
  EXPECT_NE(refusal(backup_).find("newer subakd"), std::string::npos);
}

// Each of these leaves a file that SQLite finds whole.
TEST_F(StoreBackupTest, DamageInsideIsFound) {
  const StoreReport report = backed_up();
  const auto after = [&](const std::string& statement) {
    const std::string copy = file("damaged.db");
    fs::copy_file(backup_, copy, fs::copy_options::overwrite_existing);
    sql(copy, statement);
    return refusal(copy);
  };
  const std::string last = std::to_string(report.state.seq);
  EXPECT_EQ(after("SELECT 1"), "");
  EXPECT_NE(
      after("UPDATE facts SET body = body || x'00' WHERE seq = 2").find("row 2 of table facts"),
      std::string::npos);
  EXPECT_NE(after("UPDATE facts SET time_ms = time_ms + 1 WHERE seq = " + last)
                .find("row " + last + " of table facts is not"),
            std::string::npos);
  EXPECT_NE(after("DELETE FROM facts WHERE seq = " + last)
                .find("row " + last + " of table facts is missing"),
            std::string::npos);
  EXPECT_NE(after("UPDATE ledger SET milligpu = milligpu + 1").find("of table ledger is not"),
            std::string::npos);
  EXPECT_NE(after("DELETE FROM ledger").find("of table ledger is missing"), std::string::npos);
  EXPECT_NE(after("UPDATE audit SET actor = 'eve' WHERE seq = 1").find("row 1 of table audit"),
            std::string::npos);
  EXPECT_NE(after("DELETE FROM audit WHERE seq = 1").find("of table audit is missing"),
            std::string::npos);
  EXPECT_NE(after("UPDATE checkpoint SET body = body || x'00' WHERE ord = 1").find("row 1 is not"),
            std::string::npos);
  EXPECT_NE(after("DELETE FROM checkpoint WHERE ord = 0").find("row 0 is missing"),
            std::string::npos);
  EXPECT_NE(after("UPDATE meta SET value = '2' WHERE key = 'fact_version'").find("table meta"),
            std::string::npos);
  EXPECT_NE(after("UPDATE head SET facts = facts - 1").find("row 1 of table head"),
            std::string::npos);
}

// And what only somebody could have made who knows the checksums.
TEST_F(StoreBackupTest, WhatDoesNotFitTogetherIsFound) {
  backed_up();
  fs::copy_file(backup_, file("history.db"));
  write(file("history.db"), "history", "of another store");
  EXPECT_NE(refusal(file("history.db")).find("facts changed"), std::string::npos);
  fs::copy_file(backup_, file("checkpoint.db"));
  {
    Program program(file("checkpoint.db"));
    const std::vector<Fact> others = Engine().checkpoint();
    ASSERT_FALSE(program.store().write_checkpoint(program.engine().seq(), pack(others)));
  }
  EXPECT_NE(refusal(file("checkpoint.db")).find("digest from the checkpoint"), std::string::npos);
  fs::copy_file(backup_, file("ledger.db"));
  {
    Connection db;
    ASSERT_TRUE(db.open(file("ledger.db"), OpenMode::kReadWrite));
    const auto seed = read_seed(db);
    Statement first;
    ASSERT_TRUE(first.prepare(db, "SELECT " + std::string(kLedgerColumns) + " FROM ledger"));
    ASSERT_TRUE(first.step());
    auto entry = ledger_entry(first, *seed);
    ASSERT_TRUE(entry);
    first.reset();
    ++entry->row.milligpu;
    const std::string drop = "DELETE FROM ledger WHERE seq = " + std::to_string(entry->seq);
    LedgerWriter writer;
    ASSERT_TRUE(db.exec(drop.c_str()) && writer.prepare(db, *seed) && writer.insert(1, *entry));
  }
  EXPECT_NE(refusal(file("ledger.db")).find("store.ledger"), std::string::npos);
}

TEST_F(StoreBackupTest, AStateThatIsNotTheServicesOwnIsFound) {
  StateMark live = made();
  ASSERT_FALSE(copy_store(path_, backup_, always));
  live.digest[1] ^= 1;
  EXPECT_NE(refusal(backup_, live).find("the service's own"), std::string::npos);
  live = {live.seq + 1, {}};
  EXPECT_NE(refusal(backup_, live).find("none after"), std::string::npos);
}

TEST_F(StoreBackupTest, RestoredIntoANewFolder) {
  const StoreReport report = backed_up();
  const std::string state = file("new/var/subak.db");
  const auto done = restore_store({backup_, state, false});
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(done->replaced, "");
  EXPECT_EQ(done->report.state.seq, report.state.seq);
  EXPECT_EQ(done->report.state.digest, report.state.digest);
  EXPECT_EQ(done->report.history, report.history);
  Program program(state);
  EXPECT_EQ(program.error(), "");
  EXPECT_EQ(program.engine().digest(), report.state.digest);
  program.work();
  // What was noted about the first facts stays true for a longer history.
  const StateMark now{program.engine().seq(), program.engine().digest()};
  ASSERT_FALSE(copy_store(state, file("second.db"), always));
  EXPECT_EQ(refusal(file("second.db"), now), "");
}

TEST_F(StoreBackupTest, AStoreInPlaceIsPutAsideOnlyWhenAsked) {
  const StoreReport report = backed_up();
  StateMark newer;
  {
    Program program(path_);
    program.work();
    newer = {program.engine().seq(), program.engine().digest()};
  }
  EXPECT_NE(restore_refusal().find("there is a store already"), std::string::npos);
  ASSERT_FALSE(write_summed_file(path_ + kCalibrationSuffix, kCalibrationFile, 1,
                                 "what the other store told"));
  ASSERT_FALSE(write_activity_file(path_ + kActivitySuffix, 1, 0, "jobs of the other store"));
  ASSERT_FALSE(
      write_summed_file(path_ + kNoticeSuffix, kNoticeFile, 1, "marks of the other store"));
  std::filesystem::create_directory(path_ + kPastSuffix);
  std::ofstream(path_ + kPastSuffix + "/2") << "a checkpoint of the other store";
  const auto done = restore_store({backup_, path_, true});
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(done->replaced, path_ + ".replaced-1");
  EXPECT_FALSE(std::filesystem::exists(path_ + kPastSuffix));
  EXPECT_TRUE(std::filesystem::exists(done->replaced + kPastSuffix + "/2"));
  EXPECT_FALSE(std::filesystem::exists(path_ + kActivitySuffix));
  EXPECT_EQ(*read_activity_file(done->replaced + kActivitySuffix, 1, 0), "jobs of the other store");
  EXPECT_FALSE(read_activity_file(done->replaced + kActivitySuffix, 2, 0).ok());
  EXPECT_FALSE(std::filesystem::exists(path_ + kNoticeSuffix));
  EXPECT_EQ(*read_summed_file(done->replaced + kNoticeSuffix, kNoticeFile, 1),
            "marks of the other store");
  EXPECT_FALSE(std::filesystem::exists(path_ + kCalibrationSuffix));
  EXPECT_TRUE(std::filesystem::exists(done->replaced + kCalibrationSuffix));
  EXPECT_EQ(Program(path_).engine().digest(), report.state.digest);
  EXPECT_EQ(Program(done->replaced).engine().digest(), newer.digest);
  EXPECT_EQ(restore_store({backup_, path_, true})->replaced, path_ + ".replaced-2");
}

// The log of a process that was killed belongs to its store: it goes aside with it, and SQLite does
// not apply it to the store that comes.
TEST_F(StoreBackupTest, TheLogOfAKilledProcessGoesAside) {
  const StoreReport report = backed_up();
  const std::string killed = file("killed.db");
  StateMark newer;
  {
    Program program(path_);
    program.work();
    newer = {program.engine().seq(), program.engine().digest()};
    fs::copy_file(path_, killed);
    fs::copy_file(path_ + "-wal", killed + "-wal");
  }
  ASSERT_GT(fs::file_size(killed + "-wal"), 0u);
  const auto done = restore_store({backup_, killed, true});
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(Program(killed).engine().digest(), report.state.digest);
  EXPECT_EQ(Program(done->replaced).engine().digest(), newer.digest);
}

TEST_F(StoreBackupTest, ARunningServiceIsNotReplaced) {
  backed_up();
  const Program running(path_);
  EXPECT_NE(restore_refusal(true).find("locked by process"), std::string::npos);
}

TEST_F(StoreBackupTest, ARefusedRestoreChangesNothing) {
  backed_up();
  std::vector<std::string> before = files();
  const std::string bytes = bytes_of(path_);
  sql(backup_, "UPDATE facts SET body = body || x'00' WHERE seq = 2");
  EXPECT_NE(restore_refusal(true).find(backup_ + ": was \"row 2 of table facts"),
            std::string::npos);
  backup_ = file("nothing");
  EXPECT_NE(restore_refusal(true).find("no such file"), std::string::npos);
  EXPECT_EQ(files(), before);
  EXPECT_EQ(bytes_of(path_), bytes);
}

}  // namespace
}  // namespace subak
