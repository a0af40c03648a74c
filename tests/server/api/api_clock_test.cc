// A clock that is not believed, over the API.
#include "api_fixture.h"
#include "core/limits.h"

namespace subak {
namespace {

class ApiClockTest : public ApiTest {
 protected:
  // A store whose last fact is as old.
  void start_after(DurationMs rest) {
    {
      Runtime before(RuntimeOptions{}, *store_, clock_);
      ASSERT_TRUE(before.start().ok());
      build_world(before, 1);
      before.stop();
    }
    clock_.set_wall(clock_.wall_ms() + rest);
    start();
  }
  grpc::Status accept(const v1::AcceptClockRequest& in) {
    done_.Clear();
    return run([&](auto* c) { return admin_->AcceptClock(c, in, &done_); });
  }
  static v1::AcceptClockRequest because(const std::string& reason, const std::string& id = "") {
    v1::AcceptClockRequest in;
    in.set_reason(reason);
    in.set_request_id(id);
    return in;
  }
  v1::Status status() {
    v1::Status out;
    EXPECT_TRUE(run([&](auto* c) { return admin_->GetStatus(c, {}, &out); }).ok());
    return out;
  }
  void expect_not_ready(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION) << status.error_message();
    EXPECT_NE(status.error_message().find("admin accept-clock"), std::string::npos);
  }

  v1::AcceptClockResponse done_;
};

TEST_F(ApiClockTest, ThirtyDaysOfRestAreServed) {
  start_after(limits::kMaxClockAheadMs);
  EXPECT_EQ(status().state(), "serving");
  EXPECT_TRUE(status().clock_believed());
  EXPECT_TRUE(create_account("bio").ok());
}

TEST_F(ApiClockTest, AfterMoreOnlyWhatEndsTheWaitingIsTaken) {
  start_after(400 * kDayMs);
  EXPECT_EQ(status().state(), "waits for accept-clock");
  EXPECT_FALSE(status().clock_believed());
  EXPECT_EQ(status().clock_offset().seconds(), 400 * kDayMs / kSecondMs);
  expect_not_ready(create_account("bio"));
  expect_not_ready(import_nodes(2));
  v1::CreateJobResponse job;
  expect_not_ready(
      run([&](auto* c) { return jobs_->CreateJob(c, job_request("ml", 1, 1), &job); }));
  v1::BatchCreateJobsRequest batch;
  *batch.add_requests() = job_request("ml", 1, 1);
  v1::BatchCreateJobsResponse results;
  expect_not_ready(run([&](auto* c) { return jobs_->BatchCreateJobs(c, batch, &results); }));
  grpc::ClientContext observed, effected;
  prepare(observed);
  prepare(effected);
  expect_not_ready(clusters_->Observe(&observed)->Finish());
  expect_not_ready(clusters_->Effects(&effected, {})->Finish());
  v1::FinalizeRequest finalize;
  finalize.set_reason("again");
  v1::FinalizeResponse finalized;
  EXPECT_TRUE(run([&](auto* c) { return admin_->Finalize(c, finalize, &finalized); }).ok());
  EXPECT_EQ(runtime_->now_ms(), 1'000'000) << "nothing is as of the clock that waits";
}

TEST_F(ApiClockTest, AcceptingItIsOneEditWithBothTimes) {
  start_after(400 * kDayMs);
  EXPECT_EQ(bad_field(accept(because(""))), "reason");
  auto in = because("a long rest", "c1");
  in.set_validate_only(true);
  ASSERT_TRUE(accept(in).ok());
  EXPECT_EQ(done_.previous_time().seconds(), 1000);
  EXPECT_EQ(done_.time().seconds(), 1000 + 400 * kDayMs / kSecondMs);
  EXPECT_EQ(status().state(), "waits for accept-clock");
  in.set_validate_only(false);
  ASSERT_TRUE(accept(in).ok());
  EXPECT_EQ(done_.time().seconds(), 1000 + 400 * kDayMs / kSecondMs);
  EXPECT_EQ(status().state(), "serving");
  EXPECT_EQ(status().clock_offset().seconds(), 0);
  EXPECT_TRUE(create_account("bio").ok());
  ASSERT_TRUE(accept(in).ok());
  EXPECT_TRUE(done_.repeated_request());
  EXPECT_EQ(accept(because("again")).error_code(), grpc::FAILED_PRECONDITION);
  v1::ListAuditRequest list;
  list.set_subject("clock");
  v1::ListAuditResponse audit;
  ASSERT_TRUE(run([&](auto* c) { return admin_->ListAudit(c, list, &audit); }).ok());
  ASSERT_EQ(audit.entries_size(), 2);
  EXPECT_EQ(audit.entries(0).what(), "accept_clock");
  EXPECT_NE(audit.entries(0).refused(), "");
  EXPECT_EQ(audit.entries(1).what(), "clock_accepted");
  EXPECT_EQ(audit.entries(1).actor(), "loopback");
  EXPECT_EQ(audit.entries(1).reason(), "a long rest");
  EXPECT_EQ(audit.entries(1).before(), "time=1970-01-01T00:16:40.000Z");
  EXPECT_EQ(audit.entries(1).after(), "time=1971-02-05T00:16:40.000Z");
}

// Three seconds of a clock that is 400 days ahead: nobody sees them, nobody pays for them.
TEST_F(ApiClockTest, AJumpIsNotCharged) {
  start_after(0);
  const std::string job = submit(job_request("ml", 1, 8));
  clock_.step_wall(clock_.wall_ms() + 400 * kDayMs);
  runtime_->nudge();
  submit(job_request("ml", 1, 8));
  move_clock(3000);
  submit(job_request("ml", 1, 8));
  EXPECT_FALSE(status().clock_believed());
  EXPECT_EQ(status().state(), "serving");
  v1::ListSharesResponse shares;
  ASSERT_TRUE(run([&](auto* c) { return accounts_->ListShares(c, {}, &shares); }).ok());
  EXPECT_EQ(shares.time().seconds(), 1003);
  clock_.step_wall(clock_.wall_ms() - 400 * kDayMs);
  runtime_->nudge();
  const std::string last = submit(job_request("ml", 1, 8));
  EXPECT_TRUE(status().clock_believed());
  EXPECT_EQ(get_job(last).submit_time().seconds(), 1003);
  EXPECT_EQ(get_job(job).state(), v1::JOB_STATE_STARTING) << "its hold has not expired";
}

}  // namespace
}  // namespace subak
