// A request id over the API: it belongs to its caller, its method and its content.
#include <fstream>

#include "api_fixture.h"

namespace subak {
namespace {

class ApiRequestIdTest : public ApiTest {
 protected:
  void begin() {
    start();
    ASSERT_TRUE(create_account("ml").ok());
    ASSERT_TRUE(import_nodes(1).ok());
  }
  grpc::Status create(const v1::CreateJobRequest& in) {
    created_.Clear();
    return run([&](auto* c) { return jobs_->CreateJob(c, in, &created_); });
  }
  static v1::CreateJobRequest named(const std::string& id, int gpus) {
    auto in = job_request("ml", 1, gpus);
    in.set_request_id(id);
    return in;
  }
  int job_count() {
    v1::ListJobsResponse out;
    EXPECT_TRUE(run([&](auto* c) { return jobs_->ListJobs(c, {}, &out); }).ok());
    return out.jobs_size();
  }
  grpc::Status update(const v1::UpdateAccountRequest& in) {
    edited_.Clear();
    return run([&](auto* c) { return accounts_->UpdateAccount(c, in, &edited_); });
  }
  static v1::UpdateAccountRequest shares(const std::string& path, int n, const std::string& id) {
    v1::UpdateAccountRequest in;
    in.mutable_account()->set_path(path);
    in.mutable_account()->set_shares(n);
    in.mutable_update_mask()->add_paths("shares");
    in.set_reason("because");
    in.set_request_id(id);
    return in;
  }
  v1::CreateJobResponse created_;
};

TEST_F(ApiRequestIdTest, OtherContentIsRefusedAndSaysSo) {
  begin();
  ASSERT_TRUE(create(named("r1", 1)).ok());
  const std::string first = created_.job_id();
  const grpc::Status status = create(named("r1", 2));
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_NE(status.error_message().find("\"r1\", want a new id: this one was used at 1970-01-01T"),
            std::string::npos)
      << status.error_message();
  EXPECT_NE(status.error_message().find("for a different submit_job"), std::string::npos);
  EXPECT_TRUE(has_detail<google::rpc::PreconditionFailure>(status));
  ASSERT_TRUE(create(named("r1", 1)).ok());
  EXPECT_EQ(created_.job_id(), first);
  EXPECT_TRUE(created_.repeated_request());
  EXPECT_EQ(job_count(), 1);
}

TEST_F(ApiRequestIdTest, ACancelUnderACreatesIdCancels) {
  begin();
  ASSERT_TRUE(create(named("r1", 1)).ok());
  v1::CancelJobRequest cancel;
  cancel.set_job_id(created_.job_id());
  cancel.set_request_id("r1");
  v1::EditJobResponse out;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->CancelJob(c, cancel, &out); }).ok());
  EXPECT_FALSE(out.repeated_request());
  const std::string id = created_.job_id();
  EXPECT_NE(get_job(id).state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(get_job(id).cause(), v1::CAUSE_CANCELLED);
  ASSERT_TRUE(run([&](auto* c) { return jobs_->CancelJob(c, cancel, &out); }).ok());
  EXPECT_TRUE(out.repeated_request());
}

TEST_F(ApiRequestIdTest, TwoTeamsMayUseOneId) {
  options_.token_file = (dir_ / "tokens").string();
  std::ofstream(options_.token_file) << "admin-token-01234 admin ada\n"
                                        "team-token-012345 team-admin ml tim\n"
                                        "team-token-bio-01 team-admin bio bea\n";
  token_ = "admin-token-01234";
  begin();
  ASSERT_TRUE(create_account("bio").ok());
  token_ = "team-token-012345";
  ASSERT_TRUE(create(named("r1", 1)).ok());
  const std::string first = created_.job_id();
  token_ = "team-token-bio-01";
  auto in = named("r1", 1);
  in.mutable_job()->set_account("bio");
  ASSERT_TRUE(create(in).ok());
  EXPECT_FALSE(created_.repeated_request());
  EXPECT_NE(created_.job_id(), first);
  EXPECT_EQ(get_job(created_.job_id()).spec().account(), "bio");
}

