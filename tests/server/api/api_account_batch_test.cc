// AccountService: edits of several accounts in one step, and their undo.
#include <gmock/gmock.h>

#include "api_fixture.h"

namespace subak {
namespace {

class ApiAccountBatchTest : public ApiTest {
 protected:
  ApiAccountBatchTest() { start(); }

  grpc::Status apply(const v1::ApplyAccountsRequest& in) {
    done_.Clear();
    return run([&](auto* c) { return accounts_->ApplyAccounts(c, in, &done_); });
  }
  grpc::Status undo(std::uint64_t revision, const std::string& request_id = "") {
    v1::UndoAccountEditRequest in;
    in.set_revision(revision);
    in.set_reason("a mistake");
    in.set_request_id(request_id);
    done_.Clear();
    return run([&](auto* c) { return accounts_->UndoAccountEdit(c, in, &done_); });
  }
  grpc::Status move(const std::string& path, const std::string& to, bool override_managed = false) {
    v1::MoveAccountRequest in;
    in.set_path(path);
    in.set_to(to);
    in.set_reason("a new department");
    in.set_override_managed(override_managed);
    done_.Clear();
    return run([&](auto* c) { return accounts_->MoveAccount(c, in, &done_); });
  }
  // The history of an account, read in pages of one row: "revision of the fact: what".
  std::vector<std::string> history(const std::string& path) {
    std::vector<std::string> rows;
    v1::GetAccountHistoryRequest in;
    in.set_path(path);
    in.set_page_size(1);
    do {
      v1::GetAccountHistoryResponse out;
      EXPECT_TRUE(run([&](auto* c) { return accounts_->GetAccountHistory(c, in, &out); }).ok());
      for (const v1::AccountEdit& e : out.edits()) {
        rows.push_back(e.moved_from().empty() ? e.account().path()
                                              : e.moved_from() + " to " + e.account().path());
      }
      in.set_page_token(out.next_page_token());
    } while (!in.page_token().empty());
    return rows;
  }
  static v1::ApplyAccountsRequest edit() {
    v1::ApplyAccountsRequest in;
    in.set_reason("because");
    return in;
  }
  static void set(v1::ApplyAccountsRequest& in, const std::string& path, std::int64_t quota) {
    v1::AccountChange* const change = in.add_changes();
    change->mutable_account()->set_path(path);
    change->mutable_update_mask()->add_paths("quota");
    auto* amount = change->mutable_account()->add_quota();
    amount->set_product("gpu");
    amount->set_milligpu(quota);
  }
  static void remove(v1::ApplyAccountsRequest& in, const std::string& path) {
    in.add_changes()->mutable_account()->set_path(path);
    in.mutable_changes(in.changes_size() - 1)->set_delete_(true);
  }
  // The accounts with their quotas, "a=8000 a.b=3000".
  std::string tree() {
    v1::ListAccountsResponse out;
    EXPECT_TRUE(run([&](auto* c) {
                  return accounts_->ListAccounts(c, v1::ListAccountsRequest(), &out);
                }).ok());
    revision_ = out.revision();
    std::string text;
    for (const v1::Account& a : out.accounts()) {
      if (a.path().empty()) continue;
      text += (text.empty() ? "" : " ") + a.path() + "=" +
              std::to_string(a.quota().empty() ? 0 : a.quota(0).milligpu());
    }
    return text;
  }

