// ListQueue with `would`: what the queue would be with the pods that are only observed.
#include "api_fixture.h"

namespace subak {
namespace {

class ApiShadowQueueTest : public ApiTest {
 protected:
  void SetUp() override {
    start();
    v1::CreateAccountRequest in;
    in.mutable_account()->set_path("ml");
    in.mutable_account()->set_shares(1);
    in.mutable_account()->add_namespaces("team-a");
    in.set_reason("test");
    ASSERT_TRUE(run([&](auto* c) { return accounts_->CreateAccount(c, in, &edited_); }).ok());
    set_mode(v1::MODE_OBSERVE);
    prepare(context_);
    observe_ = clusters_->Observe(&context_);
  }
  void TearDown() override {
    context_.TryCancel();
    observe_->Finish();
  }

  void set_mode(v1::Mode mode) {
    v1::UpdateClusterRequest in;
    in.set_name("default");
    in.set_mode(mode);
    in.set_reason("test");
    in.set_allow_missing(true);
    v1::UpdateClusterResponse out;
    const auto status = run([&](auto* c) { return clusters_->UpdateCluster(c, in, &out); });
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  void send(v1::ObserveRequest event) {
    event.set_sequence(++sequence_);
    event.set_session(session_);
    ASSERT_TRUE(observe_->Write(event));
    v1::ObserveResponse ack;
    do {
      ASSERT_TRUE(observe_->Read(&ack));
      ASSERT_EQ(ack.errors_size(), 0) << ack.errors(0).status().message();
      if (ack.session() != 0) session_ = ack.session();
    } while (ack.acknowledged_sequence() < sequence_);
  }
  // A cluster of so many nodes with 8 GPUs, followed by us.
  void follow(int nodes) {
    v1::ObserveRequest begin, complete;
    begin.mutable_list_begin();
    send(begin);
    for (int i = 0; i < nodes; ++i) {
      v1::ObserveRequest event;
      auto* node = event.mutable_node_seen()->mutable_node();
      node->set_name("n" + std::to_string(i));
      node->set_product(kH100);
      node->set_gpus(8);
      send(event);
    }
    complete.mutable_list_complete();
    send(complete);
  }
  static v1::ObserveRequest pending(const std::string& name, int gpus) {
    v1::ObserveRequest event;
    auto* pod = event.mutable_pod_seen()->mutable_pod();
    pod->set_uid("uid-" + name);
    pod->set_namespace_("team-a");
    pod->set_name(name);
    pod->set_gang_size(1);
    pod->mutable_shape()->set_kind(v1::GPU_KIND_WHOLE);
    pod->mutable_shape()->set_gpus(gpus);
    return event;
  }
  v1::ListQueueResponse would(int size = 0, const std::string& token = "",
                              const std::string& account = "") {
    v1::ListQueueRequest in;
    in.set_would(true);
    in.set_page_size(size);
    in.set_page_token(token);
    in.set_account(account);
    v1::ListQueueResponse out;
    const auto status = run([&](auto* c) { return jobs_->ListQueue(c, in, &out); });
    EXPECT_TRUE(status.ok()) << status.error_message();
    return out;
  }
  v1::ListQueueResponse queue() {
    v1::ListQueueResponse out;
    EXPECT_TRUE(run([&](auto* c) { return jobs_->ListQueue(c, {}, &out); }).ok());
    return out;
  }

  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ObserveRequest, v1::ObserveResponse>> observe_;
  std::uint64_t sequence_ = 0, session_ = 0;
};

TEST_F(ApiShadowQueueTest, PodsStandInTheQueueAsJobsWithoutAnId) {
  follow(1);
  const std::string waits = submit(job_request("ml", 2, 8));  // never fits
  send(pending("train", 6));
  send(pending("wide", 4));
  move_clock(5 * kMinuteMs);
  const auto out = would();
  ASSERT_EQ(out.rows_size(), 3);
  EXPECT_EQ(out.rows(0).job().id(), waits);
  EXPECT_FALSE(out.rows(0).pending());
  EXPECT_FALSE(out.rows(0).would_start());
  EXPECT_EQ(out.rows(0).waits_for().token(), "ExceedsFleet");
  const v1::QueueRow& train = out.rows(1);
  EXPECT_EQ(train.position(), 2);
  EXPECT_TRUE(train.pending());
  EXPECT_EQ(train.job().id(), "");
  EXPECT_EQ(train.job().spec().name(), "team-a/train");
  EXPECT_EQ(train.job().spec().account(), "ml");
  EXPECT_EQ(train.shape(), "1x6");
  EXPECT_EQ(train.wait().seconds(), 300);
  EXPECT_TRUE(train.would_start());
  EXPECT_FALSE(train.has_waits_for());
  ASSERT_EQ(train.job().nodes_size(), 1);
  EXPECT_EQ(train.job().nodes(0), "n0");
  EXPECT_FALSE(out.rows(2).would_start()) << "what starts before it takes the place";
  EXPECT_EQ(out.rows(2).waits_for().token(), "WaitingForCapacity");
  EXPECT_EQ(queue().rows_size(), 1);
  v1::ListJobsResponse jobs;
  ASSERT_TRUE(run([&](auto* c) { return jobs_->ListJobs(c, {}, &jobs); }).ok());
  EXPECT_EQ(jobs.jobs_size(), 1) << "nothing was made";
}

TEST_F(ApiShadowQueueTest, APodThatIsBoundOrGoneIsOffTheList) {
  follow(1);
  send(pending("a", 1));
  send(pending("b", 1));
  EXPECT_EQ(would().rows_size(), 2);
  v1::ObserveRequest bound = pending("a", 1), gone;
  bound.mutable_pod_seen()->mutable_pod()->set_node("n0");
  send(bound);
  EXPECT_EQ(would().rows_size(), 1);
  gone.mutable_pod_gone()->mutable_pod()->set_uid("uid-b");
  send(gone);
  EXPECT_EQ(would().rows_size(), 0);
}

TEST_F(ApiShadowQueueTest, ItSaysWhichClustersAreObservedAndKnown) {
  auto out = would();
  ASSERT_EQ(out.observed_clusters_size(), 1);
  EXPECT_EQ(out.observed_clusters(0), "default");
  ASSERT_EQ(out.partial_clusters_size(), 1) << "nobody follows it yet";
  follow(1);
  EXPECT_EQ(would().partial_clusters_size(), 0);
  send(pending("a", 1));
  EXPECT_EQ(would().rows_size(), 1);
  set_mode(v1::MODE_ENFORCE);
  out = would();
  EXPECT_EQ(out.observed_clusters_size(), 0);
  EXPECT_EQ(out.rows_size(), 0) << "it was made without a gate and stays foreign";
}

TEST_F(ApiShadowQueueTest, PagesGoOnWhereTheLastOneEnded) {
  follow(1);
  for (int i = 0; i < 5; ++i) send(pending("p" + std::to_string(i), 1));
  const auto first = would(2);
  ASSERT_EQ(first.rows_size(), 2);
  EXPECT_EQ(first.observed_clusters_size(), 1);
  const auto second = would(2, first.next_page_token());
  ASSERT_EQ(second.rows_size(), 2);
  EXPECT_EQ(second.rows(0).job().spec().name(), "team-a/p2");
  EXPECT_EQ(second.rows(0).position(), 3);
  EXPECT_EQ(second.observed_clusters_size(), 0) << "the first page said so";
  const auto last = would(2, second.next_page_token());
  EXPECT_EQ(last.rows_size(), 1);
  EXPECT_EQ(last.next_page_token(), "");
  EXPECT_EQ(would(2, "", "ml").rows_size(), 2);
  EXPECT_EQ(would(2, "", "bio").rows_size(), 0);
  v1::ListQueueRequest in;
  in.set_would(true);
  in.set_page_token("2.1-1");
  v1::ListQueueResponse out;
  EXPECT_EQ(bad_field(run([&](auto* c) { return jobs_->ListQueue(c, in, &out); })), "page_token");
}

}  // namespace
}  // namespace subak
