// Fact versions: what the previous program may still read, and what stops it with a clear error.
#include <gtest/gtest.h>

#include <filesystem>

#include "server/store/file/connection.h"
#include "server/store/proof/head.h"
#include "server/store/proof/migrate.h"
#include "tests/server/store/support/store_program.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

// This program, and the one after it: what only that one writes is in store_format_test.cc.
constexpr std::uint32_t kPrevious = kFactVersion;
constexpr std::uint32_t kNext = kFactVersion + 1;

class StoreVersionTest : public testing::Test {
 protected:
  StoreVersionTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::temp_directory_path() /
           ("subak_version_" + std::string(info->name()) + "_" + std::to_string(::getpid()));
    fs::create_directories(dir_);
    path_ = (dir_ / "subak.db").string();
  }
  ~StoreVersionTest() override { fs::remove_all(dir_); }

  void made_by_previous() {
    Program previous(path_, kPrevious);
    ASSERT_EQ(previous.error(), "");
    previous.found();
    previous.work();
  }

  fs::path dir_;
  std::string path_;
};

TEST_F(StoreVersionTest, ThereAndBackUntilFinalized) {
  made_by_previous();
  std::array<std::uint64_t, 2> digest{};
  {
    Program now(path_, kNext);
    ASSERT_EQ(now.error(), "");
    EXPECT_EQ(now.engine().view()->fact_version, kPrevious);
    now.work();
    now.checkpoint();
    now.work();
    digest = now.engine().digest();
  }
  {
    Program previous(path_, kPrevious);
    ASSERT_EQ(previous.error(), "");
    EXPECT_EQ(previous.engine().digest(), digest);
    previous.work();
    digest = previous.engine().digest();
  }
  {
    Program now(path_, kNext);
    ASSERT_EQ(now.error(), "");
    EXPECT_EQ(now.engine().digest(), digest);
    ASSERT_FALSE(now.finalize(kNext));
    EXPECT_EQ(now.engine().view()->fact_version, kNext);
    now.work();
    digest = now.engine().digest();
  }
  EXPECT_EQ(Program(path_, kPrevious).error(),
            path_ + ": was \"finalized to fact version " + std::to_string(kNext) +
                "\", want fact version " + std::to_string(kPrevious) +
                " or older, which is all that this program knows: run the newer subakd that "
                "finalized it, or restore a backup made before that");
  Program now(path_, kNext);
  ASSERT_EQ(now.error(), "");
  EXPECT_EQ(now.engine().digest(), digest);
  EXPECT_EQ(now.engine().view()->fact_version, kNext);
}

// Every level that a released program may have left behind.
TEST_F(StoreVersionTest, AStoreOfEachMigrationLevelOpens) {
  const std::vector<Migration>& all = sqlite_migrations();
  for (std::size_t level = 0; level <= all.size(); ++level) {
    const std::string path = path_ + std::to_string(level);
    {
      Connection db;
      ASSERT_TRUE(db.open(path, OpenMode::kCreate));
      ASSERT_TRUE(db.exec("PRAGMA application_id=0x5342414b"));
      const auto last = all.begin() + static_cast<std::ptrdiff_t>(level);
      EXPECT_EQ(*migrate(db, {all.begin(), last}), static_cast<int>(level));
    }
    Program program(path);
    ASSERT_EQ(program.error(), "") << "level " << level;
    program.found();
    program.work();
    Connection db;
    ASSERT_TRUE(db.open(path, OpenMode::kReadOnly));
    EXPECT_EQ(*check_applied(db, all), all.size());
  }
}

// Programs of other times: one that lacks the last migration, and one that has another text for it.
TEST_F(StoreVersionTest, MigrationsOfOthersAreRefusedAndNothingIsChanged) {
  made_by_previous();
  std::vector<Migration> all = sqlite_migrations();
  all.push_back({"9999_later", "CREATE TABLE later (x)"});
  Connection db;
  ASSERT_TRUE(db.open(path_, OpenMode::kReadWrite));
  ASSERT_EQ(*migrate(db, all), 1);
  const std::string newer = Program(path_).error();
  EXPECT_NE(newer.find("9999_later"), std::string::npos) << newer;
  EXPECT_NE(newer.find("a newer subakd wrote it, run that one"), std::string::npos) << newer;
  all.back().sql = "CREATE TABLE later (y)";
  const auto changed = migrate(db, all);
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.error().message().find("9999_later"), std::string::npos);
  EXPECT_EQ(db.number("SELECT count(*) FROM pragma_table_info('later') WHERE name = 'y'"), 0);
}

// The version is part of the state, so that a start from a checkpoint knows it too.
TEST_F(StoreVersionTest, CheckpointKeepsTheVersion) {
  made_by_previous();
  {
    Program now(path_, kNext);
    ASSERT_FALSE(now.finalize(kNext));
    now.checkpoint();
  }
  Program now(path_, kNext);
  EXPECT_EQ(now.engine().view()->fact_version, kNext);
}

TEST_F(StoreVersionTest, NobodyFinalizesToAVersionThatHeDoesNotKnow) {
  made_by_previous();
  {
    Program previous(path_, kPrevious);
    EXPECT_TRUE(previous.finalize(kNext));
  }
  EXPECT_EQ(Program(path_, kPrevious).engine().view()->fact_version, kPrevious);
}

}  // namespace
}  // namespace subak
