// Who may change what: a standby answers reads and names the leader, and nobody waits for a database that is away. And
// what an answer rests on.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "api_fixture.h"

namespace subak {
namespace {

using ::testing::HasSubstr;

// How the names of methods begin that change nothing.
constexpr const char* kReads[] = {"WhatIf", "Get",    "List",   "Explain",
                                  "Watch",  "Report", "Verify", "Static"};

class Shared final : public MemoryStore {
 public:
  Leadership lead() const override { return {7, "gpu-7 process 4711", address, {}}; }
  DurationMs waiting_ms() const override { return waiting; }
  std::string address = "gpu-7.example:9444";
  std::atomic<DurationMs> waiting{0};
};

class ApiStandbyTest : public ApiTest {
 protected:
  ApiStandbyTest() {
    auto shared = std::make_unique<Shared>();
    shared_ = shared.get();
    serve(std::move(shared));
  }
  // Another leads.
  void stand_by() {
    api_ = std::make_unique<ApiServer>(options_, ApiDeps{*runtime_, *follower_, *store_, clock_});
    led({in::SetCluster{"c", Mode::kEnforce, {}, "test", false}, account("ml")});
    ASSERT_TRUE(runtime_->follow().ok());
    ASSERT_FALSE(follower_->start());
    ASSERT_FALSE(api_->start());
    connect(grpc::CreateChannel("127.0.0.1:" + std::to_string(api_->port()),
                                grpc::InsecureChannelCredentials()));
  }
  static in::SetAccount account(const std::string& path) {
    in::SetAccount edit;
    edit.spec.path = path;
    edit.reason = "test";
    return edit;
  }
  // What the leader makes durable.
  std::vector<Fact> led(std::vector<in::Body> bodies) {
    std::vector<Fact> facts;
    for (in::Body& body : bodies) {
      const auto outcome = leader_.apply({clock_.wall_ms(), "", "test", std::move(body)});
      EXPECT_FALSE(outcome.reply.error);
      facts.insert(facts.end(), outcome.facts.begin(), outcome.facts.end());
    }
    EXPECT_FALSE(store_->commit(facts));
    return facts;
  }
  static google::rpc::ErrorInfo info_of(const grpc::Status& status) {
    google::rpc::Status details;
    google::rpc::ErrorInfo info;
    details.ParseFromString(status.error_details());
    for (const auto& detail : details.details()) {
      if (detail.UnpackTo(&info)) break;
    }
    return info;
  }
  grpc::Status list_accounts(std::uint64_t min_sequence = 0) {
    v1::ListAccountsResponse out;
    grpc::ClientContext context;
    prepare(context);
    if (min_sequence > 0) {
      context.AddMetadata("subak-min-sequence", std::to_string(min_sequence));
    }
    const grpc::Status status = accounts_->ListAccounts(&context, {}, &out);
    const auto& trailer = context.GetServerTrailingMetadata();
    const auto value = [&trailer](const char* name) {
      const auto it = trailer.find(name);
      return it == trailer.end() ? "" : std::string(it->second.data(), it->second.size());
    };
    const std::string sequence = value("subak-sequence");
    sequence_ = sequence.empty() ? 0 : std::stoull(sequence);
    replica_ = value("subak-leads") + " " + value("subak-epoch") + " " + value("subak-behind-ms");
    listed_ = out.accounts_size();
    return status;
  }