  v1::ApplyAccountsResponse done_;
  std::uint64_t revision_ = 0;
};

TEST_F(ApiAccountBatchTest, OneEditChangesManyAndIsUndone) {
  auto in = edit();
  set(in, "ml.b", 3000);
  set(in, "ml", 8000);
  set(in, "ml.a", 5000);
  ASSERT_TRUE(apply(in).ok());
  ASSERT_EQ(done_.edited_size(), 3);
  EXPECT_EQ(done_.edited(0).account().path(), "ml.b");
  EXPECT_FALSE(done_.edited(0).has_before());
  EXPECT_EQ(tree(), "ml=8000 ml.a=5000 ml.b=3000");
  EXPECT_EQ(done_.revision(), revision_);

  in = edit();
  remove(in, "ml.a");
  set(in, "ml.b", 8000);
  set(in, "ml.c", 0);
  ASSERT_TRUE(apply(in).ok());
  EXPECT_EQ(tree(), "ml=8000 ml.b=8000 ml.c=0");
  EXPECT_EQ(done_.edited(1).before().revision(), 1);
  EXPECT_EQ(done_.edited(1).account().revision(), 2);

  ASSERT_TRUE(undo(done_.revision()).ok());
  EXPECT_EQ(tree(), "ml=8000 ml.a=5000 ml.b=3000");
  const std::uint64_t undone = done_.revision();
  ASSERT_TRUE(undo(undone).ok());
  EXPECT_EQ(tree(), "ml=8000 ml.b=8000 ml.c=0");
}

TEST_F(ApiAccountBatchTest, AnEditThatIsRefusedChangesNothing) {
  auto in = edit();
  set(in, "ml", 8000);
  set(in, "ml.a", 9000);
  const grpc::Status refused = apply(in);
  EXPECT_EQ(refused.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), testing::HasSubstr("ml: quota"));
  EXPECT_EQ(tree(), "");
  in.set_validate_only(true);
  in.mutable_changes(1)->mutable_account()->mutable_quota(0)->set_milligpu(7000);
  ASSERT_TRUE(apply(in).ok());
  EXPECT_EQ(done_.edited_size(), 2);
  EXPECT_EQ(tree(), "");
}

TEST_F(ApiAccountBatchTest, ALaterChangeStopsTheUndo) {
  auto in = edit();
  set(in, "ml", 8000);
  set(in, "bio", 1000);
  ASSERT_TRUE(apply(in).ok());
  const std::uint64_t first = done_.revision();
  in = edit();
  set(in, "bio", 2000);
  ASSERT_TRUE(apply(in).ok());
  const std::uint64_t second = done_.revision();
  const grpc::Status refused = undo(first);
  EXPECT_EQ(refused.error_code(), grpc::ABORTED);
  EXPECT_THAT(refused.error_message(), testing::HasSubstr("bio: path"));
  ASSERT_TRUE(undo(second, "twice").ok());
  ASSERT_TRUE(undo(second, "twice").ok());
  EXPECT_TRUE(done_.repeated_request());
  EXPECT_EQ(tree(), "bio=1000 ml=8000");
}

TEST_F(ApiAccountBatchTest, AnEditOfOneAccountIsUndoneToo) {
  ASSERT_TRUE(create_account("ml").ok());
  tree();
  ASSERT_TRUE(undo(revision_).ok());
  EXPECT_EQ(tree(), "");
}

TEST_F(ApiAccountBatchTest, AMoveIsUndoneAndKeepsTheHistory) {
  auto in = edit();
  set(in, "ml", 8000);
  set(in, "ml.a", 3000);
  set(in, "ml.a.x", 1000);
  set(in, "bio", 5000);
  ASSERT_TRUE(apply(in).ok());
  ASSERT_TRUE(move("ml.a", "bio.b").ok());
  EXPECT_EQ(done_.moved_below(), 1);
  const std::uint64_t moved = done_.revision();
  EXPECT_EQ(tree(), "bio=5000 bio.b=3000 bio.b.x=1000 ml=8000");
  EXPECT_EQ(revision_, moved);
  in = edit();
  set(in, "bio.b.x", 2000);
  ASSERT_TRUE(apply(in).ok());
  const std::uint64_t changed = done_.revision();
  EXPECT_THAT(history("bio.b.x"), testing::ElementsAre("bio.b.x", "ml.a.x to bio.b.x", "ml.a.x"));
  // An edit after the move is undone at the new path.
  ASSERT_TRUE(undo(changed).ok());
  EXPECT_EQ(tree(), "bio=5000 bio.b=3000 bio.b.x=1000 ml=8000");
  EXPECT_THAT(undo(moved - 1).error_message(), testing::HasSubstr("a part of the edit"));
  ASSERT_TRUE(undo(moved).ok());
  EXPECT_EQ(tree(), "bio=5000 ml=8000 ml.a=3000 ml.a.x=1000");
  EXPECT_EQ(undo(moved).error_code(), grpc::NOT_FOUND);
  ASSERT_TRUE(undo(revision_).ok());
  EXPECT_EQ(tree(), "bio=5000 bio.b=3000 bio.b.x=1000 ml=8000");
}

TEST_F(ApiAccountBatchTest, WhatDependsOnAMoveStopsItsUndo) {
  auto in = edit();
  set(in, "ml", 0);
  set(in, "ml.a", 0);
  set(in, "bio", 0);
  ASSERT_TRUE(apply(in).ok());
  ASSERT_TRUE(move("ml.a", "bio.a").ok());
  const std::uint64_t moved = done_.revision();
  ASSERT_TRUE(create_account("ml.a").ok());
  EXPECT_EQ(undo(moved).error_code(), grpc::ALREADY_EXISTS);
  in = edit();
  remove(in, "ml.a");
  ASSERT_TRUE(apply(in).ok());
  EXPECT_THAT(undo(moved).error_message(), testing::HasSubstr("was deleted"));
  ASSERT_TRUE(move("bio.a", "a").ok());
  in = edit();
  set(in, "bio.a", 0);
  ASSERT_TRUE(apply(in).ok());
  EXPECT_EQ(undo(moved).error_code(), grpc::ABORTED);
}

TEST_F(ApiAccountBatchTest, AnOverrideIsInTheAuditLog) {
  auto in = edit();
  set(in, "ml", 0);
  in.mutable_changes(0)->mutable_account()->set_managed_by("ci");
  in.mutable_changes(0)->mutable_update_mask()->add_paths("managed_by");
  ASSERT_TRUE(apply(in).ok());
  const grpc::Status refused = move("ml", "bio");
  EXPECT_EQ(refused.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), testing::HasSubstr("managed by ci"));
  ASSERT_TRUE(move("ml", "bio", true).ok());
  EXPECT_EQ(done_.edited(0).account().managed_by(), "ci");
  v1::GetAccountHistoryRequest of;
  of.set_path("bio");
  v1::GetAccountHistoryResponse out;
  ASSERT_TRUE(run([&](auto* c) { return accounts_->GetAccountHistory(c, of, &out); }).ok());
  EXPECT_EQ(out.edits(0).reason(), "override of managed-by ci: a new department");
  EXPECT_EQ(undo(done_.revision()).error_code(), grpc::FAILED_PRECONDITION);
}

