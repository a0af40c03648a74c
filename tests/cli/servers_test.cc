// Which of several servers is asked, and what is not followed.
#include "cli/servers.h"

#include <gmock/gmock.h>
#include <google/protobuf/any.pb.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cli/client.h"
#include "cli/refusal.h"
#include "cli/text/failure.h"
#include "core/limits.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "subak/v1/account_service.pb.h"
#include "subak/v1/job_service.pb.h"

namespace subak::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

grpc::Status not_leader(const std::string& leader) {
  google::rpc::ErrorInfo info;
  info.set_reason("NOT_LEADER");
  if (!leader.empty()) (*info.mutable_metadata())["leader"] = leader;
  google::rpc::Status status;
  status.add_details()->PackFrom(info);
  return {grpc::StatusCode::UNAVAILABLE, "this replica does not lead", status.SerializeAsString()};
}
const grpc::Status kAway(grpc::StatusCode::UNAVAILABLE, "no connection");
const grpc::Status kRefused(grpc::StatusCode::NOT_FOUND, "no such account");

// Servers and what each answers; the asked ones are written down, a pause as "-".
class ServersTest : public testing::Test {
 protected:
  grpc::Status ask(Servers& servers) {
    asked_.clear();
    return servers.ask(
        [&](const std::string& server) -> Servers::Answer {
          asked_.push_back(server);
          const auto it = answers_.find(server);
          if (it == answers_.end()) return {kAway, true};
          return {it->second, false};
        },
        [&] {
          asked_.emplace_back("-");
          if (after_pause_) after_pause_();
        });
  }
  std::map<std::string, grpc::Status> answers_;
  std::vector<std::string> asked_;
  std::function<void()> after_pause_;
};

TEST_F(ServersTest, AListIsSplitAtCommas) {
  EXPECT_THAT(split_servers("a:1"), ElementsAre("a:1"));
  EXPECT_THAT(split_servers("a:1,[::1]:2,a:1"), ElementsAre("a:1", "[::1]:2"));
  for (const char* bad : {"", "a:1,", ",a:1", "a:1,,b:1"}) {
    EXPECT_THROW(split_servers(bad), Failure) << bad;
  }
  std::string many = "a0:1";
  for (std::size_t i = 1; i <= limits::kMaxServers; ++i) many += ",a" + std::to_string(i) + ":1";
  EXPECT_THROW(split_servers(many), Failure);
}

TEST_F(ServersTest, TheFirstThatAnswersIsAskedAndStays) {
  Servers servers({"a:1", "b:1", "c:1"}, false);
  answers_["b:1"] = grpc::Status::OK;
  EXPECT_TRUE(ask(servers).ok());
  EXPECT_THAT(asked_, ElementsAre("a:1", "b:1"));
  EXPECT_TRUE(ask(servers).ok());
  EXPECT_THAT(asked_, ElementsAre("b:1"));
}

TEST_F(ServersTest, ARefusalIsAnAnswer) {
  Servers servers({"a:1", "b:1"}, false);
  answers_["a:1"] = kRefused;
  answers_["b:1"] = grpc::Status::OK;
  EXPECT_EQ(ask(servers).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(asked_, ElementsAre("a:1"));
}

TEST_F(ServersTest, NobodyAnswersIsSaidAtOnce) {
  Servers servers({"a:1", "b:1"}, false);
  EXPECT_EQ(ask(servers).error_message(), "no connection");
  EXPECT_THAT(asked_, ElementsAre("a:1", "b:1"));
}

TEST_F(ServersTest, TheNamedLeaderIsNext) {
  Servers servers({"a:1", "b:1", "c:1"}, false);
  answers_["a:1"] = not_leader("c:1");
  answers_["b:1"] = not_leader("c:1");
  answers_["c:1"] = grpc::Status::OK;
  EXPECT_TRUE(ask(servers).ok());
  EXPECT_THAT(asked_, ElementsAre("a:1", "c:1"));
  EXPECT_EQ(servers.asked(), "c:1");
}

TEST_F(ServersTest, ALeaderThatIsNotKnownIsLookedForAmongTheOthers) {
  Servers servers({"a:1", "b:1", "c:1"}, false);
  answers_["a:1"] = answers_["b:1"] = not_leader("");
  answers_["c:1"] = grpc::Status::OK;
  EXPECT_TRUE(ask(servers).ok());
  EXPECT_THAT(asked_, ElementsAre("a:1", "b:1", "c:1"));
}

// A token goes nowhere that does not prove who it is.
TEST_F(ServersTest, AnAddressThatWasNotGivenIsFollowedOverVerifiedLinesOnly) {
  answers_["a:1"] = not_leader("far:1");
  answers_["far:1"] = grpc::Status::OK;
  Servers plain({"a:1"}, false);
  EXPECT_FALSE(ask(plain).ok());
  EXPECT_THAT(asked_, ElementsAre("a:1")) << "nobody waits for who may not be asked";
  Servers verified({"a:1"}, true);
  EXPECT_TRUE(ask(verified).ok());
  for (const char* other :
       {"unix:/tmp/x", "dns:///far:1", "far", "far:", ":1", "far:1/x", "a b:1"}) {
    answers_["a:1"] = not_leader(other);
    answers_[other] = grpc::Status::OK;
    Servers careful({"a:1"}, true);
    EXPECT_FALSE(ask(careful).ok()) << other;
  }
}

TEST_F(ServersTest, ATakeOverIsWaitedForAndNotForEver) {
  Servers servers({"a:1", "b:1"}, false);
  answers_["b:1"] = not_leader("a:1");  // which has gone
  after_pause_ = [&] {
    if (std::count(asked_.begin(), asked_.end(), "-") == 3) answers_["b:1"] = grpc::Status::OK;
  };
  EXPECT_TRUE(ask(servers).ok());
  answers_["b:1"] = not_leader("a:1");
  after_pause_ = nullptr;
  EXPECT_EQ(leader_named_in(ask(servers)), "a:1");
  EXPECT_EQ(std::count(asked_.begin(), asked_.end(), "-"), limits::kServerRounds - 1);
  EXPECT_GT(limits::kServerRounds * limits::kServerRoundMs, limits::kLeaderSilentMs);
}

TEST_F(ServersTest, WhatMayBeRepeated) {
  v1::CreateAccountRequest create;
  EXPECT_FALSE(may_repeat("AccountService/CreateAccount", create));
  create.set_request_id("once");
  EXPECT_TRUE(may_repeat("AccountService/CreateAccount", create));
  EXPECT_TRUE(may_repeat("AccountService/GetAccount", v1::GetAccountRequest()));
  EXPECT_FALSE(may_repeat("JobService/BatchCreateJobs", v1::BatchCreateJobsRequest()));
}

TEST_F(ServersTest, WhatAPersonReads) {
  const Failure known = refusal(not_leader("c:1"), "a:1");
  EXPECT_EQ(known.exit_code, kExitUnreachable);
  EXPECT_THAT(known.what, HasSubstr("a:1 does not lead"));
  EXPECT_THAT(known.todo, HasSubstr("c:1 leads"));
  EXPECT_THAT(refusal(not_leader(""), "a:1").todo, HasSubstr("--server"));
}

}  // namespace
}  // namespace subak::cli
