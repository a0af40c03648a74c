// JobService: submissions, lists, the queue, why, hold and cancel, watching.
#include "api_fixture.h"

namespace subak {
namespace {

class ApiJobTest : public ApiTest {
 protected:
  ApiJobTest() {
    start();
    EXPECT_TRUE(create_account("ml").ok());
    EXPECT_TRUE(create_account("bio").ok());
    const auto status = import_nodes(1);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  grpc::Status create(const v1::CreateJobRequest& in) {
    created_.Clear();
    return run([&](auto* c) { return jobs_->CreateJob(c, in, &created_); });
  }
  v1::CreateJobResponse created_;
};

TEST_F(ApiJobTest, SubmittedJobCarriesWhatWasAsked) {
  auto in = job_request("ml", 2, 4);
  in.mutable_job()->set_user("ana");
  in.mutable_job()->set_name("train");
  in.mutable_job()->set_priority(7);
  in.mutable_job()->mutable_time_limit()->set_seconds(3600);
  in.mutable_job()->mutable_request()->set_topology(v1::TOPOLOGY_NODE);
  in.mutable_job()->mutable_request()->mutable_groups(0)->mutable_shape()->add_products(kH100);
  const v1::Job job = get_job(submit(in), true);
  EXPECT_EQ(job.id(), "1-1");
  EXPECT_EQ(job.spec().account(), "ml");
  EXPECT_EQ(job.spec().user(), "ana");
  EXPECT_EQ(job.spec().name(), "train");
  EXPECT_EQ(job.spec().priority(), 7);
  EXPECT_EQ(job.spec().time_limit().seconds(), 3600);
  EXPECT_EQ(job.spec().request().topology(), v1::TOPOLOGY_NODE);
  EXPECT_EQ(job.spec().request().groups(0).count(), 2);
  EXPECT_EQ(job.spec().request().groups(0).shape().products(0), kH100);
  EXPECT_EQ(job.gang_size(), 2);
  EXPECT_EQ(job.origin(), v1::JOB_ORIGIN_API);
  EXPECT_EQ(job.milligpu(), 8000);
}

TEST_F(ApiJobTest, RefusalsNameTheField) {
  struct Case {
    const char* field;
    std::function<void(v1::CreateJobRequest&)> spoil;
  };
  const auto shape = [](v1::CreateJobRequest& in) {
    return in.mutable_job()->mutable_request()->mutable_groups(0)->mutable_shape();
  };
  const Case cases[] = {
      {"job.account", [](auto& in) { in.mutable_job()->set_account(""); }},
      {"job.account", [](auto& in) { in.mutable_job()->set_account("ml/ana"); }},
      {"job.name", [](auto& in) { in.mutable_job()->set_name(std::string(300, 'x')); }},
      {"job.name", [](auto& in) { in.mutable_job()->set_name("two\nlines"); }},
      {"job.time_limit", [](auto& in) { in.mutable_job()->mutable_time_limit()->set_seconds(-1); }},
      {"job.request.groups", [](auto& in) { in.mutable_job()->mutable_request()->clear_groups(); }},
      {"job.request.groups[0].count",
       [](auto& in) { in.mutable_job()->mutable_request()->mutable_groups(0)->set_count(0); }},
      {"job.request.groups[0].count",
       [](auto& in) { in.mutable_job()->mutable_request()->mutable_groups(0)->set_count(10'001); }},
      {"job.request.segment",
       [](auto& in) { in.mutable_job()->mutable_request()->set_segment(-2); }},
      {"job.request.topology",
       [](auto& in) {
         in.mutable_job()->mutable_request()->set_topology(static_cast<v1::Topology>(77));
       }},
      {"job.request.groups[0].shape.kind",
       [&](auto& in) { shape(in)->set_kind(static_cast<v1::GpuKind>(9)); }},
      {"job.request.groups[0].shape.gpus", [&](auto& in) { shape(in)->set_gpus(65); }},
      {"job.request.groups[0].shape.gpus", [&](auto& in) { shape(in)->set_gpus(0); }},
      {"job.request.groups[0].shape.fraction_milligpu",
       [&](auto& in) {
         shape(in)->set_kind(v1::GPU_KIND_FRACTION);
         shape(in)->set_gpus(0);
         shape(in)->set_fraction_milligpu(1000);
       }},
      {"job.request.groups[0].shape.mig_profile",
       [&](auto& in) { shape(in)->set_mig_profile("1g"); }},
      {"job.request.groups[0].shape.mig_profile",
       [&](auto& in) { shape(in)->set_kind(v1::GPU_KIND_MIG); }},
      {"job.request.groups[0].shape.memory_bytes",
       [&](auto& in) { shape(in)->set_memory_bytes(-1); }},
      {"job.request.groups[0].shape.tolerations[0].effect",
       [&](auto& in) { shape(in)->add_tolerations()->set_effect("Sometimes"); }},
      {"job.request.groups[0].shape.affinity[0].requirements[0].op",
       [&](auto& in) { shape(in)->add_affinity()->add_requirements()->set_key("k"); }},
      {"job.request.groups[0].shape.host_ports[0].port",
       [&](auto& in) { shape(in)->add_host_ports()->set_port(0); }},
  };
  for (const Case& c : cases) {
    auto in = job_request("ml", 1, 1);
    c.spoil(in);
    const auto status = create(in);
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << c.field;
    EXPECT_EQ(bad_field(status), c.field);
  }
  EXPECT_EQ(create(job_request("nobody", 1, 1)).error_code(), grpc::NOT_FOUND);
}

TEST_F(ApiJobTest, WhatIsTooLargeIsRefusedByTheSharedTable) {
  const std::string in_shape = "job.request.groups[0].shape";
  const auto refused = [&](const std::function<void(v1::PodShape*)>& spoil) {
    auto in = job_request("ml", 1, 1);
    spoil(in.mutable_job()->mutable_request()->mutable_groups(0)->mutable_shape());
    const auto status = create(in);
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    return bad_field(status);
  };
  const auto choosy = [](v1::PodShape* shape, int values, std::size_t bytes) {
    auto* requirement = shape->add_affinity()->add_requirements();
    requirement->set_key("k");
    requirement->set_op("In");
    for (int i = 0; i < values; ++i) requirement->add_values(std::string(bytes, 'v'));
  };
  EXPECT_EQ(refused([](auto* shape) { shape->set_memory_bytes(std::int64_t{1} << 60); }),
            in_shape + ".memory_bytes");
  EXPECT_EQ(refused([](auto* shape) {
              for (int i = 0; i < 65; ++i) shape->add_host_ports()->set_port(i + 1);
            }),
            in_shape + ".host_ports");
  EXPECT_EQ(refused([&](auto* shape) { choosy(shape, 65, 1); }),
            in_shape + ".affinity[0].requirements[0].values");
  EXPECT_EQ(refused([&](auto* shape) { choosy(shape, 1, 513); }),
            in_shape + ".affinity[0].requirements[0].values[0]");
  EXPECT_EQ(refused([&](auto* shape) { choosy(shape, 40, 500); }), in_shape);
}

TEST_F(ApiJobTest, ValidateOnlyQueuesNothing) {
  auto in = job_request("ml", 1, 1);
  in.set_validate_only(true);
  ASSERT_TRUE(create(in).ok());
  EXPECT_EQ(created_.job_id(), "");
  v1::ListJobsResponse out;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ListJobs(c, {}, &out); }).ok());
  EXPECT_EQ(out.jobs_size(), 0);
}

TEST_F(ApiJobTest, MoreThanTheFleetWaitsWithAWarning) {
  ASSERT_TRUE(create(job_request("ml", 9, 8)).ok());
  ASSERT_EQ(created_.warnings_size(), 2) << "and nothing would start it";
  EXPECT_NE(created_.warnings(0).find("ExceedsFleet"), std::string::npos);
}

TEST_F(ApiJobTest, SameRequestIdIsOneJob) {
  auto in = job_request("ml", 1, 1);
  in.set_request_id("r1");
  const std::string id = submit(in);
  ASSERT_TRUE(create(in).ok());
  EXPECT_EQ(created_.job_id(), id);
  EXPECT_TRUE(created_.repeated_request());
}

TEST_F(ApiJobTest, BatchAcceptsAndRefusesOneByOne) {
  v1::BatchCreateJobsRequest in;
  *in.add_requests() = job_request("ml", 1, 1);
  *in.add_requests() = job_request("ml", 1, 99);
  *in.add_requests() = job_request("nobody", 1, 1);
  *in.add_requests() = job_request("bio", 1, 1);
  v1::BatchCreateJobsResponse out;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->BatchCreateJobs(c, in, &out); }).ok());
  ASSERT_EQ(out.results_size(), 4);
  EXPECT_EQ(out.results(0).job().job_id(), "1-1");
  EXPECT_EQ(out.results(1).error().code(), grpc::INVALID_ARGUMENT);
  EXPECT_NE(out.results(1).error().message().find("requests[1].job.request.groups[0].shape.gpus"),
            std::string::npos);
  EXPECT_EQ(out.results(2).error().code(), grpc::NOT_FOUND);
  EXPECT_EQ(out.results(3).job().job_id(), "1-2");
  in.clear_requests();
  EXPECT_EQ(bad_field(run([&](auto* c) { return jobs_->BatchCreateJobs(c, in, &out); })),
            "requests");
}

