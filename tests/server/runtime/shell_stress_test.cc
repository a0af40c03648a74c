// All threads of the shell at once, as the service wires them, without gRPC: loop, store, follower,
// watchdog, ledger audit, webhook, metrics page, readers of the store. Made for ThreadSanitizer; in
// any build every answer arrives and all copies of the state agree in the end.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "admission/webhook.h"
#include "runtime_fakes.h"
#include "server/http/routes.h"
#include "server/metrics/ledger_audit.h"
#include "server/runtime/clock/clock.h"
#include "server/runtime/follower.h"
#include "server/runtime/input_trace.h"
#include "server/runtime/watchdog.h"
#include "server/store/sqlite/sqlite_store.h"
#include "tests/admission/fixture.h"

namespace subak {
namespace {

namespace fs = std::filesystem;
constexpr int kRounds = 60;

class ShellStressTest : public testing::Test {
 protected:
  ShellStressTest() {
    dir_ = fs::temp_directory_path() / ("subak_stress_" + std::to_string(::getpid()));
    fs::create_directories(dir_);
    store_ = std::move(*open_sqlite_store({(dir_ / "subak.db").string()}));
    trace_ = std::make_unique<InputTrace>((dir_ / "inputs").string(), 20'000);
    FollowerOptions follower;
    follower.checkpoint_every = 100;
    follower_ = std::make_unique<Follower>(follower, *store_);
    RuntimeOptions options;
    options.digest_every = 1;
    options.on_durable = [this](const Released& batch) { released(batch); };
    options.on_pass = [this](std::int64_t us) { events_.pass(us); };
    options.record = [this](const Input& input) {
      trace_->append(input);
      events_.input(input);
    };
    runtime_ = std::make_unique<Runtime>(std::move(options), *store_, clock_);
    EXPECT_FALSE(follower_->start());
    EXPECT_TRUE(runtime_->start().ok());
    build_world(*runtime_, 4);
    watchdog_ = std::make_unique<Watchdog>([this] { return runtime_->stats(); }, clock_, 100);
    audit_ = std::make_unique<metrics::LedgerAudit>(*follower_, *store_, clock_);
  }
  ~ShellStressTest() override {
    audit_.reset();
    watchdog_.reset();
    runtime_->stop();
    follower_->stop();
    fs::remove_all(dir_);
  }

  void released(const Released& batch) {
    follower_->durable(batch);
    const metrics::Reservations found = events_.durable(batch);
    follower_->read([this, found](const Engine& engine) { events_.look_up(found, &engine); });
  }

  // Jobs that are submitted, bound where they were placed, ended or cancelled, by a launcher that
  // listens to effects.
  void launch() {
    const auto stream = runtime_->subscribe(ClusterId(1), [] {});
    for (int i = 0; i < kRounds; ++i) {
      call(*runtime_, job(1 + i % 8));
      for (const Effect& effect : stream->take()) play(effect);
    }
    stream->cancel();
  }
  void play(const Effect& effect) {
    if (effect.kind != EffectKind::kOpenGate) return;
    const auto row = runtime_->view()->cluster("c");
    EXPECT_NE(row, nullptr);
    call(*runtime_, in::PodBound{"c", {"", effect.job, 0}, effect.pods.at(0).node, 0});
    if (effect.job.sequence() % 3 == 0) {
      call(*runtime_, in::CancelJob{effect.job, "enough"});
    } else {
      call(*runtime_, in::PodGone{"c", {"", effect.job, 0}, 0, Cause::kFinished});
    }
  }

  // Posts faster than it gets answers.
  void flood() {
    std::atomic<int> answers{0};
    std::vector<std::promise<void>> done(kRounds);
    for (int i = 0; i < kRounds; ++i) {
      std::vector<Input> group(3, input(in::HoldJob{JobId(ClusterId(1), 1), i % 2 == 0, "flood"}));
      ASSERT_TRUE(runtime_->post_many(std::move(group), [&, i](const std::vector<Reply>& replies) {
        answers += static_cast<int>(replies.size());
        done[static_cast<std::size_t>(i)].set_value();
      }));
    }
    for (std::promise<void>& promise : done) promise.get_future().wait();
    EXPECT_EQ(answers, 3 * kRounds);
  }

  void review() {
    std::string text = test::review_text(test::pod(test::container("nvidia.com/gpu", "1")));
    text.reserve(text.size() + kBodyPadding);
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_EQ(hook_.handle({"POST", "/mutate/c", {text.data(), text.size()}}).status, 200);
    }
  }

  void scrape() {
    HttpSources sources;
    sources.state = [this] {
      metrics::ShellState state;
      state.view = runtime_->view();
      state.runtime = runtime_->stats();
      state.follower = follower_->stats();
      state.stalled = watchdog_->stalled();
      state.drift_gpu_seconds = audit_->drift_gpu_seconds();
      state.last_observed = events_.last_observed();
      return state;
    };
    sources.read = [this](Follower::StartsRead fn) {
      return follower_->read_starts(std::move(fn));
    };
    sources.events = &events_;
    sources.clock = &clock_;
    const HttpRoutes routes(std::move(sources));
    for (const char* target : {"/metrics", "/readyz", "/healthz", "/metrics"}) {
      std::promise<HttpResponse> page;
      routes.handle("GET", target, [&](HttpResponse r) { page.set_value(std::move(r)); });
      EXPECT_NE(page.get_future().get().body, "")
          << target;  // health may say 503 on a slow machine
    }
  }

  void read_store() {
    const auto reader = std::move(*store_->open_reader());
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(reader->ledger({}).ok());
      EXPECT_TRUE(reader->audit({}).ok());
      EXPECT_TRUE(reader->daily_usage({}).ok());
    }
  }

  fs::path dir_;
  SystemClock clock_;
  metrics::Events events_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<InputTrace> trace_;
  std::unique_ptr<Follower> follower_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Watchdog> watchdog_;
  std::unique_ptr<metrics::LedgerAudit> audit_;
  std::shared_ptr<const AdmissionConfig> admission_ = std::make_shared<const AdmissionConfig>();
  Webhook hook_{{[this] {
                   return AdmissionBasis{runtime_->view(), admission_};
                 },
                 false, [this] { return clock_.monotonic_us() * 1000; },
                 [this](std::string_view decision, std::string_view reason, std::int64_t us) {
                   events_.admission(decision, reason, us);
                 },
                 [this](std::string_view way) { events_.bypass(way); }}};
};

TEST_F(ShellStressTest, AllThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([this] { launch(); });
    threads.emplace_back([this] { flood(); });
    threads.emplace_back([this] { review(); });
    threads.emplace_back([this] { scrape(); });
    threads.emplace_back([this] { read_store(); });
  }
  for (std::thread& thread : threads) thread.join();
  runtime_->stop();
  std::promise<std::array<std::uint64_t, 2>> live;
  ASSERT_TRUE(follower_->read([&](const Engine& engine) {
    engine.check_invariants();
    live.set_value(engine.digest());
  }));
  Engine rebuilt;
  ASSERT_TRUE(recover_engine(**store_->open_reader(), rebuilt).ok());
  EXPECT_EQ(live.get_future().get(), rebuilt.digest());
  EXPECT_EQ(follower_->stats().digests_different, 0u);
  EXPECT_GT(follower_->stats().digests_equal, 0u);
  EXPECT_GT(follower_->stats().checkpoints, 0u);
}

}  // namespace
}  // namespace subak
