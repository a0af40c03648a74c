// GetPlan over the wire: what it says adds up, is bounded, and is of one instant.
#include "api_fixture.h"
#include "core/limits.h"
#include "google/protobuf/util/time_util.h"

namespace subak {
namespace {

using google::protobuf::util::TimeUtil;

class ApiPlanTest : public ApiTest {
 protected:
  v1::Plan plan(const v1::GetPlanRequest& in = {}) {
    v1::Plan out;
    const auto status = run([&](auto* c) { return clusters_->GetPlan(c, in, &out); });
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  grpc::Status refused(const v1::GetPlanRequest& in) {
    v1::Plan out;
    return run([&](auto* c) { return clusters_->GetPlan(c, in, &out); });
  }
  std::string submit_for(int pods, int gpus, int seconds, const std::string& name) {
    v1::CreateJobRequest in = job_request("ml", pods, gpus);
    in.mutable_job()->set_name(name);
    in.mutable_job()->mutable_time_limit()->set_seconds(seconds);
    return submit(in);
  }
  void enforce() {
    v1::UpdateClusterRequest in;
    in.set_name("default");
    in.set_mode(v1::MODE_ENFORCE);
    in.set_reason("test");
    in.set_allow_missing(true);
    v1::UpdateClusterResponse out;
    ASSERT_TRUE(run([&](auto* c) { return clusters_->UpdateCluster(c, in, &out); }).ok());
  }
};

void expect_whole(const v1::Plan& plan, int columns) {
  for (const v1::PlanRow& row : plan.rows()) {
    ASSERT_EQ(row.free_milligpu_size(), columns);
    ASSERT_EQ(row.closed_milligpu_size(), columns);
    for (int i = 0; i < columns; ++i) {
      std::int64_t sum = row.free_milligpu(i) + row.closed_milligpu(i);
      for (const v1::PlanLane& lane : row.lanes()) sum += lane.milligpu(i);
      EXPECT_EQ(sum, row.installed_milligpu()) << row.name() << ", column " << i;
    }
  }
}

TEST_F(ApiPlanTest, WhatRunsAndWhatIsToComeWithTheirNames) {
  start();
  ASSERT_TRUE(create_account("ml").ok());
  enforce();
  ASSERT_TRUE(import_nodes(3).ok());
  const std::string runs = submit_for(1, 8, 3600, "train <a&b>");
  const std::string other = submit_for(2, 8, 7200, "sweep");
  const std::string waits = submit_for(3, 8, 3600, "big");
  const v1::Plan out = plan();
  EXPECT_EQ(TimeUtil::TimestampToMilliseconds(out.time()), clock_.wall_ms());
  EXPECT_EQ(out.forecast_time().seconds(), out.time().seconds());
  EXPECT_GT(out.state_seq(), 0);
  EXPECT_EQ(TimeUtil::DurationToMilliseconds(out.until() - out.time()), 3 * kHourMs);
  EXPECT_EQ(TimeUtil::DurationToMilliseconds(out.step()) * 48, 3 * kHourMs);
  ASSERT_EQ(out.rows_size(), 2) << "two nodes do the same";
  expect_whole(out, 48);
  const v1::PlanRow& one = out.rows(0).domains() == 1 ? out.rows(0) : out.rows(1);
  EXPECT_EQ(one.cluster(), "default");
  EXPECT_EQ(one.product(), kH100);
  ASSERT_EQ(one.lanes_size(), 2);
  EXPECT_EQ(one.lanes(0).kind(), v1::PLAN_KIND_RUNS);
  EXPECT_EQ(one.lanes(0).job_id(), runs);
  EXPECT_EQ(one.lanes(0).job_name(), "train <a&b>");
  EXPECT_EQ(one.lanes(0).milligpu(0), 8000);
  EXPECT_EQ(one.lanes(0).milligpu(15), 8000);
  EXPECT_EQ(one.lanes(0).milligpu(16), 0) << "it ends after an hour";
  EXPECT_EQ(one.lanes(1).kind(), v1::PLAN_KIND_FORECAST);
  EXPECT_EQ(one.lanes(1).job_id(), waits);
  EXPECT_EQ(one.lanes(1).milligpu(31), 0);
  EXPECT_EQ(one.lanes(1).milligpu(32), 8000) << "both are gone after two";
  ASSERT_EQ(out.jobs_size(), 3);
  EXPECT_EQ(out.jobs(0).job().id(), other) << "the largest that runs";
  EXPECT_EQ(out.jobs(0).node_count(), 2);
  const v1::PlanJob& big = out.jobs(2);
  EXPECT_EQ(big.kind(), v1::PLAN_KIND_FORECAST);
  EXPECT_EQ(big.job().id(), waits);
  EXPECT_EQ(TimeUtil::DurationToMilliseconds(big.start() - out.time()), 2 * kHourMs);
  EXPECT_EQ(TimeUtil::DurationToMilliseconds(big.end() - out.time()), 3 * kHourMs);
  EXPECT_EQ(big.node_count(), 3);
  EXPECT_EQ(big.expected_start().cause(), "forecast");
  EXPECT_FALSE(big.expected_start().promised());
}

TEST_F(ApiPlanTest, WhatIsPromisedStandsIdleWithItsJob) {
  start();
  ASSERT_TRUE(create_account("ml").ok());
  enforce();
  ASSERT_TRUE(import_nodes(2).ok());
  submit_for(1, 8, 24 * 3600, "long");
  const std::string waits = submit_for(2, 8, 3600, "big");
  move_clock(3 * kHourMs);
  submit_for(2, 8, 24 * 3600, "later");  // so there is a pass
  const v1::Plan out = plan();
  ASSERT_GT(out.jobs_size(), 0);
  const v1::PlanJob& big = out.jobs(0);
  EXPECT_EQ(big.kind(), v1::PLAN_KIND_IDLE);
  EXPECT_EQ(big.job().id(), waits);
  EXPECT_TRUE(big.expected_start().promised());
  EXPECT_EQ(big.idle_milligpu(), 8000);
  expect_whole(out, 48);
  int idle = 0;
  for (const v1::PlanRow& row : out.rows()) {
    for (const v1::PlanLane& lane : row.lanes()) {
      if (lane.kind() != v1::PLAN_KIND_IDLE) continue;
      ++idle;
      EXPECT_EQ(lane.job_id(), waits);
      EXPECT_EQ(lane.milligpu(0), 8000);
    }
  }
  EXPECT_EQ(idle, 1);
}

TEST_F(ApiPlanTest, WhatIsAskedForIsChecked) {
  start();
  enforce();
  ASSERT_TRUE(import_nodes(2).ok());
  const auto field = [&](auto set) {
    v1::GetPlanRequest in;
    set(in);
    return bad_field(refused(in));
  };
  EXPECT_EQ(field([](auto& in) { in.set_columns(limits::kMaxPlanColumns + 1); }), "columns");
  EXPECT_EQ(field([](auto& in) { in.set_rows(-1); }), "rows");
  EXPECT_EQ(field([](auto& in) { in.set_lanes(limits::kMaxPlanLanes + 1); }), "lanes");
  EXPECT_EQ(field([](auto& in) { in.set_jobs(limits::kMaxPlanJobs + 1); }), "jobs");
  EXPECT_EQ(field([](auto& in) { in.set_domain("a\nb"); }), "domain");
  EXPECT_EQ(field([&](auto& in) {
              *in.mutable_until() = TimeUtil::MillisecondsToTimestamp(clock_.wall_ms());
            }),
            "until");
  EXPECT_EQ(field([&](auto& in) {
              *in.mutable_until() =
                  TimeUtil::MillisecondsToTimestamp(clock_.wall_ms() + 31 * kDayMs);
            }),
            "until");
  v1::GetPlanRequest in;
  in.set_domain("n7");
  EXPECT_EQ(refused(in).error_code(), grpc::NOT_FOUND);
  in.set_domain("n1");
  EXPECT_EQ(plan(in).rows_size(), 1);
  in.set_cluster("elsewhere");
  EXPECT_EQ(refused(in).error_code(), grpc::NOT_FOUND);
}

// 200 nodes and 780 gangs of 16, all with names as long as they may be.
TEST_F(ApiPlanTest, TheLargestAnswerFitsAMessage) {
  start();
  ASSERT_TRUE(create_account("ml").ok());
  enforce();
  v1::ImportNodesRequest nodes;
  nodes.set_reason("test");
  for (int i = 0; i < limits::kMaxPlanRows; ++i) {
    auto* const node = nodes.add_nodes();
    node->set_name(std::string(limits::kMaxNameBytes - 3, 'n') + std::to_string(100 + i));
    node->set_product(kH100);
    node->set_gpus(8);
  }
  v1::ImportNodesResponse imported;
  ASSERT_TRUE(run([&](auto* c) { return clusters_->ImportNodes(c, nodes, &imported); }).ok());
  constexpr int kJobs = 780;
  v1::BatchCreateJobsRequest batch;
  for (int i = 0; i < kJobs; ++i) {
    v1::CreateJobRequest* const one = batch.add_requests();
    *one = job_request("ml", 16, 8);
    one->mutable_job()->set_name(std::string(limits::kMaxNameBytes, 'x'));
    one->mutable_job()->mutable_time_limit()->set_seconds(60 + i);
  }
  v1::BatchCreateJobsResponse made;
  const auto status = run([&](auto* c) { return jobs_->BatchCreateJobs(c, batch, &made); });
  ASSERT_TRUE(status.ok()) << status.error_message();
  v1::GetPlanRequest in;
  in.set_rows(limits::kMaxPlanRows);
  in.set_columns(limits::kMaxPlanColumns);
  in.set_lanes(limits::kMaxPlanLanes);
  in.set_jobs(limits::kMaxPlanJobs);
  const v1::Plan out = plan(in);
  EXPECT_GT(out.rows_size(), 10);
  EXPECT_LT(out.ByteSizeLong(), limits::kMaxPageBytes + (64u << 10));
  EXPECT_GT(out.jobs_left_out(), 0);
  EXPECT_EQ(out.jobs_size() + out.jobs_left_out(), kJobs);
  expect_whole(out, limits::kMaxPlanColumns);
}

class ApiPlanTokensTest : public ApiTokensTest {};

TEST_F(ApiPlanTokensTest, AViewerMayLook) {
  start();
  v1::Plan out;
  const auto look = [&] { return run([&](auto* c) { return clusters_->GetPlan(c, {}, &out); }); };
  as_viewer();
  EXPECT_TRUE(look().ok());
  token_ = "nobody-knows-this";
  EXPECT_EQ(look().error_code(), grpc::UNAUTHENTICATED);
}

}  // namespace
}  // namespace subak
