// Observe and Effects: one API job from its submission to its ledger rows,
// and how the streams refuse.
#include <thread>

#include "api_stream_fixture.h"

namespace subak {
namespace {

TEST_F(ApiStreamTest, OneJobFromSubmissionToItsLedgerRows) {
  grpc::ClientContext effects_context, observe_context;
  prepare(effects_context);
  prepare(observe_context);
  auto effects = clusters_->Effects(&effects_context, {});
  auto observe = clusters_->Observe(&observe_context);
  const std::string id = submit(job_request("ml", 2, 8));

  v1::EffectsResponse message;
  ASSERT_TRUE(effects->Read(&message));
  const v1::Effect effect = message.effect();
  EXPECT_EQ(effect.kind(), v1::EFFECT_KIND_OPEN_GATE);
  EXPECT_EQ(effect.job_id(), id);
  EXPECT_EQ(effect.cluster(), "default");
  ASSERT_EQ(effect.pods_size(), 2);
  EXPECT_EQ(effect.pods(0).milligpu(), 8000);
  EXPECT_EQ(get_job(id).state(), v1::JOB_STATE_STARTING);

  move_clock(kMinuteMs);
  for (const auto& pod : effect.pods()) {
    EXPECT_TRUE(send(*observe, bound(id, pod.rank(), pod.node())).empty());
    EXPECT_TRUE(send(*observe, running(id, pod.rank())).empty());
  }
  EXPECT_EQ(get_job(id).state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(get_job(id, true).pods(1).state(), v1::POD_STATE_RUNNING);
  move_clock(kHourMs);
  for (const auto& pod : effect.pods()) EXPECT_TRUE(send(*observe, gone(id, pod.rank())).empty());
  EXPECT_EQ(get_job(id).state(), v1::JOB_STATE_DONE);
  EXPECT_EQ(get_job(id).cause(), v1::CAUSE_FINISHED);

  std::int64_t used = 0, held = 0;
  for (const auto& row : ledger({})) {
    EXPECT_EQ(row.job_id(), id);
    EXPECT_EQ(row.payer(), "ml");
    EXPECT_EQ(row.product(), kH100);
    (row.state() == v1::USAGE_STATE_USED ? used : held) += row.amount().gpu_seconds();
  }
  EXPECT_EQ(used, 16 * 3600);
  EXPECT_EQ(held, 16 * 60);
  observe->WritesDone();
  v1::ObserveResponse ack;
  EXPECT_FALSE(observe->Read(&ack));
  EXPECT_TRUE(observe->Finish().ok());
  effects_context.TryCancel();
  effects->Finish();
}

TEST_F(ApiStreamTest, EffectsBeginWithWhatIsOutstanding) {
  const std::string id = submit(job_request("ml", 1, 8));
  EXPECT_EQ(get_job(id).state(), v1::JOB_STATE_STARTING);
  for (int round = 0; round < 2; ++round) {  // at least once: also to the second asker
    grpc::ClientContext context;
    prepare(context);
    auto effects = clusters_->Effects(&context, {});
    v1::EffectsResponse message;
    ASSERT_TRUE(effects->Read(&message));
    EXPECT_EQ(message.effect().job_id(), id);
    context.TryCancel();
    effects->Finish();
  }
}

TEST_F(ApiStreamTest, RefusedEventsAreReportedAndTheStreamGoesOn) {
  grpc::ClientContext context;
  prepare(context);
  auto observe = clusters_->Observe(&context);
  auto errors = send(*observe, bound("1-99", 0, "n0"));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].sequence(), 1u);
  EXPECT_EQ(errors[0].status().code(), grpc::NOT_FOUND);
  errors = send(*observe, bound("1-1", 0, ""));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].status().message().find("pod_bound.node"), std::string::npos);
  errors = send(*observe, v1::ObserveRequest());
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].status().code(), grpc::INVALID_ARGUMENT);
  v1::ObserveRequest both = bound("1-1", 0, "n0");
  both.mutable_pod_bound()->mutable_pod()->set_uid("u");
  EXPECT_EQ(send(*observe, both).size(), 1u);
  v1::ObserveRequest begin;
  begin.mutable_list_begin();
  EXPECT_TRUE(send(*observe, begin).empty());
  observe->WritesDone();
  EXPECT_TRUE(observe->Finish().ok());
}

TEST_F(ApiStreamTest, AListReplacesTheFleet) {
  grpc::ClientContext context;
  prepare(context);
  auto observe = clusters_->Observe(&context);
  v1::ObserveRequest begin, complete;
  begin.set_cluster("default");
  begin.mutable_list_begin();
  complete.mutable_list_complete();
  EXPECT_TRUE(send(*observe, begin).empty());
  EXPECT_TRUE(send(*observe, node_seen("w1")).empty());
  EXPECT_TRUE(send(*observe, node_seen("w2")).empty());
  EXPECT_TRUE(send(*observe, node_seen("w3")).empty());
  EXPECT_TRUE(send(*observe, complete).empty());
  v1::ListNodesResponse out;
  ASSERT_TRUE(run([&](auto* c) { return clusters_->ListNodes(c, {}, &out); }).ok());
  ASSERT_EQ(out.nodes_size(), 3);
  EXPECT_EQ(out.nodes(0).spec().name(), "w1");
  observe->WritesDone();
  EXPECT_TRUE(observe->Finish().ok());
}

