// When a forecast is made, on which thread, and that starts which come are held against what was told.
#include "server/runtime/forecaster.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/limits.h"

namespace subak {
namespace {

constexpr TimeMs kStart = 1'767'225'600'000;

// Nodes of 8 GPUs, jobs of 8 GPUs that run an hour.
class ForecasterTest : public testing::Test {
 protected:
  void fleet(int nodes) {
    in::SetCluster cluster;
    cluster.name = "main";
    cluster.mode = Mode::kEnforce;
    send(cluster);
    in::ImportNodes import;
    import.cluster = "main";
    for (int i = 0; i < nodes; ++i) {
      NodeSpec node;
      node.name = "n" + std::to_string(i);
      node.product = "H100";
      node.gpus = i == 0 ? 8 : 1;
      import.nodes.push_back(node);
    }
    send(import);
    in::SetAccount account;
    account.spec.path = "ml";
    send(account);
  }
  JobId submit() {
    in::SubmitJob job;
    job.cluster = "main";
    job.account = "ml";
    job.time_limit_ms = kHourMs;
    job.request.groups.resize(1);
    job.request.groups[0].count = 1;
    job.request.groups[0].shape.kind = GpuKind::kWhole;
    job.request.groups[0].shape.gpus = 8;
    const JobId id = send(job).job;
    send(in::Pass{});
    return id;
  }
  void finish(JobId id) {
    in::PodGone gone;
    gone.cluster = "main";
    gone.pod.job = id;
    gone.cause = Cause::kFinished;
    send(gone);
    send(in::Pass{});
  }
  Reply send(in::Body body) {
    ApplyOutcome outcome = engine.apply({now, "", "ana", std::move(body)});
    for (const Fact& fact : outcome.facts) forecaster->saw(fact);
    return outcome.reply;
  }
  void make(bool stepped) {
    Forecaster::Options options;
    options.stepped = stepped;
    options.monotonic_ms = [this] { return clock_ms.load(); };
    options.now_ms = [this] { return now; };
    options.wake = [this] {
      const std::lock_guard lock(mutex);
      woken = true;
      wake.notify_all();
    };
    options.on_start = [this](DurationMs error_ms) { errors.push_back(error_ms); };
    forecaster = std::make_unique<Forecaster>(std::move(options));
  }
  // Turns until the copy is complete. The turns that were needed.
  int copy_all() {
    int turns = 0;
    do {
      forecaster->turn(engine);
      ++turns;
    } while (forecaster->is_copying());
    return turns;
  }
  void wait_until_woken() {
    std::unique_lock lock(mutex);
    ASSERT_TRUE(wake.wait_for(lock, std::chrono::seconds(60), [this] { return woken; }));
    woken = false;
  }

