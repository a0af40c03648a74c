// Reads of an earlier moment: `subak-at`.
#include <set>
#include <thread>

#include "api_fixture.h"
#include "core/duration.h"

namespace subak {
namespace {

class ApiPastTest : public ApiTest {
 protected:
  // A call about the moment; fills `sequence_` and `time_` from the trailer.
  template <class F>
  grpc::Status at(const std::string& moment, F call) {
    grpc::ClientContext context;
    prepare(context);
    context.AddMetadata("subak-at", moment);
    const grpc::Status status = call(&context);
    sequence_ = trailer(context, "subak-sequence");
    time_ = trailer(context, "subak-time");
    return status;
  }
  static std::string trailer(const grpc::ClientContext& context, const char* name) {
    const auto& all = context.GetServerTrailingMetadata();
    const auto it = all.find(name);
    return it == all.end() ? "" : std::string(it->second.data(), it->second.size());
  }
  v1::Status status_at(const std::string& moment) {
    v1::Status out;
    const auto status =
        at(moment, [&](auto* c) { return admin_->GetStatus(c, v1::GetStatusRequest(), &out); });
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  std::vector<std::string> queue_at(const std::string& moment) {
    v1::ListQueueResponse out;
    const auto status =
        at(moment, [&](auto* c) { return jobs_->ListQueue(c, v1::ListQueueRequest(), &out); });
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::string> ids;
    for (const auto& row : out.rows()) ids.push_back(row.job().id());
    return ids;
  }
  // No deadline passes meanwhile. A fleet of 8 GPUs: `first_` holds them from `began_` on, `second_` waits from `later_` on.
  void live() {
    start();
    ASSERT_TRUE(create_account("ml").ok());
    ASSERT_TRUE(import_nodes(1).ok());
    began_ = clock_.wall_ms();
    first_ = submit(job_request("ml", 1, 8));
    move_clock(10 * kSecondMs);
    later_ = clock_.wall_ms();
    second_ = submit(job_request("ml", 1, 8));
    move_clock(10 * kSecondMs);
    v1::CancelJobRequest cancel;
    cancel.set_job_id(first_);
    v1::EditJobResponse out;
    ASSERT_TRUE(run([&](auto* c) { return jobs_->CancelJob(c, cancel, &out); }).ok());
    move_clock(10 * kSecondMs);
  }

  std::string sequence_, time_, first_, second_;
  TimeMs began_ = 0, later_ = 0;
};

TEST_F(ApiPastTest, EachReadShowsTheMoment) {
  live();
  const std::string before = format_time(later_ - 1), then = format_time(later_ + kSecondMs);
  EXPECT_TRUE(queue_at(before).empty());
  EXPECT_EQ(time_, std::to_string(later_ - 1));
  EXPECT_EQ(queue_at(then), std::vector<std::string>{second_});
  const std::string sequence = sequence_;
  EXPECT_EQ(queue_at(sequence), std::vector<std::string>{second_});
  EXPECT_EQ(sequence_, sequence);

  const v1::Status status = status_at(then);
  EXPECT_EQ(status.jobs_queued(), 1);
  EXPECT_EQ(status.jobs_starting(), 1);
  EXPECT_EQ(status.state(), "");  // no fact describes the process of that time
  EXPECT_EQ(std::to_string(status.follower_sequence()), sequence);
  EXPECT_EQ(status_at(before).jobs_queued(), 0);

  v1::GetJobRequest get;
  get.set_job_id(first_);
  get.set_include_pods(true);
  v1::Job job;
  ASSERT_TRUE(at(then, [&](auto* c) { return jobs_->GetJob(c, get, &job); }).ok());
  EXPECT_EQ(job.state(), v1::JOB_STATE_STARTING);
  ASSERT_EQ(job.nodes_size(), 1);
  EXPECT_EQ(job.nodes(0), "n0");
  get.set_job_id(second_);
  EXPECT_EQ(at(before, [&](auto* c) { return jobs_->GetJob(c, get, &job); }).error_code(),
            grpc::StatusCode::NOT_FOUND);

  v1::ListJobsResponse jobs;
  ASSERT_TRUE(
      at(before, [&](auto* c) { return jobs_->ListJobs(c, v1::ListJobsRequest(), &jobs); }).ok());
  ASSERT_EQ(jobs.jobs_size(), 1);
  EXPECT_EQ(jobs.jobs(0).id(), first_);

  v1::ExplainJobRequest explain;
  explain.set_job_id(second_);
  v1::Explanation why;
  ASSERT_TRUE(at(then, [&](auto* c) { return jobs_->ExplainJob(c, explain, &why); }).ok());
  EXPECT_EQ(why.position(), 1);
  EXPECT_GT(why.reasons_size(), 0);
  EXPECT_EQ(why.time().seconds() * 1000 + why.time().nanos() / 1'000'000, later_ + kSecondMs);
  EXPECT_TRUE(why.has_forecast_time());

  v1::ListSharesResponse shares;
  ASSERT_TRUE(at(then, [&](auto* c) {
                return accounts_->ListShares(c, v1::ListSharesRequest(), &shares);
              }).ok());
  ASSERT_EQ(shares.rows_size(), 2);
  EXPECT_EQ(shares.rows(1).queued_milligpu(), 8000);
  EXPECT_EQ(shares.rows(1).held_milligpu(), 8000);

  v1::ListNodesResponse nodes;
  const std::string at_first = format_time(began_ + 1);
  ASSERT_TRUE(at(at_first, [&](auto* c) {
                return clusters_->ListNodes(c, v1::ListNodesRequest(), &nodes);
              }).ok());
  ASSERT_EQ(nodes.nodes_size(), 1);
  EXPECT_EQ(nodes.nodes(0).allocated_milligpu(), 8000);

  v1::FleetMap map;
  ASSERT_TRUE(at(at_first, [&](auto* c) { return clusters_->GetFleetMap(c, {}, &map); }).ok());
  ASSERT_EQ(map.runs_size(), 1);
  EXPECT_EQ(map.runs(0), 8 * 16 + v1::GPU_STATE_HELD);
  EXPECT_EQ(map.job_numbers_size(), 1);
}

TEST_F(ApiPastTest, ThePresentMomentIsThePresent) {
  live();
  const std::string now = format_time(clock_.wall_ms());
  v1::ListSharesResponse past, present;
  ASSERT_TRUE(run([&](auto* c) {
                return accounts_->ListShares(c, v1::ListSharesRequest(), &present);
              }).ok());
  ASSERT_TRUE(at(now, [&](auto* c) {
                return accounts_->ListShares(c, v1::ListSharesRequest(), &past);
              }).ok());
  EXPECT_EQ(past.SerializeAsString(), present.SerializeAsString());
  v1::ListQueueResponse queue, queue_past;
  ASSERT_TRUE(
      run([&](auto* c) { return jobs_->ListQueue(c, v1::ListQueueRequest(), &queue); }).ok());
  ASSERT_TRUE(at(now, [&](auto* c) {
                return jobs_->ListQueue(c, v1::ListQueueRequest(), &queue_past);
              }).ok());
  EXPECT_EQ(queue.rows_size(), queue_past.rows_size());
}

TEST_F(ApiPastTest, RefusalsNameWhatIsWrong) {
  live();
  const auto refusal = [&](const std::string& moment) {
    v1::ListQueueResponse out;
    const auto status =
        at(moment, [&](auto* c) { return jobs_->ListQueue(c, v1::ListQueueRequest(), &out); });
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << moment;
    EXPECT_EQ(bad_field(status), "subak-at") << moment;
    return status.error_message();
  };
  EXPECT_NE(refusal("yesterday").find("want the number of a fact, or a time"), std::string::npos);
  EXPECT_NE(refusal("0").find("want a fact from 1 to "), std::string::npos);
  EXPECT_NE(refusal("1000000").find("want a fact from 1 to "), std::string::npos);
  EXPECT_NE(refusal(format_time(clock_.wall_ms() + kHourMs)).find("want a time up to now"),
            std::string::npos);
  EXPECT_NE(refusal("1970-01-01T00:00:00Z").find("the first fact, 1, is of that time"),
            std::string::npos);

  // Changes, and reads of what no fact stores.
  v1::CancelJobRequest cancel;
  cancel.set_job_id(second_);
  v1::EditJobResponse edited;
  EXPECT_EQ(bad_field(at("5", [&](auto* c) { return jobs_->CancelJob(c, cancel, &edited); })),
            "subak-at");
  v1::ListQueueRequest would;
  would.set_would(true);
  v1::ListQueueResponse out;
  EXPECT_EQ(bad_field(at("5", [&](auto* c) { return jobs_->ListQueue(c, would, &out); })),
            "subak-at");
  EXPECT_NE(get_job(second_).state(), v1::JOB_STATE_DONE);
}

// A new method belongs into this list, or refuses a moment.
TEST_F(ApiPastTest, EachMethodShowsTheMomentOrRefusesIt) {
  const std::set<std::string> of_any_moment{
      "GetStatus", "GetAccount",  "ListAccounts", "ListShares", "ListBudgets", "ListClusters",
      "ListNodes", "GetFleetMap", "GetJob",       "ListJobs",   "ListQueue",   "ExplainJob"};
  live();
  std::set<std::string> shown;
  int streams = 0;
  for (const auto* method : all_methods()) {
    const auto status = call_empty(*method, "5");
    if (of_any_moment.contains(method->name())) {
      EXPECT_NE(bad_field(status), "subak-at") << method->full_name();
      shown.insert(method->name());
      continue;
    }
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << method->full_name();
    EXPECT_EQ(bad_field(status), "subak-at") << method->full_name();
    const bool is_stream = method->server_streaming();
    streams += is_stream ? 1 : 0;
    EXPECT_NE(status.error_message().find(is_stream ? "this stream only shows the present"
                                                    : "this call only shows the present"),
              std::string::npos)
        << method->full_name() << ": " << status.error_message();
  }
  EXPECT_EQ(shown, of_any_moment);
  EXPECT_GE(streams, 6);
}

// A read of the past changes nothing of the present, whose facts go on meanwhile.
TEST_F(ApiPastTest, ThePresentGoesOn) {
  live();
  const std::string then = format_time(later_ + kSecondMs);
  std::thread reads([&] {
    for (int i = 0; i < 20; ++i) {
      grpc::ClientContext context;
      prepare(context);
      context.AddMetadata("subak-at", i % 2 == 0 ? then : std::to_string(1 + i % 6));
      v1::ListQueueResponse out;
      const auto status = jobs_->ListQueue(&context, v1::ListQueueRequest(), &out);
      EXPECT_TRUE(status.ok()) << status.error_message();
      if (i % 2 == 0) {
        EXPECT_EQ(out.rows_size(), 1);
      }
    }
  });
  for (int i = 0; i < 20; ++i) submit(job_request("ml", 1, 8));
  reads.join();
  v1::ListQueueResponse now;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ListQueue(c, v1::ListQueueRequest(), &now); }).ok());
  EXPECT_GE(now.rows_size(), 20);
}

}  // namespace
}  // namespace subak
