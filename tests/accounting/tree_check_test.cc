#include <gtest/gtest.h>

#include "core/account_limits.h"
#include "core/limits.h"
#include "tree_fixture.h"

namespace subak {
namespace {

using test::TreeFixture;

class TreeCheckTest : public TreeFixture {
 protected:
  TreeCheckTest() { add("ml"); }
  // The field that is refused; "" when the spec is fine.
  std::string refused(const AccountSpec& spec) const {
    const auto error = tree.check(spec);
    EXPECT_TRUE(!error || !error->want.empty());
    return error ? error->field : "";
  }
  std::string refused_path(const std::string& path) const { return refused(spec_of(path)); }
};

TEST_F(TreeCheckTest, Paths) {
  for (const char* good : {"", "ml", "ml.a", "ml.a-b_9", "ml/ana", "ml/Ana.K@x-y_z", "x9"}) {
    EXPECT_EQ(refused_path(good), "") << good;
  }
  for (const char* bad : {"ML", "ml.", ".ml", "ml..a", "ml a", "ml/", "/ana", "ml/a/b", "ml/a b",
                          "ml.\xc3\xa9", "no.such", "no/ana", "ml/ana:x"}) {
    EXPECT_EQ(refused_path(bad), "path") << bad;
  }
  EXPECT_EQ(refused_path(std::string(254, 'a')), "path");
  EXPECT_EQ(refused_path(std::string(253, 'a')), "");
}

TEST_F(TreeCheckTest, AMissingParentIsNotFound) {
  const auto error = tree.check(spec_of("no.such"));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kNotFound);
  EXPECT_EQ(error->message().find("create no first") != std::string::npos, true)
      << error->message();
}

TEST_F(TreeCheckTest, UserMeansASlash) {
  AccountSpec spec = spec_of("ml/ana");
  spec.user = false;
  EXPECT_EQ(refused(spec), "user");
  spec = spec_of("ml");
  spec.user = true;
  EXPECT_EQ(refused(spec), "user");
}

TEST_F(TreeCheckTest, NothingBelowAUser) {
  add("ml/ana");
  EXPECT_EQ(refused_path("ml/ana.x"), "");  // another user, whose name has a dot
  EXPECT_EQ(refused_path("ml/ana/x"), "path");
}

TEST_F(TreeCheckTest, Depth) {
  std::string path = "d1";
  add(path);
  for (std::size_t i = 2; i <= limits::kMaxAccountDepth; ++i) {
    path += ".d" + std::to_string(i);
    EXPECT_EQ(refused_path(path), "");
    add(path);
  }
  EXPECT_EQ(refused_path(path + ".x"), "path");
  EXPECT_EQ(refused_path(path + "/ana"), "path");
}

TEST_F(TreeCheckTest, Shares) {
  AccountSpec spec = spec_of("ml");
  for (const std::int64_t shares : {std::int64_t{0}, std::int64_t{1}, limits::kMaxShares}) {
    spec.shares = shares;
    EXPECT_EQ(refused(spec), "");
  }
  for (const std::int64_t shares : {std::int64_t{-1}, limits::kMaxShares + 1}) {
    spec.shares = shares;
    EXPECT_EQ(refused(spec), "shares");
  }
}

TEST_F(TreeCheckTest, Amounts) {
  AccountSpec spec = spec_of("ml");
  spec.quota = {{"H100", 8000}, {"gpu", 0}};
  spec.limit = spec.quota;
  EXPECT_EQ(refused(spec), "");
  spec.quota = {{"gpu", -1}};
  EXPECT_EQ(refused(spec), "quota.gpu");
  spec.quota = {{"gpu", 1}, {"gpu", 1}};
  EXPECT_EQ(refused(spec), "quota.gpu");
  spec.quota = {{"gpu", 1}, {"H100", 1}};
  EXPECT_EQ(refused(spec), "quota.H100");
  spec.quota = {};
  spec.limit = {{"gpu", limits::kMaxMilliGpu + 1}};
  EXPECT_EQ(refused(spec), "limit.gpu");
  spec.limit = {{"", 1}};
  EXPECT_EQ(refused(spec), "limit.");
}

TEST_F(TreeCheckTest, BorrowAndLend) {
  EXPECT_EQ(parse_borrow("", "borrow")->total, std::nullopt);
  EXPECT_EQ(parse_borrow("none", "borrow")->total, 0);
  EXPECT_EQ(parse_borrow("gpu=2.5", "borrow")->total, 2500);
  EXPECT_EQ(parse_borrow("16", "borrow")->total, 16'000);
  EXPECT_EQ(parse_borrow("H100=8", "borrow")->total, std::nullopt);
  const BorrowBound both = *parse_borrow("gpu=1,H100=8,A100=0", "borrow");
  EXPECT_EQ(both.total, 1000);
  EXPECT_EQ(both.by_product, (ProductAmounts{{"A100", 0}, {"H100", 8000}}));
  for (const char* text : {"", "none", "2.5", "H100=8", "A100=0,H100=8,gpu=1"})
    EXPECT_EQ(borrow_text(*parse_borrow(text, "borrow")), text);
  for (const char* bad : {"x", "-1", "H100", "H100=8,H100=9", "gpu="}) {
    AccountSpec spec = spec_of("ml");
    spec.borrow = bad;
    EXPECT_EQ(refused(spec), "borrow") << bad;
    spec.borrow = "";
    spec.lend = bad;
    EXPECT_EQ(refused(spec), "lend") << bad;
  }
  AccountSpec spec = spec_of("ml");
  spec.quota = {{"H100", 4000}, {std::string(kAnyProduct), 2000}};
  for (const char* good : {"6", "H100=4", "H100=0,gpu=6"}) {
    spec.lend = good;
    EXPECT_FALSE(tree.check(spec)) << good;
  }
  for (const char* more : {"7", "H100=5", "A100=1"}) {
    spec.lend = more;
    EXPECT_EQ(refused(spec), "lend") << more;
  }
}

TEST_F(TreeCheckTest, Namespaces) {
  AccountSpec spec = spec_of("ml");
  spec.namespaces = {"team-a", "west/team-a"};
  EXPECT_EQ(refused(spec), "");
  set(spec);
  EXPECT_EQ(refused(spec), "");  // its own
  AccountSpec other = spec_of("ops");
  for (const char* bad : {"team-a", "west/team-a", "", "/x", "x/", "a/b/c", "Team", "a b"}) {
    other.namespaces = {bad};
    EXPECT_EQ(refused(other), "namespaces") << bad;
  }
  other.namespaces = {"east/team-a", "team-b"};
  EXPECT_EQ(refused(other), "");
  other.namespaces = {"b", "a"};
  EXPECT_EQ(refused(other), "namespaces");
  other.namespaces = {"a", "a"};
  EXPECT_EQ(refused(other), "namespaces");
  AccountSpec user = spec_of("ml/ana");
  user.namespaces = {"x"};
  EXPECT_EQ(refused(user), "namespaces");
}

TEST_F(TreeCheckTest, ATakenNamespaceNamesItsOwner) {
  AccountSpec spec = spec_of("ml");
  spec.namespaces = {"team-a"};
  set(spec);
  spec.path = "ops";
  const auto error = tree.check(spec);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kExists);
  EXPECT_NE(error->want.find("ml's"), std::string::npos);
}

TEST_F(TreeCheckTest, TooManyNamespaces) {
  AccountSpec spec = spec_of("ml");
  for (std::size_t i = 0; i <= limits::kMaxNamespacesPerAccount; ++i) {
    spec.namespaces.push_back("n" + std::to_string(100'000 + i));
  }
  EXPECT_EQ(refused(spec), "namespaces");
  spec.namespaces.pop_back();
  EXPECT_EQ(refused(spec), "");
}

TEST_F(TreeCheckTest, TooManyAccounts) {
  for (std::size_t i = 2; i < limits::kMaxAccounts; ++i) {
    tree.set(tree.next_id(), spec_of("ml/u" + std::to_string(i)), 1, now, {}, {});
  }
  const auto error = tree.check(spec_of("ml/one-more"));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::kExhausted);
  EXPECT_NE(error->want.find("ml has 99999 of them"), std::string::npos) << error->want;
  EXPECT_EQ(refused_path("ml"), "");  // edits still pass
  EXPECT_EQ(refused_path("bio"), "") << "who has few is not shut out";
  add("bio");
  EXPECT_EQ(refused_path("bio/ana"), "");
  EXPECT_EQ(refused_path("bio.team"), "");
  EXPECT_EQ(refused_path("ml.team"), "path") << "another name for the same";
}

}  // namespace
}  // namespace subak
