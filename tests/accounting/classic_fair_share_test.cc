#include <gtest/gtest.h>

#include <cmath>

#include "accounting/fairtree/fairtree.h"

namespace subak {
namespace {

std::vector<ShareRow> small_tree() {
  return {{"root", "", "", 1, false, 1000, 0},
          {"A", "", "root", 30, false, 800, 0},
          {"B", "", "root", 10, false, 200, 0},
          {"A", "u", "", 1, false, 600, 0},
          {"A", "v", "", 3, false, 200, 0}};
}

TEST(ClassicFairShare, ByHand) {
  const auto f = classic_fair_share(small_tree());
  ASSERT_TRUE(f.ok());
  const auto& a = (*f)[1];
  const auto& u = (*f)[3];
  const auto& v = (*f)[4];
  EXPECT_DOUBLE_EQ(a.norm_shares, 0.75);
  EXPECT_DOUBLE_EQ(a.effective_usage, 0.8);  // directly below the root: its own
  EXPECT_DOUBLE_EQ(u.norm_shares, 0.1875);
  EXPECT_DOUBLE_EQ(u.effective_usage, 0.6 + (0.8 - 0.6) * 0.25);
  EXPECT_DOUBLE_EQ(v.effective_usage, 0.2 + (0.8 - 0.2) * 0.75);
  EXPECT_NEAR(*u.fairshare, std::exp2(-0.65 / 0.1875), 1e-15);
  EXPECT_NEAR(*a.fairshare, std::exp2(-0.8 / 0.75), 1e-15);
  EXPECT_DOUBLE_EQ(*(*f)[0].fairshare, 0.5);
}

TEST(ClassicFairShare, DampeningStretches) {
  const auto f = classic_fair_share(small_tree(), 5);
  ASSERT_TRUE(f.ok());
  EXPECT_NEAR(*(*f)[3].fairshare, std::exp2(-0.65 / 0.1875 / 5), 1e-15);
  EXPECT_FALSE(classic_fair_share(small_tree(), 0).ok());
  EXPECT_FALSE(classic_fair_share(small_tree(), std::nan("")).ok());
}

TEST(ClassicFairShare, ParentTakesWhatIsAbove) {
  auto rows = small_tree();
  rows[3].parent_shares = true;
  const auto f = classic_fair_share(rows);
  ASSERT_TRUE(f.ok());
  EXPECT_EQ((*f)[3].norm_shares, (*f)[1].norm_shares);
  EXPECT_EQ((*f)[3].effective_usage, (*f)[1].effective_usage);
  EXPECT_EQ((*f)[4].norm_shares, 0.75);
}

TEST(ClassicFairShare, NoSharesIsZero) {
  auto rows = small_tree();
  rows[3].shares = rows[4].shares = 0;
  const auto f = classic_fair_share(rows);
  ASSERT_TRUE(f.ok());
  EXPECT_EQ(*(*f)[3].fairshare, 0);
  EXPECT_EQ((*f)[3].effective_usage, (*f)[1].effective_usage);
}

TEST(ClassicFairShare, FarBeyondTheShareIsZeroNotAnError) {
  auto rows = small_tree();
  rows[3].shares = 1;
  rows[4].shares = 1'000'000;
  const auto f = classic_fair_share(rows);
  ASSERT_TRUE(f.ok());
  EXPECT_EQ(*(*f)[3].fairshare, 0);
}

}  // namespace
}  // namespace subak