  TimeMs now = kStart;
  std::atomic<DurationMs> clock_ms{1'000'000};
  Engine engine;
  std::vector<DurationMs> errors;
  std::mutex mutex;
  std::condition_variable wake;
  bool woken = false;
  std::unique_ptr<Forecaster> forecaster;
};

TEST_F(ForecasterTest, OfASmallStateARreadHasThatOfNow) {
  make(false);
  fleet(3);
  EXPECT_EQ(forecaster->due_in(engine), std::nullopt) << "nothing waits";
  submit();
  const JobId second = submit();
  EXPECT_EQ(forecaster->due_in(engine), 0);
  EXPECT_EQ(forecaster->starts(engine).forecast->start(second), kStart + kHourMs);
  EXPECT_EQ(forecaster->due_in(engine), limits::kForecastIdleMs) << "nothing has changed since";
  const JobId third = submit();
  EXPECT_EQ(forecaster->starts(engine).forecast->start(third), kStart + 2 * kHourMs);
  EXPECT_EQ(forecaster->made(), 2u);
  forecaster->starts(engine);
  EXPECT_EQ(forecaster->made(), 2u);
}

TEST_F(ForecasterTest, WithoutAReadItIsMadeNowAndThen) {
  make(false);
  fleet(3);
  submit();
  submit();
  forecaster->turn(engine);
  EXPECT_EQ(forecaster->made(), 1u);
  submit();
  forecaster->turn(engine);
  EXPECT_EQ(forecaster->made(), 1u);
  EXPECT_EQ(forecaster->due_in(engine), limits::kForecastEveryMs);
  clock_ms += limits::kForecastEveryMs;
  forecaster->turn(engine);
  EXPECT_EQ(forecaster->made(), 2u);
}

TEST_F(ForecasterTest, TimeAloneMakesItOld) {
  make(false);
  fleet(3);
  submit();
  const JobId second = submit();
  forecaster->turn(engine);
  now += 3 * kHourMs;  // the one that runs is there beyond its limit
  clock_ms += limits::kForecastIdleMs - 1;
  forecaster->turn(engine);
  EXPECT_EQ(forecaster->made(), 1u);
  clock_ms += 1;
  forecaster->turn(engine);
  EXPECT_EQ(forecaster->made(), 2u);
  EXPECT_EQ(forecaster->starts(engine).forecast->time_ms(), now);
  EXPECT_EQ(forecaster->starts(engine).forecast->start(second), kStart + 4 * kHourMs);
}

TEST_F(ForecasterTest, OfALargeStateItIsMadeBeside) {
  make(false);
  fleet(static_cast<int>(limits::kForecastAtOnce) + 1);
  submit();
  const JobId second = submit();
  EXPECT_FALSE(forecaster->starts(engine).is_made());
  forecaster->turn(engine);
  EXPECT_TRUE(forecaster->is_copying());
  EXPECT_EQ(forecaster->due_in(engine), std::nullopt) << "one is under way";
  copy_all();
  EXPECT_EQ(forecaster->due_in(engine), std::nullopt) << "one is under way";
  wait_until_woken();
  EXPECT_TRUE(forecaster->is_ready());
  forecaster->turn(engine);
  EXPECT_EQ(forecaster->starts(engine).forecast->start(second), kStart + kHourMs);
  const JobId third = submit();
  EXPECT_EQ(forecaster->starts(engine).forecast->start(third), std::nullopt) << "it came after";
}

// One slice a turn, so that a read waits for no more than a slice.
TEST_F(ForecasterTest, ALargeStateIsCopiedInSlices) {
  make(false);
  fleet(static_cast<int>(limits::kForecastAtOnce) + 1);
  const JobId first = submit();
  const JobId second = submit();
  for (std::size_t i = 0; i < 2 * limits::kCopySlice; ++i) submit();
  forecaster->turn(engine);
  forecaster->turn(engine);
  ASSERT_TRUE(forecaster->is_copying());
  finish(first);  // the second starts
  const JobId late = submit();
  EXPECT_GE(copy_all(), 2);
  wait_until_woken();
  forecaster->turn(engine);
  const Forecast& forecast = *forecaster->starts(engine).forecast;
  EXPECT_EQ(forecast.start(second), kStart + kHourMs) << "as it was when the copy began";
  EXPECT_EQ(forecast.start(late), std::nullopt) << "it came after";
}

TEST_F(ForecasterTest, OneThatIsUnderWayEndsWithIt) {
  make(false);
  fleet(static_cast<int>(limits::kForecastAtOnce) + 1);
  for (int i = 0; i < 100; ++i) submit();
  copy_all();
  forecaster.reset();
}

TEST_F(ForecasterTest, ACopyThatIsUnderWayEndsWithIt) {
  make(false);
  fleet(static_cast<int>(limits::kForecastAtOnce) + 1);
  for (std::size_t i = 0; i < 2 * limits::kCopySlice; ++i) submit();
  forecaster->turn(engine);
  forecaster->turn(engine);
  ASSERT_TRUE(forecaster->is_copying());
  forecaster.reset();
}

// Told to start after an hour, it started after ten minutes.
TEST_F(ForecasterTest, WhatCameIsHeldAgainstWhatWasTold) {
  make(true);
  fleet(3);
  const JobId first = submit();
  submit();
  forecaster->starts(engine);  // finds one that waits for unknown time
  submit();
  forecaster->starts(engine);
  now += 10 * kMinuteMs;
  finish(first);
  EXPECT_TRUE(errors.empty()) << "what the first forecast found was told nothing new";
  for (const JobRow& row : engine.jobs(JobId(), 10, JobState::kStarting, "")) finish(row.id);
  EXPECT_EQ(errors, std::vector<DurationMs>{110 * kMinuteMs});
}

}  // namespace
}  // namespace subak