TEST_F(ApiJobTest, ListsPageByIdAndFilter) {
  for (int i = 0; i < 3; ++i) submit(job_request("ml", 1, 8));
  submit(job_request("bio", 1, 8));
  v1::ListJobsRequest in;
  in.set_page_size(3);
  v1::ListJobsResponse out;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ListJobs(c, in, &out); }).ok());
  EXPECT_EQ(out.jobs_size(), 3);
  in.set_page_token(out.next_page_token());
  out.Clear();
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ListJobs(c, in, &out); }).ok());
  ASSERT_EQ(out.jobs_size(), 1);
  EXPECT_EQ(out.jobs(0).id(), "1-4");
  EXPECT_EQ(out.next_page_token(), "");
  in.Clear();
  out.Clear();
  in.set_account("ml");
  in.set_state(v1::JOB_STATE_QUEUED);
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ListJobs(c, in, &out); }).ok());
  for (const auto& job : out.jobs()) {
    EXPECT_EQ(job.spec().account(), "ml");
    EXPECT_EQ(job.state(), v1::JOB_STATE_QUEUED);
  }
  in.set_state(static_cast<v1::JobState>(50));
  EXPECT_EQ(bad_field(run([&](auto* c) { return jobs_->ListJobs(c, in, &out); })), "state");
}

