#include "accounting/fairtree/fairtree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace subak {
namespace {

ShareRow account(std::string name, std::string parent, std::int64_t shares, double usage) {
  return {std::move(name), "", std::move(parent), shares, false, usage, 0};
}
ShareRow user(std::string name, std::string of, std::int64_t shares, double usage) {
  return {std::move(of), std::move(name), "", shares, false, usage, 0};
}

std::map<std::string, ShareFactors> by_name(const std::vector<ShareRow>& rows,
                                            TieRule ties = TieRule::kDocumented) {
  const auto factors = fair_tree(rows, ties);
  EXPECT_TRUE(factors.ok());
  std::map<std::string, ShareFactors> out;
  for (const ShareFactors& f : *factors) out[f.user.empty() ? f.account : f.user] = f;
  return out;
}

// Two departments; the one that used less of its share ranks all its users above the other's.
TEST(FairTree, RanksGoDownTheTree) {
  const auto f = by_name({account("root", "", 1, 1000), account("x", "root", 3, 900),
                          account("y", "root", 1, 100), user("x1", "x", 1, 100),
                          user("x2", "x", 1, 800), user("y1", "y", 1, 100), user("y2", "y", 1, 0)});
  EXPECT_DOUBLE_EQ(f.at("x").level_fs, 0.75 / 0.9);
  EXPECT_DOUBLE_EQ(f.at("y").level_fs, 0.25 / 0.1);
  EXPECT_TRUE(std::isinf(f.at("y2").level_fs));
  EXPECT_EQ(f.at("y2").fairshare, 1.0);
  EXPECT_EQ(f.at("y1").fairshare, 0.75);
  EXPECT_EQ(f.at("x1").fairshare, 0.5);
  EXPECT_EQ(f.at("x2").fairshare, 0.25);
  EXPECT_FALSE(f.at("x").fairshare);
  EXPECT_DOUBLE_EQ(f.at("x2").norm_usage, 0.8);
  EXPECT_DOUBLE_EQ(f.at("x2").effective_usage, 800.0 / 900);
}

TEST(FairTree, NoSharesIsLastUnlessUnusedSaysOtherwise) {
  const auto f = by_name({account("root", "", 1, 100), user("a", "root", 0, 0),
                          user("b", "root", 1, 100), user("c", "root", 1, 0)});
  EXPECT_EQ(f.at("a").level_fs, 0);
  EXPECT_EQ(f.at("c").fairshare, 1.0);
  EXPECT_DOUBLE_EQ(*f.at("b").fairshare, 2.0 / 3);
  EXPECT_DOUBLE_EQ(*f.at("a").fairshare, 1.0 / 3);
}

TEST(FairTree, TiedUsersShareARankAndTheNextGoesOn) {
  const auto f = by_name({account("root", "", 1, 400), user("a", "root", 1, 100),
                          user("b", "root", 1, 100), user("c", "root", 1, 200)});
  EXPECT_EQ(f.at("a").fairshare, 1.0);
  EXPECT_EQ(f.at("b").fairshare, 1.0);
  EXPECT_DOUBLE_EQ(*f.at("c").fairshare, 1.0 / 3);
}

// Two tied accounts (level_fs 1). The documentation merges their users into one list; what ships
// leaves b1, whose level_fs is above a1's, far below it.
std::vector<ShareRow> tied_accounts() {
  return {account("root", "", 1, 2000),  account("A", "root", 1, 1000),
          account("B", "root", 1, 1000), user("a1", "A", 1, 900),
          user("a2", "A", 1, 100),       user("b1", "B", 1, 800),
          user("b2", "B", 1, 200)};
}

TEST(FairTree, TiedAccountsAreMerged) {
  const auto f = by_name(tied_accounts());
  EXPECT_NEAR(f.at("a1").level_fs, 0.556, 0.001);
  EXPECT_NEAR(f.at("b1").level_fs, 0.625, 0.001);
  EXPECT_EQ(f.at("a2").fairshare, 1.0);
  EXPECT_EQ(f.at("b2").fairshare, 0.75);
  EXPECT_EQ(f.at("b1").fairshare, 0.5);
  EXPECT_EQ(f.at("a1").fairshare, 0.25);
}

TEST(FairTree, TiedAccountsAsShipped) {
  const auto f = by_name(tied_accounts(), TieRule::kAsShipped);
  EXPECT_EQ(f.at("a2").fairshare, 1.0);
  EXPECT_EQ(f.at("a1").fairshare, 0.75);
  EXPECT_EQ(f.at("b2").fairshare, 0.75);
  EXPECT_EQ(f.at("b1").fairshare, 0.25);
}

TEST(FairTree, AUserTiedWithAnAccountHasTheRankOfItsBestUser) {
  const auto f =
      by_name({account("root", "", 1, 200), user("solo", "root", 1, 100),
               account("A", "root", 1, 100), user("a1", "A", 1, 90), user("a2", "A", 1, 10)});
  EXPECT_EQ(f.at("solo").fairshare, 1.0);
  EXPECT_EQ(f.at("a2").fairshare, 1.0);
  EXPECT_DOUBLE_EQ(*f.at("a1").fairshare, 1.0 / 3);
}

TEST(FairTree, AParentUserComesFirstInItsAccount) {
  std::vector rows{account("root", "", 1, 100), account("A", "root", 4, 100), user("p", "A", 9, 90),
                   user("q", "A", 1, 10)};
  rows[2].parent_shares = true;
  const auto f = by_name(rows);
  EXPECT_TRUE(std::isinf(f.at("p").level_fs));
  EXPECT_EQ(f.at("p").norm_shares, f.at("A").norm_shares);
  EXPECT_EQ(f.at("q").norm_shares, 1);
  EXPECT_EQ(f.at("p").fairshare, 1.0);
  EXPECT_EQ(f.at("q").fairshare, 0.5);
}

TEST(FairTree, NobodyUsedAnything) {
  const auto f = by_name({account("root", "", 1, 0), account("A", "root", 1, 0),
                          user("a", "A", 1, 0), user("b", "root", 2, 0)});
  EXPECT_EQ(f.at("a").fairshare, 1.0);
  EXPECT_EQ(f.at("b").fairshare, 1.0);
  EXPECT_EQ(f.at("a").effective_usage, 0);
}

TEST(FairTree, KeepsTheOrderOfRowsAndNamesWhatIsWrong) {
  const std::vector rows{user("u", "A", 1, 0), account("A", "", 1, 0)};
  const auto factors = fair_tree(rows);
  ASSERT_TRUE(factors.ok());
  EXPECT_EQ((*factors)[0].user, "u");
  const auto bad = fair_tree({account("A", "B", 1, 0), account("root", "", 1, 0)});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().got, "A");
}

}  // namespace
}  // namespace subak
