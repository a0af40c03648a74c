// Observe and Effects: one API job from its submission to its ledger rows,
// and how the streams refuse.
#include <thread>

#include "api_fixture.h"

namespace subak {
namespace {

class ApiStreamTest : public ApiTest {
 protected:
  using Observe = grpc::ClientReaderWriter<v1::ObserveRequest, v1::ObserveResponse>;

  ApiStreamTest() {
    start();
    EXPECT_TRUE(create_account("ml").ok());
    EXPECT_TRUE(import_nodes(2).ok());
  }
  // Sends an event and waits for its acknowledgement; the errors that came with it.
  std::vector<v1::ObserveError> send(Observe& stream, v1::ObserveRequest event) {
    event.set_sequence(++sequence_);
    EXPECT_TRUE(stream.Write(event));
    std::vector<v1::ObserveError> errors;
    v1::ObserveResponse ack;
    do {
      if (!stream.Read(&ack)) {
        ADD_FAILURE() << "the stream ended";
        break;
      }
      errors.insert(errors.end(), ack.errors().begin(), ack.errors().end());
      if (ack.session() != 0) session_ = ack.session();
    } while (ack.acknowledged_sequence() < sequence_);
    return errors;
  }
  static v1::ObserveRequest bound(const std::string& job, int rank, const std::string& node) {
    v1::ObserveRequest event;
    event.mutable_pod_bound()->mutable_pod()->set_job_id(job);
    event.mutable_pod_bound()->mutable_pod()->set_rank(rank);
    event.mutable_pod_bound()->set_node(node);
    return event;
  }
  static v1::ObserveRequest running(const std::string& job, int rank) {
    v1::ObserveRequest event;
    event.mutable_pod_running()->mutable_pod()->set_job_id(job);
    event.mutable_pod_running()->mutable_pod()->set_rank(rank);
    return event;
  }
  static v1::ObserveRequest gone(const std::string& job, int rank) {
    v1::ObserveRequest event;
    event.mutable_pod_gone()->mutable_pod()->set_job_id(job);
    event.mutable_pod_gone()->mutable_pod()->set_rank(rank);
    event.mutable_pod_gone()->set_cause(v1::CAUSE_FINISHED);
    return event;
  }
  static v1::ObserveRequest node_seen(const std::string& name) {
    v1::ObserveRequest event;
    auto* node = event.mutable_node_seen()->mutable_node();
    node->set_name(name);
    node->set_product(kH100);
    node->set_gpus(8);
    return event;
  }
  std::vector<v1::LedgerRow> ledger(const v1::ListLedgerRequest& in) {
    v1::ListLedgerResponse out;
    EXPECT_TRUE(run([&](auto* c) { return usage_->ListLedger(c, in, &out); }).ok());
    return {out.rows().begin(), out.rows().end()};
  }