TEST_F(ApiJobTest, ListsSayWhereWhyAndUntilWhen) {
  auto first = job_request("ml", 1, 8);
  first.mutable_job()->set_user("ana");
  submit(first);  // takes the node
  auto second = job_request("bio", 1, 8);
  second.mutable_job()->set_user("ana");
  submit(second);
  auto held = job_request("ml", 1, 1);
  held.mutable_job()->set_held(true);
  submit(held);
  v1::ListJobsRequest in;
  v1::ListJobsResponse out;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ListJobs(c, in, &out); }).ok());
  ASSERT_EQ(out.jobs_size(), 3);
  EXPECT_EQ(out.jobs(0).state(), v1::JOB_STATE_STARTING);
  ASSERT_EQ(out.jobs(0).nodes_size(), 1);
  EXPECT_EQ(out.jobs(0).nodes(0), "n0");
  EXPECT_EQ(out.jobs(0).node_count(), 1);
  EXPECT_EQ(out.jobs(0).waits_for(), "");
  const std::int64_t hold_s = Policy().hold_ms / kSecondMs;
  EXPECT_EQ(out.jobs(0).until().seconds(), clock_.wall_ms() / kSecondMs + hold_s);
  EXPECT_EQ(out.jobs(1).waits_for(), "WaitingForCapacity");
  EXPECT_EQ(out.jobs(1).node_count(), 0);
  EXPECT_FALSE(out.jobs(1).has_until());
  EXPECT_EQ(out.jobs(2).waits_for(), "OnHold");
  in.set_user("ana");
  in.set_page_size(1);
  out.Clear();
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ListJobs(c, in, &out); }).ok());
  ASSERT_EQ(out.jobs_size(), 1);
  in.set_page_token(out.next_page_token());
  out.Clear();
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ListJobs(c, in, &out); }).ok());
  ASSERT_EQ(out.jobs_size(), 1);
  EXPECT_EQ(out.jobs(0).spec().account(), "bio") << "a user's name counts in every account";
  in.Clear();
  in.set_user("an");
  out.Clear();
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ListJobs(c, in, &out); }).ok());
  EXPECT_EQ(out.jobs_size(), 0);
  in.set_user(std::string(300, 'x'));
  EXPECT_EQ(bad_field(run([&](auto* c) { return jobs_->ListJobs(c, in, &out); })), "user");
}

