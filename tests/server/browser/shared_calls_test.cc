#include "server/browser/shared_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/api/common/browser_limits.h"
#include "server/browser/reads.h"

namespace subak::browser {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kQueue[] = "/subak.v1.JobService/ListQueue";
constexpr char kViewer[] = "viewer";

Asked asked(const std::string& caller, const std::string& message = "first page") {
  Asked out;
  out.method = find_read(kQueue);
  out.message = message;
  out.authorization = "Bearer " + caller;
  out.caller = caller;
  out.timeout_ms = 1000;
  return out;
}

class SharedCallsTest : public ::testing::Test {
 protected:
  // Asks, and notes the answer as "CALLER ANSWER".
  void ask(Asked call, std::string_view rights = kViewer) {
    const std::string caller = call.caller;
    calls_.ask(std::move(call), rights, [this, caller](const Answered& answered) {
      told_.push_back(caller + " " +
                      (answered.status.ok() ? answered.json : answered.status.error_message()));
    });
  }
  // Answers the calls that were sent and have no answer yet.
  void reply(const std::string& json) {
    for (auto& [call, done] : std::exchange(sent_, {})) {
      Answered answered;
      answered.json = json;
      done(std::move(answered));
    }
  }
  void refuse(const std::string& why) {
    for (auto& [call, done] : std::exchange(sent_, {}))
      done({{grpc::StatusCode::UNAUTHENTICATED, why}, "", "", ""});
  }
  std::vector<std::string> told() { return std::exchange(told_, {}); }
  void pass(DurationMs ms) {
    now_ += ms;
    calls_.turn();
  }

  DurationMs now_ = 1000;
  std::vector<std::pair<Asked, Calls::Done>> sent_;
  std::vector<std::string> told_;
  SharedCalls calls_{{[this](Asked call, Calls::Done done) {
                        sent_.emplace_back(std::move(call), std::move(done));
                      },
                      [this] { return now_; }}};
};

TEST_F(SharedCallsTest, OneBrowserNeverWaits) {
  for (const char* const answer : {"1", "2"}) {
    ask(asked("ana"));
    ASSERT_EQ(sent_.size(), 1u);
    reply(answer);
    EXPECT_THAT(told(), ElementsAre("ana " + std::string(answer)));
    now_ += limits::kSharedCallMs;  // the thread may not have run
  }
  EXPECT_EQ(calls_.turn(), std::nullopt);
}

TEST_F(SharedCallsTest, ACallerThatRepeatsAQuestionNeverWaits) {
  for (int i = 0; i < 3; ++i) ask(asked("ana"));
  EXPECT_EQ(sent_.size(), 3u);
  ask(asked("ben"));
  EXPECT_EQ(sent_.size(), 3u) << "another caller shares";
  pass(limits::kSharedCallMs);
  EXPECT_EQ(sent_.size(), 4u);
  ask(asked("ben"));
  EXPECT_EQ(sent_.size(), 4u) << "that call was one of several";
  reply("1");
}

TEST_F(SharedCallsTest, ManyShareACallThatIsSentAfterTheyAsked) {
  ask(asked("ana"));
  for (int i = 0; i < 200; ++i) ask(asked("viewer-" + std::to_string(i)));
  ASSERT_EQ(sent_.size(), 1u);
  reply("old");
  EXPECT_THAT(told(), ElementsAre("ana old"));
  pass(limits::kSharedCallMs - 1);
  EXPECT_THAT(sent_, IsEmpty());
  pass(1);
  ASSERT_EQ(sent_.size(), 1u);
  ask(asked("late"));
  reply("new");
  const std::vector<std::string> all = told();
  EXPECT_EQ(all.size(), 200u);
  for (const std::string& one : all) EXPECT_TRUE(one.ends_with(" new")) << one;
  pass(limits::kSharedCallMs);
  reply("newest");
  EXPECT_THAT(told(), ElementsAre("late newest"));
}

TEST_F(SharedCallsTest, OnlyEqualQuestionsOfEqualRightsAreShared) {
  ask(asked("ana"));
  ask(asked("ben", "second page"));
  ask(asked("cho"), "admin");
  Asked past = asked("dan");
  past.at = "17";
  ask(past);
  Asked short_time = asked("eva");
  short_time.timeout_ms = 5;
  ask(short_time);
  Asked method = asked("fay");
  method.method = find_read("/subak.v1.JobService/ListJobs");
  ask(method);
  EXPECT_EQ(sent_.size(), 6u);
  Asked after = asked("gil");
  after.min_sequence = "5";
  ask(after);
  ask(asked("hal"), "");
  EXPECT_EQ(sent_.size(), 8u);
}

TEST_F(SharedCallsTest, AnErrorIsNotShared) {
  ask(asked("ana"));
  reply("1");
  for (const char* const caller : {"ben", "cho", "dan"}) ask(asked(caller));
  pass(limits::kSharedCallMs);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].first.authorization, "Bearer ben");
  told();
  refuse("ben's token has ended");
  EXPECT_THAT(told(), ElementsAre("ben ben's token has ended"));
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].first.authorization, "Bearer cho");
  reply("2");
  EXPECT_THAT(told(), ElementsAre("cho 2", "dan 2"));
}

