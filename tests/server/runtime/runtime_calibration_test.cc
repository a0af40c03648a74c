// What was told of starts outlives the service, and nothing depends on it.
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "follower_fixture.h"

namespace subak {
namespace {

namespace fs = std::filesystem;

class ToldTest : public FollowerFixture {
 protected:
  ToldTest() {
    follower_options_.stepped = true;
    follower_options_.on_told_start = [this](DurationMs error_ms) { errors.push_back(error_ms); };
  }

  // A job that needs the one node, and a forecast that knows of it.
  JobId submit() {
    in::SubmitJob submit = job(8);
    submit.time_limit_ms = kHourMs;
    const JobId id = call(*runtime_, submit).job;
    starts();
    return id;
  }
  ForecastStarts starts() {
    ForecastStarts out;
    EXPECT_TRUE(follower_->read_starts([&](const Engine&, const ForecastStarts& s) { out = s; }));
    follower_->turn();
    return out;
  }
  // It ends after half of its time, and the next one starts.
  void end(JobId id) {
    clock_.set_wall(clock_.wall_ms() + kHourMs / 2);
    call(*runtime_, in::PodBound{"c", {"", id, 0}, "n0", 0});
    call(*runtime_, in::PodGone{"c", {"", id, 0}, 0, Cause::kFinished});
    follower_->turn();
  }
  // Enough to know how starts come. The one that runs, and the one that waits for it.
  std::pair<JobId, JobId> learn() {
    build_world(*runtime_, 1);
    JobId runs = submit();
    for (int i = 0; i < 30; ++i) {
      const JobId waits = submit();
      end(std::exchange(runs, waits));
    }
    EXPECT_TRUE(starts().odds.learned);
    return {runs, submit()};
  }
  void restart() {
    shut();
    open();
    start();
  }
  // Of a wait of 50 minutes.
  ExpectedStart told() { return starts().odds.of(1'000'000, 4'000'000); }
  std::string told_path() const { return path_ + ".told"; }

  std::vector<DurationMs> errors;
};

TEST_F(ToldTest, ARestartKeepsTheIntervals) {
  start();
  const auto [runs, waits] = learn();
  const ExpectedStart before = told();
  EXPECT_TRUE(before.learned);
  restart();
  EXPECT_EQ(told(), before);
  errors.clear();
  end(runs);
  ASSERT_EQ(errors.size(), 1u) << "who waited over the restart is followed further";
  restart();
  EXPECT_TRUE(told().learned);
  EXPECT_EQ(errors.size(), 1u) << "it is not counted again";
}

// A crash: what came after the checkpoint is in the facts.
TEST_F(ToldTest, StartsAfterTheCheckpointCount) {
  start();
  const JobId runs = learn().first;
  follower_options_.checkpoint_on_stop = false;
  restart();
  end(runs);
  const ExpectedStart before = told();
  restart();
  EXPECT_EQ(told(), before);
  EXPECT_EQ(errors.size(), 31u) << "and are not told again";
}

TEST_F(ToldTest, DamageOnlyWidens) {
  start();
  learn();
  shut();
  const auto size = static_cast<std::streamoff>(fs::file_size(told_path()));
  std::fstream(told_path(), std::ios::in | std::ios::out | std::ios::binary).seekp(size / 2)
      << "x?";
  open();
  start();
  EXPECT_FALSE(told().learned);
  EXPECT_EQ(call(*runtime_, job(1)).error, std::nullopt) << "all else goes on";
}

TEST_F(ToldTest, WithoutTheFileIntervalsAreWide) {
  start();
  learn();
  shut();
  fs::remove(told_path());
  open();
  start();
  EXPECT_FALSE(told().learned);
}

// The file is older than the checkpoint: nobody knows who started in between; how starts come is known.
TEST_F(ToldTest, AnOlderFileIsOfUseStill) {
  start();
  const JobId runs = learn().first;
  shut();
  fs::copy_file(told_path(), told_path() + ".old");
  open();
  start();
  submit();
  shut();
  fs::rename(told_path() + ".old", told_path());
  open();
  start();
  EXPECT_TRUE(told().learned);
  errors.clear();
  end(runs);
  EXPECT_EQ(errors.size(), 0u) << "the first forecast after a gap finds who waits for unknown time";
}

}  // namespace
}  // namespace subak
