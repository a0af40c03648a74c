// Who may still take of a bound that all accounts share.
#include "accounting/shared_bound.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tree_fixture.h"

namespace subak {
namespace {

using test::TreeFixture;

constexpr SharedBound kBound{1600, 160};  // heavy: 100

class SharedBoundTest : public TreeFixture {
 protected:
  std::size_t count(AccountId id) const {
    const auto found = counts_.find(id);
    return found == counts_.end() ? 0 : found->second;
  }
  std::size_t all() const { return count(kRootAccount) + of_nobody_; }
  bool may(AccountId id) const {
    return may_take(kBound, tree, id, all(),
                    [this](AccountId a) { return a == kUnassigned ? of_nobody_ : count(a); });
  }
  void take(AccountId id, std::size_t more = 1) {
    if (id == kUnassigned) {
      of_nobody_ += more;
      return;
    }
    for (; id; id = tree.node(id).parent) counts_[id] += more;
  }
  // As many as it may; the number.
  std::size_t flood(AccountId id) {
    std::size_t taken = 0;
    for (; may(id); ++taken) take(id);
    return taken;
  }
  std::string words() const {
    return who_fills_text(tree, [this](AccountId a) { return count(a); });
  }

 private:
  std::map<AccountId, std::size_t> counts_;
  std::size_t of_nobody_ = 0;
};

TEST_F(SharedBoundTest, OneAccountAloneHasAllButTheReserve) {
  const AccountId ml = add("ml");
  EXPECT_EQ(flood(ml), 1600u);
  EXPECT_EQ(words(), "ml has 1600 of them");
}

TEST_F(SharedBoundTest, WhoFloodsShutsNobodyOut) {
  const AccountId ml = add("ml"), bio = add("bio"), nlp = add("nlp");
  take(ml, 1600);
  EXPECT_FALSE(may(ml));
  EXPECT_EQ(flood(bio), 18u) << "an eighth of what is left of the reserve";
  EXPECT_GE(flood(nlp), SharedBound::kFewest);
  EXPECT_FALSE(may(ml));
}

TEST_F(SharedBoundTest, UsersAndSubAccountsAreNoWayAround) {
  const AccountId ml = add("ml");
  take(add("ml.train"), 1600);
  EXPECT_FALSE(may(add("ml.train/ana"))) << "a user counts for the account";
  EXPECT_FALSE(may(add("ml.train.other")));
  EXPECT_TRUE(may(add("ml.eval"))) << "a sibling is another tenant";
  EXPECT_TRUE(may(ml)) << "and so is what its parent queues itself";
  EXPECT_EQ(words(), "ml.train has 1600 of them");
}

TEST_F(SharedBoundTest, ADepartmentOfManyIsOneThatFloods) {
  add("ml");
  AccountId team;
  for (int i = 0; i < 32; ++i) take(team = add("ml.t" + std::to_string(i)), 50);
  EXPECT_FALSE(may(team)) << "none of them is heavy: together they are";
  EXPECT_FALSE(may(add("ml.new")));
  EXPECT_TRUE(may(add("bio")));
  EXPECT_EQ(words(), "ml has 1600 of them");
}

TEST_F(SharedBoundTest, TwoWhoFloodAreBothRefused) {
  const AccountId ml = add("ml"), bio = add("bio"), nlp = add("nlp");
  take(ml, 800);
  take(bio, 800);
  EXPECT_FALSE(may(ml));
  EXPECT_FALSE(may(bio));
  EXPECT_TRUE(may(nlp));
  EXPECT_EQ(words(), "no account has half of them");
}

TEST_F(SharedBoundTest, TheReserveEnds) {
  const AccountId ml = add("ml");
  take(ml, 1600);
  std::size_t taken = 0;
  for (int i = 0; i < 100; ++i) taken += flood(add("a" + std::to_string(i)));
  EXPECT_EQ(taken, kBound.reserve);
  EXPECT_FALSE(may(add("late")));
}

TEST_F(SharedBoundTest, WhatIsOfNoAccountIsOneMore) {
  take(add("ml"), 1600);
  EXPECT_EQ(flood(kUnassigned), 18u);
}

}  // namespace
}  // namespace subak