TEST_F(ApiRequestIdTest, ARefusedCallIsNotRemembered) {
  begin();
  auto in = named("r1", 1);
  in.mutable_job()->set_account("bio");
  EXPECT_EQ(create(in).error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(create(in).error_code(), grpc::NOT_FOUND);
  ASSERT_TRUE(create(named("r1", 1)).ok());
  EXPECT_FALSE(created_.repeated_request());
}

TEST_F(ApiRequestIdTest, ACheckIsNeitherRememberedNorAnsweredFromMemory) {
  begin();
  auto in = named("r1", 1);
  in.set_validate_only(true);
  ASSERT_TRUE(create(in).ok());
  ASSERT_TRUE(create(named("r1", 2)).ok());
  EXPECT_FALSE(created_.repeated_request());
  ASSERT_TRUE(create(in).ok());
  EXPECT_FALSE(created_.repeated_request());
  EXPECT_EQ(created_.job_id(), "");
  EXPECT_EQ(job_count(), 1);
}

TEST_F(ApiRequestIdTest, EachElementOfABatchHasItsOwn) {
  begin();
  v1::BatchCreateJobsRequest in;
  *in.add_requests() = named("b1", 1);
  *in.add_requests() = named("b1", 1);
  *in.add_requests() = named("b1", 2);
  *in.add_requests() = named("b2", 2);
  v1::BatchCreateJobsResponse out;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->BatchCreateJobs(c, in, &out); }).ok());
  EXPECT_FALSE(out.results(0).job().repeated_request());
  EXPECT_TRUE(out.results(1).job().repeated_request());
  EXPECT_EQ(out.results(1).job().job_id(), out.results(0).job().job_id());
  EXPECT_EQ(out.results(2).error().code(), grpc::FAILED_PRECONDITION);
  EXPECT_FALSE(out.results(3).job().repeated_request());
  ASSERT_TRUE(create(named("b2", 2)).ok()) << "alone it is the same call";
  EXPECT_EQ(created_.job_id(), out.results(3).job().job_id());
  EXPECT_EQ(job_count(), 2);
}

// What the service makes of an edit depends on what is there; the call is what was said.
TEST_F(ApiRequestIdTest, AnEditIsRecognisedAfterOthersHaveEdited) {
  begin();
  const auto mine = shares("ml", 5, "e1");
  ASSERT_TRUE(update(mine).ok());
  ASSERT_TRUE(update(shares("ml", 7, "")).ok());
  ASSERT_TRUE(update(mine).ok());
  EXPECT_TRUE(edited_.repeated_request());
  EXPECT_EQ(edited_.account().shares(), 7);
  EXPECT_EQ(update(shares("ml", 6, "e1")).error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(create_account("ml2", 5, "e1").error_code(), grpc::FAILED_PRECONDITION)
      << "creating and updating an account are one method";
}

TEST_F(ApiRequestIdTest, AnUpdateUnderAnIdMakesNoAccount) {
  begin();
  EXPECT_EQ(update(shares("nlp", 5, "e1")).error_code(), grpc::NOT_FOUND);
  v1::GetAccountRequest get;
  get.set_path("nlp");
  v1::Account out;
  EXPECT_EQ(run([&](auto* c) { return accounts_->GetAccount(c, get, &out); }).error_code(),
            grpc::NOT_FOUND);
}

TEST_F(ApiRequestIdTest, AnImportIsRecognised) {
  start();
  v1::ImportNodesRequest in;
  in.set_reason("test");
  in.set_request_id("i1");
  auto* node = in.add_nodes();
  node->set_name("n0");
  node->set_product(kH100);
  node->set_gpus(8);
  v1::ImportNodesResponse out;
  const auto import = [&] {
    out.Clear();
    return run([&](auto* c) { return clusters_->ImportNodes(c, in, &out); });
  };
  ASSERT_TRUE(import().ok());  // makes the cluster that it does not name
  ASSERT_TRUE(import().ok());
  EXPECT_TRUE(out.repeated_request());
  node->set_gpus(4);
  EXPECT_EQ(import().error_code(), grpc::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace subak
