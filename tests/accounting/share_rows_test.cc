#include "accounting/fairtree/share_rows.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/account_limits.h"

namespace subak {
namespace {

ShareRow account(std::string name, std::string parent) {
  ShareRow row;
  row.account = std::move(name);
  row.parent = std::move(parent);
  return row;
}
ShareRow user(std::string name, std::string of) {
  ShareRow row = account(std::move(of), "");
  row.user = std::move(name);
  return row;
}

ErrorCode refused(const std::vector<ShareRow>& rows) {
  const auto tree = build_share_tree(rows);
  EXPECT_FALSE(tree.ok());
  return tree.ok() ? ErrorCode::kDenied : tree.error().code;
}

TEST(ShareRows, ParentsComeFirstWhateverTheOrderOfRows) {
  const std::vector rows{user("u", "b"), account("b", "a"), account("a", "root"),
                         account("root", "")};
  const auto tree = build_share_tree(rows);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree->root, 3u);
  EXPECT_EQ(tree->top_down, (std::vector<std::size_t>{3, 2, 1, 0}));
  EXPECT_EQ(tree->nodes[0].above, 1u);
}

TEST(ShareRows, AParentAccountPassesItsChildrenUp) {
  std::vector rows{account("root", ""), account("a", "root"), account("b", "a"), user("u", "b"),
                   user("v", "a")};
  rows[2].parent_shares = true;
  rows[3].shares = 3;
  const auto tree = build_share_tree(rows);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree->nodes[3].above, 1u);
  EXPECT_EQ(tree->nodes[1].below, (std::vector<std::size_t>{4, 3}));
  EXPECT_EQ(tree->nodes[1].level_shares, 4);
}

TEST(ShareRows, Refusals) {
  EXPECT_EQ(refused({}), ErrorCode::kInvalid);
  EXPECT_EQ(refused({account("a", "b"), account("b", "a")}), ErrorCode::kInvalid);
  EXPECT_EQ(refused({account("root", ""), account("other", "")}), ErrorCode::kInvalid);
  EXPECT_EQ(refused({account("root", ""), account("a", "nowhere")}), ErrorCode::kNotFound);
  EXPECT_EQ(refused({account("root", ""), user("u", "nowhere")}), ErrorCode::kNotFound);
  EXPECT_EQ(refused({account("root", ""), user("u", "root"), user("u", "root")}),
            ErrorCode::kExists);
  EXPECT_EQ(refused({account("root", ""), account("a", "b"), account("b", "a")}),
            ErrorCode::kInvalid);
  std::vector bad{account("root", ""), user("u", "root")};
  bad[1].shares = -1;
  EXPECT_EQ(refused(bad), ErrorCode::kInvalid);
  bad[1].shares = 1;
  bad[1].raw_usage = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refused(bad), ErrorCode::kInvalid);
  bad[1].raw_usage = 0;
  bad[1].parent = "other";
  EXPECT_EQ(refused(bad), ErrorCode::kInvalid);
}

TEST(ShareRows, TooDeep) {
  std::vector rows{account("a0", "")};
  for (std::uint32_t i = 1; i <= limits::kMaxShareTreeDepth; ++i) {
    rows.push_back(account("a" + std::to_string(i), "a" + std::to_string(i - 1)));
  }
  EXPECT_TRUE(build_share_tree(rows).ok());
  rows.push_back(account("deeper", rows.back().account));
  EXPECT_EQ(refused(rows), ErrorCode::kInvalid);
}

}  // namespace
}  // namespace subak