TEST_F(ApiJobTest, OfManyNodesTheFirstAreNamedAndTheRestCounted) {
  ASSERT_TRUE(import_nodes(17).ok());
  const v1::Job job = get_job(submit(job_request("ml", 17, 8)));
  EXPECT_EQ(job.nodes_size(), 16);
  EXPECT_EQ(job.node_count(), 17);
}

TEST_F(ApiJobTest, APageOfALargeFleetLooksForFewReasons) {
  const auto status = import_nodes(25'001);  // two reasons are a look at 50'002 nodes
  ASSERT_TRUE(status.ok()) << status.error_message();
  for (int gpus = 1; gpus <= 3; ++gpus) {
    auto held = job_request("ml", 1, gpus);
    held.mutable_job()->set_held(true);
    submit(held);
  }
  submit([] {
    auto like_the_first = job_request("ml", 1, 1);
    like_the_first.mutable_job()->set_held(true);
    return like_the_first;
  }());
  v1::ListJobsResponse out;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ListJobs(c, {}, &out); }).ok());
  ASSERT_EQ(out.jobs_size(), 4);
  EXPECT_EQ(out.jobs(0).waits_for(), "OnHold");
  EXPECT_EQ(out.jobs(1).waits_for(), "OnHold");
  EXPECT_EQ(out.jobs(2).waits_for(), "") << "the page has used up its work";
  EXPECT_EQ(out.jobs(3).waits_for(), "OnHold") << "known from the first";
}

TEST_F(ApiJobTest, AuditHasBeforeAndAfterFromTheFirstEditOn) {
  const std::string placed = submit(job_request("ml", 1, 8));
  const std::string queued = submit(job_request("bio", 1, 8));
  v1::HoldJobRequest hold;
  hold.set_job_id(queued);
  v1::CancelJobRequest cancel;
  cancel.set_job_id(placed);
  v1::DrainNodeRequest drain;
  drain.set_node("n0");
  drain.set_reason("driver");
  v1::EditJobResponse edited;
  v1::DrainNodeResponse drained;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->HoldJob(c, hold, &edited); }).ok());
  ASSERT_TRUE(run([&](auto* c) { return jobs_->CancelJob(c, cancel, &edited); }).ok());
  ASSERT_TRUE(run([&](auto* c) { return clusters_->DrainNode(c, drain, &drained); }).ok());
  v1::ListAuditRequest in;
  in.set_page_size(3);
  v1::ListAuditResponse audit;
  ASSERT_TRUE(run([&](auto* c) { return admin_->ListAudit(c, in, &audit); }).ok());
  ASSERT_EQ(audit.entries_size(), 3);
  EXPECT_EQ(audit.entries(2).subject(), queued);
  EXPECT_EQ(audit.entries(2).before(), "state=queued");
  EXPECT_EQ(audit.entries(2).after(), "state=paused");
  EXPECT_EQ(audit.entries(1).subject(), placed);
  EXPECT_EQ(audit.entries(1).before(), "state=starting");
  EXPECT_EQ(audit.entries(1).after(), "state=ending cause=cancelled");
  EXPECT_EQ(audit.entries(0).subject(), "n0");
  EXPECT_EQ(audit.entries(0).before() + " drained=true", audit.entries(0).after());
}

