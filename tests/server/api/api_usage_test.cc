// UsageService: reports, the ledger, its verification, and usage over time.
#include "api_stream_fixture.h"

namespace subak {
namespace {

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

TEST_F(ApiUsageTest, HistoryDividesUsageAndQuotaInSteps) {
  run_job("ana");  // from 1,000 s on, for an hour
  v1::UpdateAccountRequest edit;
  edit.mutable_account()->set_path("ml");
  edit.mutable_account()->add_quota()->set_product("gpu");
  edit.mutable_account()->mutable_quota(0)->set_milligpu(4500);
  edit.set_reason("test");
  ASSERT_TRUE(run([&](auto* c) { return accounts_->UpdateAccount(c, edit, &edited_); }).ok());
  move_clock(kHourMs);
  v1::GetUsageHistoryRequest in;
  in.set_account("ml");
  in.mutable_from()->set_seconds(0);
  in.mutable_step()->set_seconds(1800);
  v1::GetUsageHistoryResponse out;
  const auto ask = [&] {
    out.Clear();
    return run([&](auto* c) { return usage_->GetUsageHistory(c, in, &out); });
  };
  ASSERT_TRUE(ask().ok());
  const std::int64_t used[] = {800, 1800, 1000, 0, 0}, quota[] = {0, 0, 800, 1800, 1000};
  ASSERT_EQ(out.steps_size(), 5) << "until now, at 8,200 s";
  for (int i = 0; i < 5; ++i) {
    const v1::UsageStep& step = out.steps(i);
    EXPECT_EQ(step.from().seconds(), i * 1800);
    const std::int64_t amount = step.used().gpu_seconds() + step.held().gpu_seconds();
    EXPECT_EQ(amount, 8 * used[i]) << i;
    EXPECT_EQ(step.platform().gpu_seconds(), 0);
    EXPECT_EQ(step.quota().gpu_seconds() * 1000 + step.quota().rest_milligpu_ms() / 1000,
              4500 * quota[i])
        << i;
  }
  EXPECT_EQ(out.steps(4).to().seconds(), 8200);
  EXPECT_EQ(out.time().seconds(), 8200);
  EXPECT_GE(out.rows_added(), 1U);

  in.mutable_step()->set_seconds(299);
  EXPECT_EQ(bad_field(ask()), "step");
  in.mutable_step()->set_seconds(300);
  EXPECT_TRUE(ask().ok());
  in.mutable_to()->set_seconds(300 * 3000);
  EXPECT_TRUE(ask().ok());
  EXPECT_EQ(out.steps_size(), 28) << "no steps after now";
  in.mutable_to()->set_seconds(300 * 3000 + 1);
  EXPECT_EQ(bad_field(ask()), "step");
  in.mutable_step()->set_seconds(86'400);
  in.mutable_to()->set_seconds(400 * 86'400 + 1);
  EXPECT_EQ(bad_field(ask()), "from");
  in.mutable_to()->set_seconds(400 * 86'400);
  EXPECT_TRUE(ask().ok());
  in.mutable_from()->set_seconds(400 * 86'400);
  EXPECT_EQ(bad_field(ask()), "to");
  in.clear_from();
  in.clear_to();
  in.clear_step();
  in.set_account("nobody");
  EXPECT_EQ(ask().error_code(), grpc::NOT_FOUND);
}

TEST_F(ApiUsageTest, HistoryHasUsageWithoutARow) {
  const std::string id = submit(job_request("ml", 1, 8));
  grpc::ClientContext context;
  prepare(context);
  sequence_ = 0;
  auto observe = clusters_->Observe(&context);
  EXPECT_TRUE(send(*observe, bound(id, 0, get_job(id, true).pods(0).node())).empty());
  move_clock(kHourMs);
  v1::GetUsageHistoryResponse out;
  ASSERT_TRUE(run([&](auto* c) { return usage_->GetUsageHistory(c, {}, &out); }).ok());
  ASSERT_EQ(out.steps_size(), 2) << "from the begin of 1970 to now, at 4,600 s";
  EXPECT_EQ(out.steps(0).used().gpu_seconds(), 8 * 2600);
  EXPECT_EQ(out.steps(1).used().gpu_seconds(), 8 * 1000);
  EXPECT_EQ(out.steps(1).to().seconds(), 4600);
  observe->WritesDone();
  EXPECT_TRUE(observe->Finish().ok());
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

}  // namespace
}  // namespace subak
