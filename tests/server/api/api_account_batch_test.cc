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