TEST_F(ApiJobTest, QueueShowsOrderAndTheOneThing) {
  submit(job_request("ml", 1, 8));  // takes the node
  const std::string second = submit(job_request("ml", 1, 8));
  const std::string third = submit(job_request("bio", 1, 2));
  move_clock(5 * kMinuteMs);
  v1::ListQueueResponse out;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ListQueue(c, {}, &out); }).ok());
  ASSERT_EQ(out.rows_size(), 2);
  EXPECT_EQ(out.rows(0).position(), 1);
  EXPECT_EQ(out.rows(0).job().id(), third) << "bio holds nothing yet";
  EXPECT_EQ(out.rows(1).job().id(), second);
  EXPECT_EQ(out.rows(1).shape(), "1x8");
  EXPECT_EQ(out.rows(1).wait().seconds(), 300);
  EXPECT_EQ(out.rows(1).waits_for().token(), "WaitingForCapacity");
  // The one that runs has no limit: nobody knows when it ends.
  const std::int64_t submitted = out.rows(1).job().submit_time().seconds();
  for (const v1::QueueRow& row : out.rows()) {
    EXPECT_FALSE(row.has_expected_start());
    EXPECT_EQ(row.no_estimate(),
              "what runs before it has no time limit, and too few starts have come to learn from");
  }
  EXPECT_EQ(out.forecast_time().seconds(), submitted);
  v1::ListQueueRequest in;
  in.set_account("ml");
  in.set_page_size(1);
  out.Clear();
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ListQueue(c, in, &out); }).ok());
  ASSERT_EQ(out.rows_size(), 1);
  EXPECT_EQ(out.rows(0).position(), 2) << "positions are those of the whole queue";
}

// No node has the product: with any other the job would have the node when the one that runs has ended.
TEST_F(ApiJobTest, WhySaysWhatWouldStartItSooner) {
  v1::CreateJobRequest runs = job_request("ml", 1, 8);
  runs.mutable_job()->mutable_time_limit()->set_seconds(kDayMs / kSecondMs);
  submit(runs);
  v1::CreateJobRequest other = job_request("ml", 1, 8);
  other.mutable_job()->mutable_request()->mutable_groups(0)->mutable_shape()->add_products("H200");
  v1::ExplainJobRequest in;
  in.set_job_id(submit(other));
  v1::Explanation out;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ExplainJob(c, in, &out); }).ok());
  EXPECT_EQ(out.alternatives_size(), 0) << "nobody asked for them";
  EXPECT_FALSE(out.has_expected_start());
  in.set_alternatives(true);
  out.Clear();
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ExplainJob(c, in, &out); }).ok());
  ASSERT_EQ(out.alternatives_size(), 1);
  EXPECT_EQ(out.alternatives(0).change(), "any GPU product instead of H200");
  EXPECT_EQ(out.alternatives(0).start().seconds(), out.time().seconds() + kDayMs / kSecondMs);
}