TEST_F(SharedCallsTest, WhoWaitsIsBounded) {
  ask(asked("ana"));
  for (std::size_t i = 0; i < limits::kMaxBrowserCallsPerCaller; ++i) ask(asked("ben"));
  ASSERT_EQ(sent_.size(), 1u);
  ask(asked("ben"));
  EXPECT_EQ(sent_.size(), 2u) << "one too many of one caller goes as it is";
  std::size_t waiting = limits::kMaxBrowserCallsPerCaller;
  while (waiting < limits::kMaxBrowserCalls) ask(asked("viewer-" + std::to_string(waiting++)));
  ASSERT_EQ(sent_.size(), 2u);
  ask(asked("cho"));
  EXPECT_EQ(sent_.size(), 3u) << "so does one too many of all";
  pass(limits::kSharedCallMs);
  reply("1");
  EXPECT_EQ(told().size(), limits::kMaxBrowserCalls + 3);
  ask(asked("ben"));
  EXPECT_THAT(sent_, IsEmpty()) << "there is room again";
}

TEST_F(SharedCallsTest, QuestionsAreForgottenAndBounded) {
  for (std::size_t i = 0; i <= limits::kMaxBrowserCalls; ++i) ask(asked("ana", std::to_string(i)));
  ask(asked("ana", std::to_string(limits::kMaxBrowserCalls)));
  EXPECT_EQ(sent_.size(), limits::kMaxBrowserCalls + 2) << "a question too many is not remembered";
  now_ += limits::kSharedCallMs;
  EXPECT_EQ(calls_.turn(), std::nullopt);
  reply("1");
}

TEST_F(SharedCallsTest, StopSendsWhatWaits) {
  ask(asked("ana"));
  ask(asked("ben"));
  calls_.stop();
  ask(asked("cho"));
  EXPECT_EQ(sent_.size(), 3u);
  reply("1");
  EXPECT_THAT(told(), ElementsAre("ana 1", "ben 1", "cho 1"));
}

TEST(SharedCalls, TheThreadSendsWhatWaits) {
  std::atomic<DurationMs> now{0};
  std::promise<std::thread::id> got;
  SharedCalls calls(
      {[](const Asked&, const Calls::Done& done) { done({}); }, [&] { return now.load(); }});
  calls.start();
  calls.ask(asked("ana"), kViewer, [](const Answered&) {});
  calls.ask(asked("ben"), kViewer,
            [&](const Answered&) { got.set_value(std::this_thread::get_id()); });
  now = limits::kSharedCallMs;
  EXPECT_NE(got.get_future().get(), std::this_thread::get_id());
  calls.stop();
}

}  // namespace
}  // namespace subak::browser
