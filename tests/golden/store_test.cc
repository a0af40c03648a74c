// Stores of every fact version, each written by the program of its time: this program must read
// them to the same state for ever. SUBAK_REWRITE=1 rewrites the expected texts; the review is the
// diff, and a change of an old one needs a very good reason.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/engine.h"
#include "server/runtime/runtime.h"
#include "server/store/file/connection.h"
#include "server/store/proof/migrate.h"
#include "server/store/proof/verify.h"
#include "server/store/sqlite/sqlite_store.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "tests/golden/store/";
constexpr std::uintmax_t kMostBytes = 300'000;

class GoldenStore : public testing::TestWithParam<std::uint32_t> {
 protected:
  GoldenStore() {
    name_ = "v" + std::to_string(GetParam());
    dir_ = fs::temp_directory_path() / ("subak_golden_" + name_ + "_" + std::to_string(::getpid()));
    fs::create_directories(dir_);
    copy_ = (dir_ / "subak.db").string();
    fs::copy_file(kFolder + name_ + ".db", copy_);  // opening one may write to it
  }
  ~GoldenStore() override { fs::remove_all(dir_); }

  std::string name_, copy_;
  fs::path dir_;
};

std::string state_text(const Engine& engine, const StoreReport& report) {
  std::string out = "fact_version " + std::to_string(report.fact_version) + "\nfacts " +
                    std::to_string(report.state.seq) + "\ncheckpoint_at " +
                    std::to_string(report.checkpoint_seq) + "\nledger_rows " +
                    std::to_string(report.ledger_rows) + "\nhistory " + report.history + "\n";
  for (const Fact& fact : engine.checkpoint()) out += fact_to_text(fact) + "\n";
  return out;
}

TEST_P(GoldenStore, ReadsToTheSameState) {
  EXPECT_LT(fs::file_size(copy_), kMostBytes);
  {
    Connection db;
    ASSERT_TRUE(db.open(copy_, OpenMode::kReadWrite));
    ASSERT_TRUE(migrate(db, sqlite_migrations()).ok());
  }
  const auto report = verify_store(copy_, std::nullopt);
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->fact_version, GetParam());
  EXPECT_GT(report->checkpoint_seq, 0u);                 // a checkpoint
  EXPECT_LT(report->checkpoint_seq, report->state.seq);  // and a tail

  Connection db;
  ASSERT_TRUE(db.open(copy_, OpenMode::kReadOnly));
  // Nothing is finalized to version 1. Its history has no start that leaps (fact::TimeLeapt), no scheduler
  // that refuses (SchedulerRefused), no gang that comes out of order (PodsRanked) or is resized (GangResized),
  // and no claim (Claimed), as its policy has `reclaim` off. No account has a budget (BudgetPeriodSet,
  // CivilEndsSet, BudgetReached) or is moved (AccountMoved), no job is not Ready in time (ReadyTimedOut), and no
  // owner is parked (JobParked).
  const int unused = GetParam() == 1 ? 13 : 0;
  EXPECT_EQ(db.number("SELECT count(*) FROM (SELECT kind FROM facts UNION SELECT kind FROM "
                      "checkpoint)"),
            kKindsOfVersion[GetParam() - 1] - unused);  // each kind that there was

  auto store = open_sqlite_store({copy_});
  ASSERT_TRUE(store.ok()) << store.error().message();
  Engine engine;
  ASSERT_TRUE(recover_engine(**(*store)->open_reader(), engine).ok());
  engine.check_invariants();
  const std::string text = state_text(engine, *report);
  const std::string path = kFolder + name_ + ".txt";
  if (std::getenv("SUBAK_REWRITE") != nullptr) std::ofstream(path) << text;
  std::stringstream expected;
  expected << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, expected.str());

  // And it goes on from there.
  Input input;
  input.time_ms = engine.now() + kHourMs;
  input.body = in::Restarted{};
  const auto facts = engine.apply(input).facts;
  ASSERT_FALSE(facts.empty());
  EXPECT_FALSE((*store)->commit(facts));
  engine.check_invariants();
}

INSTANTIATE_TEST_SUITE_P(Versions, GoldenStore, testing::Range(1u, kFactVersion + 1),
                         [](const auto& version) { return "v" + std::to_string(version.param); });

}  // namespace
}  // namespace subak
