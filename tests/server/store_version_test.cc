// Fact versions: what the previous program may still read, and what stops it with a clear error.
#include <gtest/gtest.h>

#include <filesystem>

#include "engine/engine.h"
#include "server/runtime/runtime.h"
#include "server/store/connection.h"
#include "server/store/sqlite_store.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kPrevious = kFactVersion - 1;

// A program: the store as its version opens it, and an engine that has read it.
class Program {
 public:
  Program(const std::string& path, std::uint32_t knows) {
    SqliteOptions options{path};
    options.fact_version = knows;
    auto opened = open_sqlite_store(options);
    if (!opened.ok()) {
      error_ = opened.error().message();
      return;
    }
    store_ = std::move(*opened);
    auto reader = store_->open_reader();
    const Result<Recovered> recovered = recover_engine(**reader, engine_);
    if (!recovered.ok()) error_ = recovered.error().message();
  }

  const std::string& error() const { return error_; }
  Engine& engine() { return engine_; }

  // One input and what it caused, durable.
  std::optional<Error> apply(in::Body body, const char* actor = "ana") {
    Input input;
    input.time_ms = engine_.now() + kMinuteMs;
    input.actor = actor;
    input.body = std::move(body);
    const ApplyOutcome outcome = engine_.apply(input);
    if (outcome.reply.error) return outcome.reply.error;
    return outcome.facts.empty() ? std::nullopt : store_->commit(outcome.facts);
  }
  // A job from submission to its first running pod, and an edit.
  void work() {
    in::SubmitJob job;
    job.account = "ml";
    job.request.groups = {{1, PodShape{}}};
    job.request.groups[0].shape.kind = GpuKind::kWhole;
    job.request.groups[0].shape.gpus = 1;
    ASSERT_FALSE(apply(job));
    ASSERT_FALSE(apply(in::Pass{}));
    const std::vector<JobRow> jobs = engine_.jobs(JobId(), 100, JobState::kReserved, "");
    ASSERT_EQ(jobs.size(), 1u);
    PodRef pod;
    pod.job = jobs[0].id;
    ASSERT_FALSE(apply(in::PodBound{"east", pod, "n1", 0}));
    ASSERT_FALSE(apply(in::PodRunning{"east", pod, 0}));
    in::SetAccount edit;
    edit.spec = engine_.accounts().node(engine_.accounts().find("ml")).spec;
    ++edit.spec.shares;
    edit.reason = "more work";
    ASSERT_FALSE(apply(edit));
  }
  void checkpoint() {
    ASSERT_FALSE(store_->write_checkpoint(engine_.seq(), engine_.checkpoint()));
  }

 private:
  std::string error_;
  std::unique_ptr<Store> store_;
  Engine engine_;
};

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

  // Made by the previous program: a cluster, a node, an account, a running job.
  void made_by_previous() {
    Program previous(path_, kPrevious);
    ASSERT_EQ(previous.error(), "");
    NodeSpec node;
    node.name = "n1";
    node.product = "H100";
    node.gpus = 8;
    in::SetAccount account;
    account.spec.path = "ml";
    ASSERT_FALSE(previous.apply(in::SetCluster{"east", Mode::kEnforce, {}, "", false}));
    ASSERT_FALSE(previous.apply(in::ImportNodes{"east", {node}, "", false}));
    ASSERT_FALSE(previous.apply(account));
    previous.work();
  }
  void sql(const std::string& statement) const {
    Connection db;
    ASSERT_TRUE(db.open(path_, OpenMode::kReadWrite));
    ASSERT_TRUE(db.exec(statement.c_str())) << db.error("").got;
  }

  fs::path dir_;
  std::string path_;
};

TEST_F(StoreVersionTest, ThereAndBackUntilFinalized) {
  made_by_previous();
  std::array<std::uint64_t, 2> digest{};
  {
    Program now(path_, kFactVersion);
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
    Program now(path_, kFactVersion);
    ASSERT_EQ(now.error(), "");
    EXPECT_EQ(now.engine().digest(), digest);
    ASSERT_FALSE(now.apply(in::Finalize{kFactVersion, "the old program is gone", false}));
    EXPECT_EQ(now.engine().view()->fact_version, kFactVersion);
    now.work();
    digest = now.engine().digest();
  }
  EXPECT_EQ(Program(path_, kPrevious).error(),
            path_ + ": was \"finalized to fact version " + std::to_string(kFactVersion) +
                "\", want fact version " + std::to_string(kPrevious) +
                " or older, which is all that this program knows: run the newer subakd that "
                "finalized it, or restore a backup made before that");
  Program now(path_, kFactVersion);
  ASSERT_EQ(now.error(), "");
  EXPECT_EQ(now.engine().digest(), digest);
  EXPECT_EQ(now.engine().view()->fact_version, kFactVersion);
}

// The version is part of the state, so that a start from a checkpoint knows it too.
TEST_F(StoreVersionTest, CheckpointKeepsTheVersion) {
  made_by_previous();
  {
    Program now(path_, kFactVersion);
    ASSERT_FALSE(now.apply(in::Finalize{kFactVersion, "step", false}));
    now.checkpoint();
  }
  Program now(path_, kFactVersion);
  EXPECT_EQ(now.engine().view()->fact_version, kFactVersion);
}

TEST_F(StoreVersionTest, ANewerKindIsRefusedByNameVersionAndWayOut) {
  made_by_previous();
  {
    Program now(path_, kFactVersion);
    ASSERT_FALSE(now.apply(in::Finalize{kFactVersion, "step", false}));
  }
  sql("UPDATE meta SET value = '1' WHERE key = 'fact_version'");  // the first line of defence
  const std::string error = Program(path_, 1).error();
  for (const char* part : {" kind: was \"25 (the store is of fact version 1)\"", "want 1 to 24",
                           "fact version 1, which is all that this program knows",
                           "run the newer subakd that wrote it, or restore a backup"}) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  }
}

TEST_F(StoreVersionTest, ANewKindIsNotWrittenBeforeItsVersion) {
  Program now(path_, kFactVersion);
  fact::Finalized later;
  later.version = kFactVersion + 1;
  auto store = open_sqlite_store({path_ + "2"});
  ASSERT_TRUE(store.ok());
  EXPECT_TRUE((*store)->commit(std::vector<Fact>{{1, 1, later}}));  // nobody knows that version
  later.version = 1;
  const auto error = (*store)->commit(std::vector<Fact>{{1, 1, later}});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(),
            "store.fact 1: was \"finalized of fact version 2\", want facts of version 1, which the "
            "store has");
}

}  // namespace
}  // namespace subak