  Shared* shared_ = nullptr;
  Engine leader_;
  std::uint64_t sequence_ = 0;
  // The values of subak-leads, subak-epoch and subak-behind-ms of the last list_accounts().
  std::string replica_;
  int listed_ = 0;
};

// All methods that there are: a new one that changes something has to be refused too.
TEST_F(ApiStandbyTest, AStandbyReadsAndNamesTheLeaderForChanges) {
  stand_by();
  int reads = 0, changes = 0;
  for (const auto* each : all_methods()) {
    const std::string method = each->name();
    const auto status = call_empty(*each);
    const bool is_read = std::any_of(std::begin(kReads), std::end(kReads),
                                     [&](const char* verb) { return method.starts_with(verb); });
    const auto info = info_of(status);
    if (method == "AcceptLoss") {  // each replica's own
      EXPECT_NE(info.reason(), "NOT_LEADER");
      continue;
    }
    if (is_read) {
      ++reads;
      EXPECT_NE(info.reason(), "NOT_LEADER") << method;
      continue;
    }
    ++changes;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << method;
    EXPECT_EQ(info.reason(), "NOT_LEADER") << method;
    EXPECT_EQ(info.domain(), "subak.gpu");
    EXPECT_EQ(info.metadata().at("leader"), "gpu-7.example:9444") << method;
    EXPECT_EQ(info.metadata().at("epoch"), "7") << method;
    EXPECT_THAT(status.error_message(), HasSubstr("gpu-7 process 4711 at gpu-7.example:9444"));
  }
  EXPECT_GT(reads, 10);
  EXPECT_GT(changes, 15);
}

TEST_F(ApiStandbyTest, WhoseAddressIsNotKnownIsNotNamed) {
  shared_->address.clear();
  stand_by();
  const auto status = create_account("new");
  EXPECT_FALSE(info_of(status).metadata().contains("leader"));
  EXPECT_THAT(status.error_message(), HasSubstr("gpu-7 process 4711 leads"));
}

TEST_F(ApiStandbyTest, SaysWhoLeadsAndHowOldItsPictureIs) {
  stand_by();
  clock_.set_wall(clock_.wall_ms() + 1500);
  v1::Status out;
  ASSERT_TRUE(run([&](auto* c) { return admin_->GetStatus(c, {}, &out); }).ok());
  EXPECT_FALSE(out.leader());
  EXPECT_EQ(out.state(), "serving");
  EXPECT_EQ(out.leader_name(), "gpu-7 process 4711");
  EXPECT_EQ(out.leader_address(), "gpu-7.example:9444");
  EXPECT_EQ(out.epoch(), 7);
  EXPECT_EQ(out.picture_age().seconds(), 1);
  runtime_->followed({});
  ASSERT_TRUE(run([&](auto* c) { return admin_->GetStatus(c, {}, &out); }).ok());
  EXPECT_EQ(out.picture_age().seconds(), 0);
}

TEST_F(ApiStandbyTest, EachAnswerNamesTheReplicaThatGaveIt) {
  stand_by();
  clock_.set_wall(clock_.wall_ms() + 1500);
  ASSERT_TRUE(list_accounts().ok());
  EXPECT_EQ(replica_, "no 7 1500");
  runtime_->followed({});
  ASSERT_TRUE(list_accounts().ok());
  EXPECT_EQ(replica_, "no 7 0");
  ASSERT_TRUE(runtime_->start().ok());
  ASSERT_TRUE(list_accounts().ok());
  EXPECT_EQ(replica_, "yes 7 ");
  shared_->waiting = 5000;
  ASSERT_TRUE(list_accounts().ok());
  EXPECT_EQ(replica_, "yes 7 5000") << "the database is away";
  shared_->waiting = 0;
}

// The same port, the same connection, and streams that go on.
TEST_F(ApiStandbyTest, TakesOverWithoutAGap) {
  stand_by();
  grpc::ClientContext watching;
  prepare(watching);
  const auto watch = jobs_->WatchJobs(&watching, {});
  EXPECT_EQ(create_account("new").error_code(), grpc::StatusCode::UNAVAILABLE);
  runtime_->followed(led({account("bio")}));
  ASSERT_TRUE(list_accounts().ok());
  const int before = listed_;
  ASSERT_TRUE(runtime_->start().ok());
  EXPECT_TRUE(create_account("new").ok());
  ASSERT_TRUE(list_accounts().ok());
  EXPECT_EQ(listed_, before + 1);
  ASSERT_TRUE(import_nodes(2, "c").ok());
  const std::string id = submit(job_request("new", 1, 8));
  v1::WatchJobsResponse seen;
  while (!seen.has_job()) ASSERT_TRUE(watch->Read(&seen));
  EXPECT_EQ(seen.job().id(), id);
  watching.TryCancel();
}

TEST_F(ApiStandbyTest, ChangesDoNotWaitForADatabaseThatIsAway) {
  start();
  ASSERT_TRUE(create_account("ml").ok());
  shared_->waiting = limits::kDatabaseSlowMs;
  EXPECT_TRUE(create_account("short").ok()) << "a moment is no reason";
  shared_->waiting = 5'000;
  const auto status = create_account("bio");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(info_of(status).reason(), "DATABASE_AWAY");
  EXPECT_TRUE(has_detail<google::rpc::RetryInfo>(status));
  EXPECT_THAT(status.error_message(), HasSubstr("has not answered for 5 s"));
  EXPECT_TRUE(list_accounts().ok());
  v1::Status out;
  ASSERT_TRUE(run([&](auto* c) { return admin_->GetStatus(c, {}, &out); }).ok());
  EXPECT_EQ(out.state(), "waits for the database");
  shared_->waiting = 0;
  EXPECT_TRUE(create_account("bio").ok());
}

// What an edge reports is not acknowledged before it is durable, however long that takes: so the edge keeps it.
TEST_F(ApiStandbyTest, WhatAnEdgeReportsIsAcknowledgedOnceTheDatabaseIsBack) {
  start();
  ASSERT_TRUE(import_nodes(1, "c").ok());
  grpc::ClientContext context;
  prepare(context);
  const auto stream = clusters_->Observe(&context);
  v1::ObserveRequest in;
  in.set_cluster("c");
  in.set_sequence(1);
  in.mutable_list_begin();
  shared_->block();
  shared_->waiting = 5'000;
  ASSERT_TRUE(stream->Write(in));
  shared_->await_commit();
  const std::size_t before = shared_->facts().size();
  shared_->waiting = 0;
  shared_->unblock();
  v1::ObserveResponse ack;
  ASSERT_TRUE(stream->Read(&ack));
  EXPECT_EQ(ack.acknowledged_sequence(), 1u);
  EXPECT_GT(shared_->facts().size(), before) << "and not before";
  context.TryCancel();
}

// --- what an answer rests on -----------------------------------------------------------------------

TEST_F(ApiStandbyTest, AnswersSayTheFactTheyRestOn) {
  stand_by();
  ASSERT_TRUE(list_accounts().ok());
  EXPECT_EQ(sequence_, leader_.seq());
  runtime_->followed(led({account("bio")}));
  ASSERT_TRUE(list_accounts().ok());
  EXPECT_EQ(sequence_, leader_.seq());
}

TEST_F(ApiStandbyTest, AReadSeesTheFactOfTheChangeBeforeIt) {
  start();
  v1::CreateAccountRequest in;
  in.mutable_account()->set_path("ml");
  in.set_reason("test");
  grpc::ClientContext context;
  prepare(context);
  ASSERT_TRUE(accounts_->CreateAccount(&context, in, &edited_).ok());
  const auto& trailer = context.GetServerTrailingMetadata();
  const auto it = trailer.find("subak-sequence");
  ASSERT_NE(it, trailer.end());
  const std::uint64_t at = std::stoull(std::string(it->second.data(), it->second.size()));
  EXPECT_EQ(at, shared_->facts().back().seq);
  ASSERT_TRUE(list_accounts(at).ok());
  EXPECT_GE(sequence_, at);
}

TEST_F(ApiStandbyTest, AReadWaitsForTheFactItWants) {
  stand_by();
  const std::uint64_t seen = leader_.seq();
  const auto facts = led({account("bio")});
  std::thread later([&] {
    // So the call mostly waits for the fact. If the fact is faster, the answer is the same.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    runtime_->followed(facts);
  });
  EXPECT_TRUE(list_accounts(leader_.seq()).ok());
  EXPECT_EQ(sequence_, leader_.seq());
  later.join();
  const auto status = list_accounts(leader_.seq() + 1);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(info_of(status).reason(), "BEHIND");
  EXPECT_EQ(info_of(status).metadata().at("sequence"), std::to_string(leader_.seq()));
  EXPECT_GT(leader_.seq(), seen);
}

TEST_F(ApiStandbyTest, AFactIsANumber) {
  start();
  v1::ListAccountsResponse out;
  grpc::ClientContext context;
  prepare(context);
  context.AddMetadata("subak-min-sequence", "soon");
  EXPECT_EQ(accounts_->ListAccounts(&context, {}, &out).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace subak
