// The real service in the test's process: SQLite store, runtime, follower, and API server on a port
// of its own. The clock stands still until a test moves it.
#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/api/api.h"
#include "server/runtime/follower.h"
#include "server/store/sqlite/sqlite_store.h"
#include "subak/v1/account_service.grpc.pb.h"
#include "subak/v1/admin_service.grpc.pb.h"
#include "subak/v1/cluster_service.grpc.pb.h"
#include "subak/v1/job_service.grpc.pb.h"
#include "subak/v1/usage_service.grpc.pb.h"
#include "tests/server/runtime/runtime_fakes.h"

namespace subak {

inline constexpr char kH100[] = "NVIDIA-H100-80GB-HBM3";

class ApiTest : public testing::Test {
 protected:
  ApiTest() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = std::filesystem::temp_directory_path() /
           ("subak_api_" + std::string(info->name()) + "_" + std::to_string(::getpid()));
    std::filesystem::create_directories(dir_);
    auto store = open_sqlite_store({(dir_ / "subak.db").string()});
    EXPECT_TRUE(store.ok());
    serve(std::move(*store));
    options_.version = "9.9.9";
    options_.on_denied = [this](const ApiDenial& denial) {
      const std::lock_guard lock(denials_mutex_);
      denials_.push_back(denial);
    };
  }
  // Makes runtime and follower on this store. Call it before start().
  void serve(std::unique_ptr<Store> store) {
    runtime_ = nullptr;
    follower_ = nullptr;
    store_ = std::move(store);
    FollowerOptions follower;
    follower.monotonic_ms = [this] { return clock_.monotonic_us() / 1000; };
    follower_ = std::make_unique<Follower>(std::move(follower), *store_);
    RuntimeOptions runtime;
    runtime.on_durable = [this](const Released& batch) {
      follower_->durable(batch);
      if (api_ != nullptr) api_->on_durable(batch);
    };
    runtime.on_pass = [this](std::int64_t us) {
      if (api_ != nullptr) api_->on_pass(us);
    };
    runtime_ = std::make_unique<Runtime>(std::move(runtime), *store_, clock_);
  }
  ~ApiTest() override {
    stop();
    std::filesystem::remove_all(dir_);
  }

  // Starts the service, once. Sets api_ before the loop runs, as the real service does.
  std::optional<Error> try_start() {
    api_ = std::make_unique<ApiServer>(options_, ApiDeps{*runtime_, *follower_, *store_, clock_});
    EXPECT_FALSE(follower_->start());
    EXPECT_TRUE(runtime_->start().ok());
    return api_->start();
  }
  void start() {
    const auto error = try_start();
    ASSERT_FALSE(error) << error->message();
    connect(grpc::CreateChannel("127.0.0.1:" + std::to_string(api_->port()),
                                grpc::InsecureChannelCredentials()));
  }
  void connect(std::shared_ptr<grpc::Channel> channel) {
    channel_ = std::move(channel);
    accounts_ = v1::AccountService::NewStub(channel_);
    jobs_ = v1::JobService::NewStub(channel_);
    clusters_ = v1::ClusterService::NewStub(channel_);
    usage_ = v1::UsageService::NewStub(channel_);
    admin_ = v1::AdminService::NewStub(channel_);
  }
  void stop() {
    if (api_ != nullptr) api_->shutdown(5000);
    runtime_->stop();
    follower_->stop();
  }
  void move_clock(DurationMs by) {
    clock_.set_wall(clock_.wall_ms() + by);
    runtime_->nudge();
  }

  // Makes a unary call: `call` gets the context, which has the token, if there is one, and a
  // deadline of a minute. So a lost answer fails the test instead of blocking it.
  template <class F>
  grpc::Status run(F call) {
    grpc::ClientContext context;
    prepare(context);
    return call(&context);
  }
  void prepare(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    if (!token_.empty()) context.AddMetadata("authorization", "Bearer " + token_);
  }

  // Returns all methods of all services.
  static std::vector<const google::protobuf::MethodDescriptor*> all_methods() {
    const auto* pool = google::protobuf::DescriptorPool::generated_pool();
    std::vector<const google::protobuf::MethodDescriptor*> out;
    for (const char* name : {"AccountService", "JobService", "ClusterService", "UsageService",
                             "AdminService", "PolicyService"}) {
      const auto* service = pool->FindServiceByName(std::string("subak.v1.") + name);
      EXPECT_NE(service, nullptr) << name;
      for (int i = 0; i < service->method_count(); ++i) out.push_back(service->method(i));
    }
    return out;
  }
  // Sends an empty request to any method, even a stream. `moment`: the metadata subak-at.
  grpc::Status call_empty(const google::protobuf::MethodDescriptor& method,
                          const std::string& moment = "") {
    grpc::GenericStub stub(channel_);
    grpc::ClientContext context;
    prepare(context);
    if (!moment.empty()) context.AddMetadata("subak-at", moment);
    grpc::CompletionQueue queue;
    void* tag = nullptr;
    bool ok = false;
    const auto call = stub.PrepareCall(
        &context, "/" + method.service()->full_name() + "/" + method.name(), &queue);
    call->StartCall(nullptr);
    queue.Next(&tag, &ok);
    grpc::Slice none;
    call->WriteLast(grpc::ByteBuffer(&none, 1), grpc::WriteOptions(), nullptr);
    queue.Next(&tag, &ok);
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    queue.Next(&tag, &ok);
    if (ok) context.TryCancel();  // a stream that goes on
    grpc::Status status;
    call->Finish(&status, nullptr);
    queue.Next(&tag, &ok);
    return status;
  }