TEST_F(ApiAccountBatchTest, OnlyAnEditCanBeUndone) {
  auto in = edit();
  set(in, "a", 1000);
  set(in, "b", 1000);
  ASSERT_TRUE(apply(in).ok());
  const std::uint64_t revision = done_.revision();
  EXPECT_EQ(undo(revision - 1).error_code(), grpc::NOT_FOUND);
  EXPECT_THAT(undo(revision - 1).error_message(),
              testing::HasSubstr("a part of the edit " + std::to_string(revision)));
  EXPECT_EQ(undo(revision + 1000).error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(undo(1).error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(undo(0).error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(undo(UINT64_MAX).error_code(), grpc::INVALID_ARGUMENT);
}

TEST_F(ApiAccountBatchTest, AnEditOfManyPagesIsUndone) {
  auto in = edit();
  for (int i = 0; i < 2500; ++i) set(in, "t" + std::to_string(i), 1000);
  ASSERT_TRUE(apply(in).ok());
  ASSERT_TRUE(undo(done_.revision()).ok());
  EXPECT_EQ(done_.edited_size(), 2500);
  EXPECT_EQ(tree(), "");
}

TEST_F(ApiAccountBatchTest, TheTreeMustHaveTheRevision) {
  auto in = edit();
  set(in, "a", 1000);
  ASSERT_TRUE(apply(in).ok());
  in.set_revision(done_.revision());
  in.mutable_changes(0)->mutable_account()->mutable_quota(0)->set_milligpu(2000);
  ASSERT_TRUE(apply(in).ok());
  EXPECT_EQ(apply(in).error_code(), grpc::ABORTED);
}

}  // namespace
}  // namespace subak