// Many events without waiting: every one is acknowledged, in order, and the last one last.
TEST_F(ApiStreamTest, EventsAreAcknowledgedInOrderUnderLoad) {
  constexpr std::uint64_t kEvents = 10'000;  // more than one stream may have in flight
  grpc::ClientContext context;
  prepare(context);
  auto observe = clusters_->Observe(&context);
  std::thread sender([&] {
    for (std::uint64_t i = 1; i <= kEvents; ++i) {
      v1::ObserveRequest event = bound("1-99", 0, "n0");
      event.set_sequence(i);
      if (!observe->Write(event)) break;
    }
    observe->WritesDone();
  });
  std::uint64_t last = 0, errors = 0;
  v1::ObserveResponse ack;
  while (observe->Read(&ack)) {
    EXPECT_GT(ack.acknowledged_sequence(), last);
    last = ack.acknowledged_sequence();
    errors += static_cast<std::uint64_t>(ack.errors_size());
  }
  sender.join();
  EXPECT_TRUE(observe->Finish().ok());
  EXPECT_EQ(last, kEvents);
  EXPECT_EQ(errors, kEvents);
}

TEST_F(ApiStreamTest, ObserversCountWhileTheirStreamIsOpen) {
  EXPECT_TRUE(api_->observers().empty());
  grpc::ClientContext context;
  prepare(context);
  auto observe = clusters_->Observe(&context);
  send(*observe, node_seen("x"));
  EXPECT_EQ(api_->observers(), (std::map<std::string, std::size_t>{{"", 1}}));
  observe->WritesDone();
  EXPECT_TRUE(observe->Finish().ok());
  api_->shutdown(kMinuteMs);  // the stream is over for the server too
  EXPECT_TRUE(api_->observers().empty());
}

TEST_F(ApiStreamTest, BrokenProtocolEndsTheStream) {
  const auto ends_with = [&](std::uint64_t sequence, const std::string& cluster) {
    grpc::ClientContext context;
    prepare(context);
    auto observe = clusters_->Observe(&context);
    v1::ObserveRequest event = bound("1-1", 0, "n0");
    event.set_sequence(1);
    EXPECT_TRUE(observe->Write(event));
    event.set_sequence(sequence);
    event.set_cluster(cluster);
    observe->Write(event);
    v1::ObserveResponse ack;
    while (observe->Read(&ack)) {
    }
    return bad_field(observe->Finish());
  };
  EXPECT_EQ(ends_with(1, ""), "sequence");
  EXPECT_EQ(ends_with(2, "other"), "cluster");
}

TEST_F(ApiStreamTest, EffectsOfAnUnknownClusterEnd) {
  grpc::ClientContext context;
  prepare(context);
  v1::EffectsRequest in;
  in.set_cluster("west");
  auto effects = clusters_->Effects(&context, in);
  v1::EffectsResponse message;
  EXPECT_FALSE(effects->Read(&message));
  EXPECT_EQ(effects->Finish().error_code(), grpc::NOT_FOUND);
}

TEST_F(ApiStreamTest, OneSessionFollowsAClusterAndTheNewestWins) {
  v1::ObserveRequest begin, complete;
  begin.mutable_list_begin();
  complete.mutable_list_complete();
  grpc::ClientContext old_context, new_context, third_context;
  prepare(old_context);
  prepare(new_context);
  prepare(third_context);
  auto old_stream = clusters_->Observe(&old_context);
  auto new_stream = clusters_->Observe(&new_context);
  EXPECT_TRUE(send(*old_stream, begin).empty());
  const std::uint64_t first = session_;
  EXPECT_GT(first, 0u);
  EXPECT_TRUE(send(*old_stream, node_seen("n0")).empty());
  EXPECT_TRUE(send(*new_stream, begin).empty());
  EXPECT_EQ(session_, first + 1);
  EXPECT_TRUE(send(*new_stream, node_seen("n0")).empty());

  const auto refused = send(*old_stream, complete);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].status().code(), grpc::StatusCode::ABORTED);
  EXPECT_NE(refused[0].status().message().find("session: was \"" + std::to_string(first)),
            std::string::npos)
      << refused[0].status().message();
  EXPECT_EQ(api_->stale_events(), 1u);
  EXPECT_TRUE(send(*new_stream, complete).empty());

  // A third stream goes on with the session; one that names none may not speak.
  auto third = clusters_->Observe(&third_context);
  EXPECT_EQ(send(*third, node_seen("n1")).size(), 1u);
  grpc::ClientContext fourth_context;
  prepare(fourth_context);
  auto fourth = clusters_->Observe(&fourth_context);
  v1::ObserveRequest named = node_seen("n1");
  named.set_session(first + 1);
  EXPECT_TRUE(send(*fourth, named).empty());
  EXPECT_TRUE(send(*fourth, node_seen("n2")).empty());
  named.set_session(first);
  named.set_sequence(++sequence_);
  EXPECT_TRUE(fourth->Write(named));
  v1::ObserveResponse end;
  EXPECT_FALSE(fourth->Read(&end));
  EXPECT_EQ(fourth->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);

  // What is to be done says whose it is.
  submit(job_request("ml", 1, 8));
  grpc::ClientContext effects_context;
  prepare(effects_context);
  auto effects = clusters_->Effects(&effects_context, {});
  v1::EffectsResponse message;
  ASSERT_TRUE(effects->Read(&message));
  EXPECT_EQ(message.effect().session(), first + 1);
  for (auto* context : {&old_context, &new_context, &third_context, &effects_context}) {
    context->TryCancel();
  }
}

}  // namespace
}  // namespace subak