TEST_F(ApiJobTest, WhyNamesConstraintsAndTheWalk) {
  submit(job_request("ml", 1, 8));
  const std::string waiting = submit(job_request("ml", 1, 8));
  v1::ExplainJobRequest in;
  in.set_job_id(waiting);
  v1::Explanation out;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ExplainJob(c, in, &out); }).ok());
  EXPECT_EQ(out.position(), 1);
  EXPECT_EQ(out.job().id(), waiting);
  ASSERT_GE(out.reasons_size(), 1);
  EXPECT_EQ(out.reasons(0).token(), "WaitingForCapacity");
  ASSERT_GE(out.ranking_size(), 1);
  EXPECT_TRUE(out.ranking(0).entries(0).on_path());
  in.set_job_id("1-99");
  EXPECT_EQ(run([&](auto* c) { return jobs_->ExplainJob(c, in, &out); }).error_code(),
            grpc::NOT_FOUND);
  in.set_job_id("nonsense");
  EXPECT_EQ(bad_field(run([&](auto* c) { return jobs_->ExplainJob(c, in, &out); })), "job_id");
}

TEST_F(ApiJobTest, HoldReleaseCancel) {
  submit(job_request("ml", 1, 8));
  const std::string id = submit(job_request("ml", 1, 8));
  v1::EditJobResponse out;
  v1::HoldJobRequest hold;
  hold.set_job_id(id);
  ASSERT_TRUE(run([&](auto* c) { return jobs_->HoldJob(c, hold, &out); }).ok());
  EXPECT_EQ(out.job_id(), id);
  EXPECT_EQ(get_job(id).state(), v1::JOB_STATE_PAUSED);
  v1::ReleaseJobRequest release;
  release.set_job_id(id);
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ReleaseJob(c, release, &out); }).ok());
  EXPECT_EQ(get_job(id).state(), v1::JOB_STATE_QUEUED);
  v1::CancelJobRequest cancel;
  cancel.set_job_id(id);
  cancel.set_reason("wrong one");
  ASSERT_TRUE(run([&](auto* c) { return jobs_->CancelJob(c, cancel, &out); }).ok());
  EXPECT_EQ(get_job(id).state(), v1::JOB_STATE_DONE);
  EXPECT_EQ(get_job(id).cause(), v1::CAUSE_CANCELLED);
  const auto status = run([&](auto* c) { return jobs_->HoldJob(c, hold, &out); });
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  cancel.set_job_id("1-77");
  EXPECT_EQ(run([&](auto* c) { return jobs_->CancelJob(c, cancel, &out); }).error_code(),
            grpc::NOT_FOUND);
}

TEST_F(ApiJobTest, WatchListsThenFollows) {
  submit(job_request("ml", 1, 8));
  const std::string before = submit(job_request("ml", 1, 8));
  grpc::ClientContext context;
  prepare(context);
  v1::WatchJobsRequest in;
  in.set_account("ml");
  auto stream = jobs_->WatchJobs(&context, in);
  std::vector<std::string> listed;
  v1::WatchJobsResponse message;
  while (stream->Read(&message) && !message.listed()) listed.push_back(message.job().id());
  EXPECT_EQ(listed, (std::vector<std::string>{"1-1", before}));
  submit(job_request("bio", 1, 8));  // not asked for
  v1::CancelJobRequest cancel;
  cancel.set_job_id(before);
  v1::EditJobResponse out;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->CancelJob(c, cancel, &out); }).ok());
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_EQ(message.job().id(), before);
  EXPECT_EQ(message.job().state(), v1::JOB_STATE_DONE);
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::CANCELLED);
}

TEST_F(ApiJobTest, WatchOfAnUnknownJobEnds) {
  grpc::ClientContext context;
  prepare(context);
  v1::WatchJobsRequest in;
  in.set_job_id("1-9");
  auto stream = jobs_->WatchJobs(&context, in);
  v1::WatchJobsResponse message;
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(stream->Finish().error_code(), grpc::NOT_FOUND);
}

TEST_F(ApiJobTest, ShutdownEndsOpenStreams) {
  grpc::ClientContext context;
  prepare(context);
  auto stream = jobs_->WatchJobs(&context, {});
  v1::WatchJobsResponse message;
  ASSERT_TRUE(stream->Read(&message));
  EXPECT_TRUE(message.listed());
  api_->shutdown(60'000);  // would hang for a minute if the stream stayed
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(stream->Finish().error_code(), grpc::UNAVAILABLE);
}

}  // namespace
}  // namespace subak