  // Returns the field in the BadRequest detail of the status; empty: there is no such detail.
  static std::string bad_field(const grpc::Status& status) {
    google::rpc::Status details;
    google::rpc::BadRequest bad;
    details.ParseFromString(status.error_details());
    for (const auto& detail : details.details()) {
      if (detail.UnpackTo(&bad)) return bad.field_violations(0).field();
    }
    return "";
  }
  template <class Detail>
  static bool has_detail(const grpc::Status& status) {
    google::rpc::Status details;
    Detail unpacked;
    details.ParseFromString(status.error_details());
    for (const auto& detail : details.details()) {
      if (detail.UnpackTo(&unpacked)) return true;
    }
    return false;
  }

  // --- the usual steps ---------------------------------------------------------------------------
  grpc::Status create_account(const std::string& path, std::int64_t shares = 1,
                              const std::string& request_id = "") {
    v1::CreateAccountRequest in;
    in.mutable_account()->set_path(path);
    in.mutable_account()->set_shares(shares);
    in.set_reason("test");
    in.set_request_id(request_id);
    edited_.Clear();
    return run([&](auto* c) { return accounts_->CreateAccount(c, in, &edited_); });
  }
  grpc::Status import_nodes(int count, const std::string& cluster = "") {
    v1::ImportNodesRequest in;
    in.set_cluster(cluster);
    in.set_reason("test");
    for (int i = 0; i < count; ++i) {
      auto* node = in.add_nodes();
      node->set_name("n" + std::to_string(i));
      node->set_product(kH100);
      node->set_gpus(8);
    }
    v1::ImportNodesResponse out;
    return run([&](auto* c) { return clusters_->ImportNodes(c, in, &out); });
  }
  static v1::CreateJobRequest job_request(const std::string& account, int pods, int gpus) {
    v1::CreateJobRequest in;
    in.mutable_job()->set_account(account);
    auto* group = in.mutable_job()->mutable_request()->add_groups();
    group->set_count(pods);
    group->mutable_shape()->set_kind(v1::GPU_KIND_WHOLE);
    group->mutable_shape()->set_gpus(gpus);
    return in;
  }
  std::string submit(const v1::CreateJobRequest& in) {
    v1::CreateJobResponse out;
    const auto status = run([&](auto* c) { return jobs_->CreateJob(c, in, &out); });
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out.job_id();
  }
  v1::Job get_job(const std::string& id, bool pods = false) {
    v1::GetJobRequest in;
    in.set_job_id(id);
    in.set_include_pods(pods);
    v1::Job out;
    const auto status = run([&](auto* c) { return jobs_->GetJob(c, in, &out); });
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }

  std::filesystem::path dir_;
  FakeClock clock_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Follower> follower_;
  std::unique_ptr<Runtime> runtime_;
  ApiOptions options_;
  std::unique_ptr<ApiServer> api_;
  std::mutex denials_mutex_;
  std::vector<ApiDenial> denials_;
  std::string token_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::AccountService::Stub> accounts_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
  std::unique_ptr<v1::ClusterService::Stub> clusters_;
  std::unique_ptr<v1::UsageService::Stub> usage_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
  v1::EditAccountResponse edited_;
};

// An API server with a token file: a viewer, the admin of the team "ml", and an admin.
class ApiTokensTest : public ApiTest {
 protected:
  ApiTokensTest() {
    options_.token_file = (dir_ / "tokens").string();
    std::ofstream(options_.token_file) << "# the team\n"
                                          "viewer-token-0123 viewer eve\n"
                                          "team-token-012345 team-admin ml tim\n"
                                          "admin-token-01234 admin ada\n";
  }
  void as_admin() { token_ = "admin-token-01234"; }
  void as_team() { token_ = "team-token-012345"; }
  void as_viewer() { token_ = "viewer-token-0123"; }
  grpc::Status read() {
    v1::ListAccountsResponse out;
    return run([&](auto* c) { return accounts_->ListAccounts(c, {}, &out); });
  }
};

}  // namespace subak
