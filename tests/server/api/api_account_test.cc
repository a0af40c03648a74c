// AccountService: edits with masks, revisions, request ids and dry runs; lists, shares, history.
#include <cmath>

#include "api_fixture.h"

namespace subak {
namespace {

class ApiAccountTest : public ApiTest {
 protected:
  ApiAccountTest() { start(); }
  grpc::Status update(const v1::UpdateAccountRequest& in) {
    edited_.Clear();
    return run([&](auto* c) { return accounts_->UpdateAccount(c, in, &edited_); });
  }
  static v1::UpdateAccountRequest change(const std::string& path,
                                         std::initializer_list<const char*> mask) {
    v1::UpdateAccountRequest in;
    in.mutable_account()->set_path(path);
    for (const char* field : mask) in.mutable_update_mask()->add_paths(field);
    in.set_reason("because");
    return in;
  }
  v1::Account get(const std::string& path) {
    v1::GetAccountRequest in;
    in.set_path(path);
    v1::Account out;
    EXPECT_TRUE(run([&](auto* c) { return accounts_->GetAccount(c, in, &out); }).ok());
    return out;
  }
};

TEST_F(ApiAccountTest, CreatedAccountIsReadBackAtOnce) {
  v1::CreateAccountRequest in;
  in.mutable_account()->set_path("ml");
  auto* quota = in.mutable_account()->add_quota();
  quota->set_product("gpu");
  quota->set_milligpu(16'000);
  in.mutable_account()->set_borrow_milligpu(0);
  in.mutable_account()->add_namespaces("team-a");
  in.set_reason("new team");
  ASSERT_TRUE(run([&](auto* c) { return accounts_->CreateAccount(c, in, &edited_); }).ok());
  EXPECT_FALSE(edited_.has_before());
  EXPECT_EQ(edited_.account().revision(), 1);
  const v1::Account out = get("ml");
  EXPECT_EQ(out.shares(), 1);
  EXPECT_EQ(out.quota(0).milligpu(), 16'000);
  EXPECT_TRUE(out.has_borrow_milligpu());
  EXPECT_EQ(out.borrow_milligpu(), 0);
  EXPECT_FALSE(out.has_lend_milligpu());
  EXPECT_EQ(out.namespaces(0), "team-a");
}

TEST_F(ApiAccountTest, CreateRefusesWhatExistsAndWhatHasNoParent) {
  ASSERT_TRUE(create_account("ml").ok());
  EXPECT_EQ(create_account("ml").error_code(), grpc::ALREADY_EXISTS);
  EXPECT_EQ(create_account("bio.genes").error_code(), grpc::NOT_FOUND);
  const auto bad = create_account("No Path");
  EXPECT_EQ(bad.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(bad_field(bad), "path");
}

TEST_F(ApiAccountTest, RefusalsNameTheField) {
  v1::CreateAccountRequest in;
  in.mutable_account()->set_path("ml");
  const auto no_reason = run([&](auto* c) { return accounts_->CreateAccount(c, in, &edited_); });
  EXPECT_EQ(no_reason.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(bad_field(no_reason), "reason");
  in.set_reason("r");
  in.mutable_account()->add_quota()->set_product("gpu");
  in.mutable_account()->add_quota()->set_milligpu(-1);
  const auto no_product = run([&](auto* c) { return accounts_->CreateAccount(c, in, &edited_); });
  EXPECT_EQ(bad_field(no_product), "account.quota[1].product");
  in.mutable_account()->mutable_quota(1)->set_product("H");
  const auto negative = run([&](auto* c) { return accounts_->CreateAccount(c, in, &edited_); });
  EXPECT_EQ(bad_field(negative), "account.quota[1].milligpu");
  EXPECT_TRUE(has_detail<google::rpc::ErrorInfo>(negative));
}

TEST_F(ApiAccountTest, MaskChangesNothingElse) {
  ASSERT_TRUE(create_account("ml", 7).ok());
  auto in = change("ml", {"limit"});
  auto* limit = in.mutable_account()->add_limit();
  limit->set_product("gpu");
  limit->set_milligpu(4000);
  in.mutable_account()->set_shares(99);  // not in the mask
  ASSERT_TRUE(update(in).ok());
  EXPECT_EQ(edited_.before().limit_size(), 0);
  EXPECT_EQ(edited_.before().revision(), 1);
  EXPECT_EQ(edited_.account().revision(), 2);
  EXPECT_EQ(get("ml").shares(), 7);
  EXPECT_EQ(get("ml").limit(0).milligpu(), 4000);
  ASSERT_TRUE(update(change("ml", {"limit"})).ok()) << "an empty list under the mask clears it";
  EXPECT_EQ(get("ml").limit_size(), 0);
  EXPECT_EQ(bad_field(update(change("ml", {"revision"}))), "update_mask.paths[0]");
}

TEST_F(ApiAccountTest, NoMaskMeansTheFieldsThatAreSet) {
  ASSERT_TRUE(create_account("ml", 7).ok());
  auto in = change("ml", {});
  in.mutable_account()->set_held(true);
  ASSERT_TRUE(update(in).ok());
  EXPECT_EQ(get("ml").shares(), 7);
  EXPECT_TRUE(get("ml").held());
}

TEST_F(ApiAccountTest, RevisionMustBeTheCurrentOne) {
  ASSERT_TRUE(create_account("ml").ok());
  auto in = change("ml", {"shares"});
  in.mutable_account()->set_shares(2);
  in.set_revision(1);
  ASSERT_TRUE(update(in).ok());
  in.mutable_account()->set_shares(3);
  const auto status = update(in);
  EXPECT_EQ(status.error_code(), grpc::ABORTED);
  EXPECT_TRUE(has_detail<google::rpc::PreconditionFailure>(status));
  EXPECT_EQ(get("ml").shares(), 2);
}

TEST_F(ApiAccountTest, SameRequestIdChangesOnce) {
  ASSERT_TRUE(create_account("ml", 5, "r1").ok());
  EXPECT_FALSE(edited_.repeated_request());
  ASSERT_TRUE(create_account("ml", 5, "r1").ok());
  EXPECT_TRUE(edited_.repeated_request());
  EXPECT_EQ(edited_.account().path(), "ml");
  EXPECT_EQ(get("ml").revision(), 1);
}

TEST_F(ApiAccountTest, ValidateOnlyShowsAndChangesNothing) {
  ASSERT_TRUE(create_account("ml").ok());
  auto in = change("ml", {"shares"});
  in.mutable_account()->set_shares(9);
  in.set_validate_only(true);
  ASSERT_TRUE(update(in).ok());
  EXPECT_EQ(edited_.before().shares(), 1);
  EXPECT_EQ(edited_.account().shares(), 9);
  EXPECT_EQ(get("ml").shares(), 1);
}

TEST_F(ApiAccountTest, UpdateOfAMissingAccountNeedsAllowMissing) {
  auto in = change("ml", {"shares"});
  in.mutable_account()->set_shares(4);
  EXPECT_EQ(update(in).error_code(), grpc::NOT_FOUND);
  in.set_allow_missing(true);
  ASSERT_TRUE(update(in).ok());
  EXPECT_EQ(get("ml").shares(), 4);
}

TEST_F(ApiAccountTest, DeleteRefusesWhatHasChildren) {
  ASSERT_TRUE(create_account("ml").ok());
  ASSERT_TRUE(create_account("ml.vision").ok());
  v1::DeleteAccountRequest in;
  in.set_path("ml");
  in.set_reason("gone");
  const auto status = run([&](auto* c) { return accounts_->DeleteAccount(c, in, &edited_); });
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_TRUE(has_detail<google::rpc::PreconditionFailure>(status));
  in.set_path("ml.vision");
  ASSERT_TRUE(run([&](auto* c) { return accounts_->DeleteAccount(c, in, &edited_); }).ok());
  EXPECT_EQ(edited_.before().path(), "ml.vision");
  v1::GetAccountRequest get_in;
  get_in.set_path("ml.vision");
  v1::Account out;
  EXPECT_EQ(run([&](auto* c) { return accounts_->GetAccount(c, get_in, &out); }).error_code(),
            grpc::NOT_FOUND);
}

TEST_F(ApiAccountTest, PagesCoverTheTreeOnce) {
  for (const char* path : {"a", "b", "a.x", "a.y", "b.z"}) ASSERT_TRUE(create_account(path).ok());
  v1::ListAccountsRequest in;
  in.set_page_size(2);
  std::vector<std::string> seen;
  do {
    v1::ListAccountsResponse out;
    ASSERT_TRUE(run([&](auto* c) { return accounts_->ListAccounts(c, in, &out); }).ok());
    EXPECT_LE(out.accounts_size(), 2);
    for (const auto& account : out.accounts()) seen.push_back(account.path());
    in.set_page_token(out.next_page_token());
  } while (!in.page_token().empty());
  EXPECT_EQ(seen.size(), 6u) << "the root too";
  EXPECT_EQ(seen.front(), "");
  in.set_page_token("x");
  v1::ListAccountsResponse out;
  EXPECT_EQ(bad_field(run([&](auto* c) { return accounts_->ListAccounts(c, in, &out); })),
            "page_token");
  in.clear_page_token();
  in.set_page_size(-1);
  EXPECT_EQ(bad_field(run([&](auto* c) { return accounts_->ListAccounts(c, in, &out); })),
            "page_size");
  in.set_page_size(0);
  in.set_parent("a");
  ASSERT_TRUE(run([&](auto* c) { return accounts_->ListAccounts(c, in, &out); }).ok());
  EXPECT_EQ(out.accounts_size(), 3);
}

TEST_F(ApiAccountTest, SharesShowFactorsAndRanks) {
  ASSERT_TRUE(create_account("a", 3).ok());
  ASSERT_TRUE(create_account("b", 1).ok());
  v1::ListSharesRequest in;
  v1::ListSharesResponse out;
  ASSERT_TRUE(run([&](auto* c) { return accounts_->ListShares(c, in, &out); }).ok());
  ASSERT_EQ(out.rows_size(), 3);
  EXPECT_EQ(out.rows(1).account(), "a");
  EXPECT_DOUBLE_EQ(out.rows(1).norm_shares(), 0.75);
  EXPECT_TRUE(std::isinf(out.rows(1).level_fs()));
  EXPECT_EQ(out.rows(1).rank(), 1);
  EXPECT_EQ(out.rows(0).rank(), 0) << "the root is no leaf";
  in.set_account("nobody");
  EXPECT_EQ(run([&](auto* c) { return accounts_->ListShares(c, in, &out); }).error_code(),
            grpc::NOT_FOUND);
}

TEST_F(ApiAccountTest, BudgetsAddUpAndPagesCoverThemOnce) {
  for (const char* path : {"a", "a.b", "c"}) {
    v1::UpdateAccountRequest in;
    in.mutable_account()->set_path(path);
    in.mutable_account()->set_budgets("soft=H100=5h/total,100h/month");
    in.set_allow_missing(true);
    in.set_reason("test");
    v1::EditAccountResponse out;
    ASSERT_TRUE(run([&](auto* c) { return accounts_->UpdateAccount(c, in, &out); }).ok());
    EXPECT_EQ(out.account().budgets(), "100h/month,soft=H100=5h/total");
  }
  v1::ListBudgetsRequest in;
  v1::ListBudgetsResponse out;
  in.set_page_size(4);
  std::vector<std::string> seen;
  do {
    in.set_page_token(out.next_page_token());
    ASSERT_TRUE(run([&](auto* c) { return accounts_->ListBudgets(c, in, &out); }).ok());
    for (const v1::BudgetRow& row : out.rows()) {
      seen.push_back(row.account() + " " + row.budget());
      EXPECT_EQ(row.granted().gpu_seconds(),
                row.spent().gpu_seconds() + row.held().gpu_seconds() + row.left().gpu_seconds());
      EXPECT_EQ(row.has_to(), !row.soft()) << row.budget();
      EXPECT_FALSE(row.has_projected_end());
    }
  } while (!out.next_page_token().empty());
  EXPECT_EQ(seen, (std::vector<std::string>{"a 100h/month", "a soft=H100=5h/total",
                                            "a.b 100h/month", "a.b soft=H100=5h/total",
                                            "c 100h/month", "c soft=H100=5h/total"}));
  in.set_account("nobody");
  EXPECT_EQ(run([&](auto* c) { return accounts_->ListBudgets(c, in, &out); }).error_code(),
            grpc::NOT_FOUND);
  v1::UpdateAccountRequest bad;
  bad.mutable_account()->set_path("a");
  bad.mutable_account()->set_budgets("0h/month");
  bad.set_reason("test");
  v1::EditAccountResponse refused;
  const grpc::Status status =
      run([&](auto* c) { return accounts_->UpdateAccount(c, bad, &refused); });
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_NE(status.error_message().find("budgets: was \"0h/month\""), std::string::npos)
      << status.error_message();
}

TEST_F(ApiAccountTest, HistoryIsNewestFirstAndOfThisAccountOnly) {
  ASSERT_TRUE(create_account("ml", 1).ok());
  ASSERT_TRUE(create_account("ml.vision", 1).ok());
  auto in = change("ml", {"shares"});
  in.mutable_account()->set_shares(2);
  ASSERT_TRUE(update(in).ok());
  v1::GetAccountHistoryRequest ask;
  ask.set_path("ml");
  ask.set_page_size(1);
  v1::GetAccountHistoryResponse out;
  ASSERT_TRUE(run([&](auto* c) { return accounts_->GetAccountHistory(c, ask, &out); }).ok());
  ASSERT_EQ(out.edits_size(), 1);
  EXPECT_EQ(out.edits(0).account().shares(), 2);
  EXPECT_EQ(out.edits(0).reason(), "because");
  EXPECT_EQ(out.edits(0).actor(), "loopback");
  ask.set_page_token(out.next_page_token());
  out.Clear();
  ASSERT_TRUE(run([&](auto* c) { return accounts_->GetAccountHistory(c, ask, &out); }).ok());
  ASSERT_EQ(out.edits_size(), 1);
  EXPECT_EQ(out.edits(0).account().shares(), 1);
}

}  // namespace
}  // namespace subak