  std::uint64_t sequence_ = 0;
  std::uint64_t session_ = 0;  // the last that an acknowledgement named
};

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

// --- usage ---------------------------------------------------------------------------------------

class ApiUsageTest : public ApiStreamTest {
 protected:
  // A job of 8 GPUs for one hour, bound at once.
  void run_job(const std::string& user) {
    auto in = job_request("ml", 1, 8);
    in.mutable_job()->set_user(user);
    const std::string id = submit(in);
    grpc::ClientContext context;
    prepare(context);
    sequence_ = 0;
    auto observe = clusters_->Observe(&context);
    const std::string node = get_job(id, true).pods(0).node();
    EXPECT_TRUE(send(*observe, bound(id, 0, node)).empty());
    move_clock(kHourMs);
    EXPECT_TRUE(send(*observe, gone(id, 0)).empty());
    observe->WritesDone();
    EXPECT_TRUE(observe->Finish().ok());
  }
  v1::ReportUsageResponse report(const v1::ReportUsageRequest& in) {
    v1::ReportUsageResponse out;
    EXPECT_TRUE(run([&](auto* c) { return usage_->ReportUsage(c, in, &out); }).ok());
    return out;
  }
};

TEST_F(ApiUsageTest, ReportGroupsAsAsked) {
  run_job("ana");
  run_job("ben");
  run_job("ana");
  const auto total = report({});
  ASSERT_EQ(total.rows_size(), 1);
  EXPECT_EQ(total.rows(0).account(), "ml");
  EXPECT_DOUBLE_EQ(total.rows(0).gpu_hours(), 24);
  EXPECT_EQ(total.total().gpu_seconds(), 24 * 3600);
  v1::ReportUsageRequest in;
  in.set_by_user(true);
  in.set_by_product(true);
  in.set_by_day(true);
  in.set_by_state(true);
  const auto split = report(in);
  ASSERT_EQ(split.rows_size(), 2);
  EXPECT_EQ(split.rows(0).user(), "ana");
  EXPECT_EQ(split.rows(0).amount().gpu_seconds(), 16 * 3600);
  EXPECT_EQ(split.rows(0).product(), kH100);
  EXPECT_EQ(split.rows(0).state(), v1::USAGE_STATE_USED);
  EXPECT_EQ(split.rows(0).day().seconds(), 0);
  EXPECT_EQ(split.rows(1).user(), "ben");
  v1::ReportUsageRequest late;
  late.mutable_from()->set_seconds(1000 + 2 * 3600 + 1800);  // the middle of the third hour
  EXPECT_EQ(report(late).total().gpu_seconds(), 8 * 1800) << "rows are cut";
}

TEST_F(ApiUsageTest, ReportByJobClusterAndMonth) {
  run_job("ana");
  run_job("ben");
  v1::ReportUsageRequest in;
  in.set_by_job(true);
  in.set_by_cluster(true);
  in.set_by_namespace(true);
  in.set_by_profile(true);
  in.set_period(v1::PERIOD_MONTH);
  const auto out = report(in);
  ASSERT_EQ(out.rows_size(), 2);
  for (const v1::UsageRow& row : out.rows()) {
    EXPECT_EQ(row.cluster(), "default");
    EXPECT_EQ(row.namespace_(), "") << "a job of the API";
    EXPECT_EQ(row.profile(), "");
    EXPECT_EQ(row.amount().gpu_seconds(), 8 * 3600);
    EXPECT_EQ(row.used().gpu_seconds() + row.held().gpu_seconds(), 8 * 3600);
    EXPECT_EQ(row.platform().gpu_seconds(), 0);
    EXPECT_TRUE(row.has_day());
    EXPECT_EQ(row.day().seconds(), 0) << "1970-01-01";
  }
  EXPECT_NE(out.rows(0).job_id(), out.rows(1).job_id());
  EXPECT_GE(out.rows_added(), 2U);
  in.set_period(static_cast<v1::Period>(9));
  v1::ReportUsageResponse refused;
  EXPECT_EQ(bad_field(run([&](auto* c) { return usage_->ReportUsage(c, in, &refused); })),
            "period");
}

TEST_F(ApiUsageTest, ReportShowsWhatWasPromised) {
  run_job("ana");
  v1::UpdateAccountRequest edit;
  edit.mutable_account()->set_path("ml");
  edit.mutable_account()->add_quota()->set_product("gpu");
  edit.mutable_account()->mutable_quota(0)->set_milligpu(4500);
  edit.mutable_account()->set_budgets("24h/total");
  edit.set_reason("test");
  v1::EditAccountResponse edited;
  ASSERT_TRUE(run([&](auto* c) { return accounts_->UpdateAccount(c, edit, &edited); }).ok());
  move_clock(2 * kHourMs);
  v1::ReportUsageRequest in;
  in.set_with_allowances(true);
  const auto out = report(in);
  ASSERT_EQ(out.allowances_size(), 2) << "the root has the quotas of its children";
  for (const auto& row : out.allowances()) EXPECT_EQ(row.quota().gpu_seconds(), 9 * 3600);
  EXPECT_EQ(out.allowances(1).budgets().at(0).left().gpu_seconds(), 24 * 3600) << "it began later";
  in.set_by_user(true);
  v1::ReportUsageResponse refused;
  EXPECT_EQ(bad_field(run([&](auto* c) { return usage_->ReportUsage(c, in, &refused); })),
            "with_allowances");
}

TEST_F(ApiUsageTest, ReportShowsWhatRunsBesideTheBooks) {
  EXPECT_FALSE(report({}).has_first_day());
  run_job("ana");
  auto in = job_request("ml", 1, 8);
  in.mutable_job()->set_user("ben");
  const std::string id = submit(in);
  grpc::ClientContext context;
  prepare(context);
  sequence_ = 0;
  auto observe = clusters_->Observe(&context);
  EXPECT_TRUE(send(*observe, bound(id, 0, get_job(id, true).pods(0).node())).empty());
  move_clock(kHourMs / 2);
  v1::ReportUsageRequest asked;
  asked.set_by_user(true);
  asked.set_by_state(true);
  const auto out = report(asked);
  ASSERT_EQ(out.rows_size(), 2);
  EXPECT_EQ(out.rows(0).user(), "ana");
  EXPECT_EQ(out.rows(0).running().gpu_seconds(), 0);
  EXPECT_EQ(out.rows(1).user(), "ben");
  EXPECT_EQ(out.rows(1).amount().gpu_seconds(), 0);
  EXPECT_EQ(out.rows(1).running().gpu_seconds(), 8 * 1800);
  EXPECT_EQ(out.rows(1).state(), v1::USAGE_STATE_USED);
  EXPECT_EQ(out.total().gpu_seconds(), 8 * 3600);
  EXPECT_EQ(out.running().gpu_seconds(), 8 * 1800);
  EXPECT_EQ(out.time().seconds(), clock_.wall_ms() / kSecondMs);
  EXPECT_TRUE(out.has_first_day());
  v1::ReportUsageRequest late;  // the last quarter of an hour
  late.mutable_from()->set_seconds(clock_.wall_ms() / kSecondMs - 900);
  EXPECT_EQ(report(late).running().gpu_seconds(), 8 * 900) << "cut as rows are";
  late.set_account("ml/ana");
  EXPECT_EQ(report(late).running().gpu_seconds(), 0) << "ben's is not hers";
  observe->WritesDone();
  EXPECT_TRUE(observe->Finish().ok());
}

TEST_F(ApiUsageTest, ReportRefusesUnknownAccountsAndEmptyRanges) {
  v1::ReportUsageRequest in;
  in.set_account("nobody");
  v1::ReportUsageResponse out;
  EXPECT_EQ(run([&](auto* c) { return usage_->ReportUsage(c, in, &out); }).error_code(),
            grpc::NOT_FOUND);
  in.set_account("ml");
  in.mutable_from()->set_seconds(10);
  in.mutable_to()->set_seconds(10);
  EXPECT_EQ(bad_field(run([&](auto* c) { return usage_->ReportUsage(c, in, &out); })), "to");
  in.mutable_from()->set_seconds(-1);
  EXPECT_EQ(bad_field(run([&](auto* c) { return usage_->ReportUsage(c, in, &out); })), "from");
}

TEST_F(ApiUsageTest, LedgerPagesAndFilters) {
  for (const char* user : {"ana", "ben", "ana"}) run_job(user);
  v1::ListLedgerRequest in;
  in.set_page_size(2);
  v1::ListLedgerResponse out;
  ASSERT_TRUE(run([&](auto* c) { return usage_->ListLedger(c, in, &out); }).ok());
  ASSERT_EQ(out.rows_size(), 2);
  EXPECT_LT(out.rows(0).sequence(), out.rows(1).sequence());
  EXPECT_EQ(out.rows(0).payer(), "ml/ana");
  in.set_page_token(out.next_page_token());
  out.Clear();
  ASSERT_TRUE(run([&](auto* c) { return usage_->ListLedger(c, in, &out); }).ok());
  EXPECT_EQ(out.rows_size(), 1);
  EXPECT_EQ(out.next_page_token(), "");
  in.Clear();
  in.set_account("ml/ben");
  EXPECT_EQ(ledger(in).size(), 1u);
}

TEST_F(ApiUsageTest, VerifyAddsUpToTheBalances) {
  for (int i = 0; i < 3; ++i) run_job("ana");
  v1::VerifyUsageResponse out;
  ASSERT_TRUE(run([&](auto* c) { return usage_->VerifyUsage(c, {}, &out); }).ok());
  EXPECT_EQ(out.rows(), 3u);
  EXPECT_EQ(out.total().gpu_seconds(), 24 * 3600);
  EXPECT_EQ(out.drift().gpu_seconds(), 0);
  EXPECT_EQ(out.drift().rest_milligpu_ms(), 0);
  EXPECT_EQ(out.residual().gpu_seconds(), 0);
  EXPECT_EQ(out.differences_size(), 0);
  v1::Status status;
  ASSERT_TRUE(run([&](auto* c) { return admin_->GetStatus(c, {}, &status); }).ok());
  EXPECT_TRUE(status.has_ledger_drift());
}

// The newest list counts: what the stream before it says is refused and changes nothing.
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
