// The label of who leads, against an API server that answers as it is told.
#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "core/limits.h"
#include "server/edge/cluster/pod_label.h"

namespace subak {
namespace {

using ::testing::ElementsAre;

const std::string kSet = R"({"metadata":{"labels":{"subak.gpu/leader":"true"}}})";
const std::string kRemove = R"({"metadata":{"labels":{"subak.gpu/leader":null}}})";

// Answers calls in turn(), those that it keeps never. Threads: any.
class Server final : public KubeApi {
 public:
  bool call(KubeCall call, Answered answered) override {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(call.method + " " + call.path, "PATCH /api/v1/namespaces/subak-system/pods/subak-0");
    EXPECT_EQ(call.content_type, "application/merge-patch+json");
    bodies.push_back(std::move(call.body));
    waiting = std::move(answered);
    ++under_way;
    EXPECT_EQ(under_way, 1) << "one at a time";
    return true;
  }
  WatchId watch(std::string, WatchStream::Take, Ended) override { return 0; }
  void stop(WatchId) override {}
  void turn(DurationMs most) override {
    std::unique_lock lock(mutex);
    longest_ms = most;
    if (waiting && !keeps) {
      CallAnswer answer;
      answer.outcome = Outcome::kDone;
      if (!outcomes.empty()) {
        answer.outcome = outcomes.front();
        outcomes.pop_front();
      }
      --under_way;
      const auto answered = std::exchange(waiting, nullptr);
      lock.unlock();
      return answered(answer, "");
    }
    woken.wait_for(lock, std::chrono::milliseconds(threaded ? most : 0),
                   [&] { return std::exchange(is_woken, false); });
  }
  void wake() override {
    const std::lock_guard lock(mutex);
    is_woken = true;
    woken.notify_all();
  }

  std::mutex mutex;
  std::condition_variable woken;
  bool is_woken = false, threaded = false, keeps = false;
  std::vector<std::string> bodies;
  std::deque<Outcome> outcomes;  // of the next answers; then kDone
  Answered waiting;
  int under_way = 0;
  DurationMs longest_ms = 0;
};

class PodLabelTest : public ::testing::Test {
 protected:
  std::unique_ptr<PodLabel> make() {
    auto api = std::make_unique<Server>();
    server = api.get();
    return std::make_unique<PodLabel>(std::move(api), "subak-system/subak-0",
                                      [this] { return now_ms.load(); });
  }
  Server* server = nullptr;
  std::atomic<std::int64_t> now_ms{1000};
  std::unique_ptr<PodLabel> label = make();
};

TEST_F(PodLabelTest, ItIsTakenAwayFirstAndFollowsTheLead) {
  EXPECT_FALSE(label->is_settled());
  label->turn();
  EXPECT_TRUE(label->is_settled());
  EXPECT_THAT(server->bodies, ElementsAre(kRemove)) << "as after a crash";
  label->want(true);
  EXPECT_FALSE(label->is_settled());
  label->turn();
  label->turn();
  EXPECT_TRUE(label->is_settled());
  EXPECT_THAT(server->bodies, ElementsAre(kRemove, kSet));
  label->want(false);
  label->turn();
  EXPECT_THAT(server->bodies, ElementsAre(kRemove, kSet, kRemove));
}

TEST_F(PodLabelTest, WhatFailsIsTriedAgainLaterAndLater) {
  server->outcomes = {Outcome::kRefused, Outcome::kUnknown};
  label->turn();
  label->turn();
  EXPECT_EQ(server->bodies.size(), 1u);
  EXPECT_EQ(server->longest_ms, limits::kEdgeRetryMs);
  now_ms += limits::kEdgeRetryMs;
  label->turn();
  EXPECT_EQ(server->bodies.size(), 2u);
  now_ms += 2 * limits::kEdgeRetryMs - 1;
  label->turn();
  EXPECT_EQ(server->bodies.size(), 2u);
  ++now_ms;
  label->turn();
  EXPECT_EQ(server->bodies.size(), 3u);
  EXPECT_TRUE(label->is_settled());
}

TEST_F(PodLabelTest, ANewWishDoesNotWaitForOneThatFailed) {
  server->outcomes = {Outcome::kRefused, Outcome::kRefused};
  label->turn();
  label->want(true);
  label->turn();
  EXPECT_THAT(server->bodies, ElementsAre(kRemove, kSet));
  label->want(false);
  label->turn();
  EXPECT_THAT(server->bodies, ElementsAre(kRemove, kSet, kRemove));
  EXPECT_TRUE(label->is_settled());
}

// An answer that did not come may stand for a write that was done.
TEST_F(PodLabelTest, AfterAnUnknownAnswerNothingIsKnown) {
  label->turn();
  server->outcomes = {Outcome::kUnknown};
  label->want(true);
  label->turn();
  label->want(false);
  EXPECT_FALSE(label->is_settled());
  label->turn();
  EXPECT_THAT(server->bodies, ElementsAre(kRemove, kSet, kRemove));
}

TEST_F(PodLabelTest, AStopWaitsUntilItIsTakenAway) {
  server->threaded = true;
  label->start();
  label->want(true);
  label->want(false);
  label->stop();
  EXPECT_EQ(server->bodies.back(), kRemove);
  EXPECT_TRUE(label->is_settled());
}

TEST_F(PodLabelTest, AStopDoesNotWaitForAServerThatGivesNoAnswer) {
  server->threaded = server->keeps = true;
  label->start();
  std::thread time([this] {
    while (now_ms < 1000 + 2 * limits::kPodLabelStopMs) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      now_ms += 10;
    }
  });
  label->stop();
  EXPECT_FALSE(label->is_settled());
  EXPECT_GE(now_ms, 1000 + limits::kPodLabelStopMs);
  time.join();
}

}  // namespace
}  // namespace subak
