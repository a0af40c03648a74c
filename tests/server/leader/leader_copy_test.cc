// A replica's copy of its leader: taken whole or not at all, kept while the leader is away.
#include "server/replica/leader_copy.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <thread>

#include "server/api/convert/admission_snapshot.h"
#include "subak/v1/cluster_service.grpc.pb.h"
#include "tests/admission/fixture.h"

namespace subak {
namespace {

using Parts = std::vector<v1::StaticResponse>;

class ManualClock final : public Clock {
 public:
  TimeMs wall_ms() const override { return 0; }
  std::int64_t monotonic_us() const override { return now_us_; }
  std::int64_t boot_ms() const override { return 0; }
  void advance(DurationMs ms) { now_us_ += ms * 1000; }

 private:
  std::atomic<std::int64_t> now_us_{0};
};

// Sends what it is given to whoever asks, and ends each stream when told.
class FakeLeader final : public v1::ClusterService::Service {
 public:
  explicit FakeLeader(int port = 0) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeLeader() override { stop(); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }
  void say(Parts parts) {
    const std::lock_guard lock(mutex_);
    parts_ = std::move(parts);
    ++version_;
    changed_.notify_all();
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    server_->Shutdown();
  }
  std::string token() {
    const std::lock_guard lock(mutex_);
    return token_;
  }

  grpc::Status Static(grpc::ServerContext* context, const v1::StaticRequest*,
                      grpc::ServerWriter<v1::StaticResponse>* out) override {
    std::unique_lock lock(mutex_);
    const auto shown = context->client_metadata().find("authorization");
    if (shown != context->client_metadata().end()) {
      token_.assign(shown->second.data(), shown->second.size());
    }
    for (std::uint64_t sent = 0; !over_ && !context->IsCancelled();) {
      if (sent == version_) {
        changed_.wait_for(lock, std::chrono::milliseconds(10));
        continue;
      }
      sent = version_;
      for (const v1::StaticResponse& part : parts_) out->Write(part);
    }
    return grpc::Status::OK;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::uint64_t version_ = 0;
  Parts parts_;
  std::string token_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

Parts copy_of(std::uint64_t seq) {
  View view = *test::fixed_view();
  view.seq = seq;
  return api::admission_snapshot_parts(view, {});
}

class LeaderCopyTest : public ::testing::Test {
 protected:
  static void until(const std::function<bool()>& truth) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!truth()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end);
      std::this_thread::yield();
    }
  }
  LeaderOptions options(const std::string& address) {
    LeaderOptions out;
    out.address = address;
    out.plain = true;
    out.until_first_copy.extra_gpu_resources = {"example.com/gpu"};
    return out;
  }
  static std::uint64_t seq(const LeaderCopy& copy) {
    const AdmissionBasis basis = copy.basis();
    return basis.view == nullptr ? 0 : basis.view->seq;
  }

  ManualClock clock_;
};

TEST_F(LeaderCopyTest, FollowsALeaderThatGoesAndComesBack) {
  auto leader = std::make_unique<FakeLeader>();
  LeaderCopy copy(options(leader->address()), clock_);
  EXPECT_EQ(copy.basis().view, nullptr);
  EXPECT_EQ(copy.basis().config->extra_gpu_resources.size(), 1u) << "its own, until the first copy";
  clock_.advance(3000);
  EXPECT_EQ(copy.stats().age_ms, 3000);
  EXPECT_FALSE(copy.stats().has_copy);
  leader->say(copy_of(5));
  copy.start();
  until([&] { return seq(copy) == 5; });
  EXPECT_TRUE(copy.basis().config->extra_gpu_resources.empty()) << "the leader's";
  EXPECT_EQ(copy.stats().age_ms, 0);
  leader->say(copy_of(6));
  until([&] { return seq(copy) == 6; });
  const int port = leader->port();
  clock_.advance(3'600'000);
  leader.reset();
  until([&] {
    clock_.advance(1000);
    return copy.stats().age_ms > 0;
  });
  EXPECT_LT(copy.stats().age_ms, 3'600'000) << "from when the stream ended, not from its copy";
  EXPECT_EQ(seq(copy), 6u) << "the last one stays";
  leader = std::make_unique<FakeLeader>(port);
  leader->say(copy_of(9));
  until([&] { return seq(copy) == 9; });
  EXPECT_EQ(copy.stats().age_ms, 0);
  EXPECT_EQ(copy.stats().copies, 3u);
  copy.stop();
  EXPECT_EQ(seq(copy), 9u);
}

TEST_F(LeaderCopyTest, ABadCopyIsRefusedWholeAndTheLastOneStays) {
  FakeLeader leader;
  leader.say(copy_of(5));
  LeaderCopy copy(options(leader.address()), clock_);
  copy.start();
  until([&] { return seq(copy) == 5; });
  Parts bad = copy_of(6);
  bad.front().mutable_accounts(1)->set_path("nobody.below");
  leader.say(bad);
  until([&] { return copy.stats().refused > 0; });
  EXPECT_EQ(seq(copy), 5u);
  leader.say(copy_of(7));  // it asks again
  until([&] { return seq(copy) == 7; });
}

TEST_F(LeaderCopyTest, ShowsItsTokenWhichMayChange) {
  const std::string file = ::testing::TempDir() + "leader_copy_token_" + std::to_string(::getpid());
  std::ofstream(file) << "one\n";
  auto leader = std::make_unique<FakeLeader>();
  leader->say(copy_of(5));
  LeaderOptions with_token = options(leader->address());
  with_token.token_file = file;
  LeaderCopy copy(with_token, clock_);
  copy.start();
  until([&] { return seq(copy) == 5; });
  EXPECT_EQ(leader->token(), "Bearer one");
  std::ofstream(file) << "two\n";
  const int port = leader->port();
  leader = nullptr;
  leader = std::make_unique<FakeLeader>(port);
  leader->say(copy_of(6));
  until([&] { return seq(copy) == 6; });
  EXPECT_EQ(leader->token(), "Bearer two");
  std::remove(file.c_str());
}

}  // namespace
}  // namespace subak
