// Moves of accounts: what the accounts above lose and gain, and the refusals.
#include "accounting/edit/account_move.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "accounting/edit/managed_by.h"
#include "core/account_limits.h"
#include "core/limits.h"
#include "tests/accounting/random.h"
#include "tests/accounting/tree_fixture.h"

namespace subak {
namespace {

using test::Random;
using testing::HasSubstr;

class AccountMoveTest : public test::TreeFixture {
 protected:
  void move(const std::string& from, const std::string& to) {
    const AccountId id = tree.find(from);
    const auto error = check_move(tree, id, to);
    ASSERT_FALSE(error) << error->message();
    AccountMove::make(tree, id, to, now);
    tree.check_invariants();
  }
  std::string refused(const std::string& from, const std::string& to) {
    const auto error = check_move(tree, tree.find(from), to);
    return error ? error->message() : "accepted";
  }
  GpuTime used(const std::string& path) { return tree.usage_undecayed(tree.find(path), now); }
};

TEST_F(AccountMoveTest, MovesUsageHoldsAndQuotaFromOneParentToTheNext) {
  for (const char* path : {"ml", "bio", "ml.vision", "ml.speech", "ml.vision/ana"}) add(path);
  set_quota(tree.find("ml.vision"), {{any, 4000}});
  const AccountId ana = tree.find("ml.vision/ana"), vision = tree.find("ml.vision");
  tree.hold(ana, h100, 8000, now);
  tree.hold(tree.find("ml.speech"), h100, 1000, now);
  now += kHourMs;
  move("ml.vision", "bio.eyes");
  EXPECT_EQ(tree.find("bio.eyes"), vision);
  EXPECT_EQ(tree.find("bio.eyes/ana"), ana);
  EXPECT_FALSE(tree.find("ml.vision"));
  EXPECT_EQ(used("ml"), GpuTime::of(1000, kHourMs));
  EXPECT_EQ(used("bio"), GpuTime::of(8000, kHourMs));
  EXPECT_EQ(tree.node(tree.find("ml")).alloc(), 1000);
  EXPECT_EQ(tree.node(tree.find("bio")).alloc(), 8000);
  EXPECT_EQ(tree.node(tree.find("ml")).quota_total, 0);
  EXPECT_EQ(tree.node(tree.find("bio")).quota_total, 4000);
  EXPECT_EQ(tree.node(tree.find("bio")).meters.surplus_rate(), 4000);
  now += kHourMs;
  tree.release(ana, h100, 8000, false, now);
  EXPECT_EQ(used("bio"), GpuTime::of(8000, 2 * kHourMs));
  EXPECT_EQ(used("ml"), GpuTime::of(1000, 2 * kHourMs));
  tree.check_invariants();
}

// The root has the sum of the quotas below it, before the move and after it. So the move is no change
// of the root, and a late report still counts from the time that it reports.
TEST_F(AccountMoveTest, TheQuotaAboveBothPlacesDoesNotChangeInBetween) {
  for (const char* path : {"ml", "bio", "ml.vision"}) add(path);
  const AccountId vision = tree.find("ml.vision");
  set_quota(vision, {{any, 4000}});
  tree.hold(vision, h100, 8000, now);
  const TimeMs end = now + kHourMs;
  now += 2 * kHourMs;
  move("ml.vision", "bio.vision");
  tree.release(vision, h100, 8000, false, end);
  EXPECT_EQ(tree.node(kRootAccount).quota_total, 4000);
  const TimeMs begin = end - kHourMs;
  AccountMeters alone;
  alone.change_usage(tree.clock(), 4000, tree.clock().at(begin));
  alone.change_usage(tree.clock(), -4000, tree.clock().at(end));
  EXPECT_NEAR(surplus_of(tree, kRootAccount, now), alone.usage(tree.clock(), tree.clock().at(now)),
              1.0);
}

TEST_F(AccountMoveTest, ADeletedAccountBelowMovesToo) {
  for (const char* path : {"ml", "ml.a", "ml.a/ana", "bio"}) add(path);
  const AccountId ana = tree.find("ml.a/ana");
  tree.hold(ana, h100, 2000, now);
  now += kHourMs;
  tree.release(ana, h100, 2000, false, now);
  tree.remove(ana, now);
  move("ml.a", "bio.a");
  EXPECT_EQ(tree.names().find_removed("bio.a/ana"), ana);
  EXPECT_EQ(add("bio.a/ana"), ana);
  EXPECT_EQ(used("bio.a/ana"), GpuTime::of(2000, kHourMs));
  EXPECT_NE(add("ml.a"), tree.find("bio.a"));
  EXPECT_EQ(used("ml.a"), GpuTime());
}

TEST_F(AccountMoveTest, ASurplusMovesButDoesNotFallBelowZero) {
  for (const char* path : {"ml", "ml.a", "ml.b", "bio"}) add(path);
  set_quota(tree.find("ml.b"), {{any, 8000}});
  tree.hold(tree.find("ml.a"), h100, 4000, now);  // within the quota of ml: the unused one of ml.b
  now += kHourMs;
  EXPECT_EQ(surplus_of(tree, tree.find("ml"), now), 0);
  const double surplus = surplus_of(tree, tree.find("ml.a"), now);
  EXPECT_GT(surplus, 0);
  move("ml.a", "bio.a");
  EXPECT_EQ(surplus_of(tree, tree.find("ml"), now), 0);
  EXPECT_NEAR(surplus_of(tree, tree.find("bio"), now), surplus, surplus * 1e-12);
}

TEST_F(AccountMoveTest, RefusalsNameTheFieldAndTheRemedy) {
  for (const char* path : {"ml", "ml.a", "ml.a.b", "ml/ana", "bio", "gone"}) add(path);
  tree.remove(tree.find("gone"), now);
  EXPECT_THAT(refused("", "x"), HasSubstr("below the root"));
  EXPECT_THAT(refused("ml", "bio"), HasSubstr("to: was \"bio\", want a path that no account has"));
  EXPECT_THAT(refused("ml", "ml.a.c"), HasSubstr("not below the account itself"));
  EXPECT_THAT(refused("ml", "ml.x"), HasSubstr("not below the account itself"));
  EXPECT_THAT(refused("ml", "none.ml"), HasSubstr("create none first"));
  EXPECT_THAT(refused("ml", "gone"), HasSubstr("was deleted"));
  EXPECT_THAT(refused("ml", "ML"), HasSubstr("want labels"));
  EXPECT_THAT(refused("ml", "bio/ml"), HasSubstr("want the path of an account"));
  EXPECT_THAT(refused("ml/ana", "ml.ana"), HasSubstr("want the path of a user"));
  EXPECT_THAT(refused("ml/ana", "bio/ana"), HasSubstr("want a user of ml"));
  EXPECT_EQ(refused("ml/ana", "ml/anna"), "accepted");
  EXPECT_EQ(refused("ml", "mll"), "accepted");
  EXPECT_THAT(refused("ml", std::string(limits::kMaxNameBytes - 2, 'm')), HasSubstr("bytes"));
  std::string deep = "bio";
  for (std::uint32_t depth = 2; depth < limits::kMaxAccountDepth; ++depth) {
    deep += ".d";
    add(deep);
  }
  EXPECT_THAT(refused("ml.a", deep + ".a"), HasSubstr("ml.a.b would be deeper"));
  EXPECT_EQ(refused("ml.a.b", deep + ".a"), "accepted");
}

TEST_F(AccountMoveTest, AMarkCountsBelowItsAccount) {
  for (const char* path : {"ml", "ml.a", "ml.a.b", "bio"}) add(path);
  const auto mark = [&](const std::string& path, const std::string& name) {
    AccountSpec spec = tree.node(tree.find(path)).spec;
    spec.managed_by = name;
    set(spec);
  };
  const auto of = [&](const std::string& path) {
    const AccountNode* const node = managed_account(tree, path);
    return node == nullptr ? "" : node->spec.path;
  };
  EXPECT_EQ(of("ml.a"), "");
  mark("ml", "ci");
  EXPECT_EQ(of("ml"), "ml");
  EXPECT_EQ(of("ml.a.b"), "ml");
  EXPECT_EQ(of("ml.new/d.r"), "ml");
  EXPECT_EQ(of("bio"), "");
  EXPECT_EQ(of(""), "");
  mark("ml.a", "anyone");
  EXPECT_EQ(of("ml.a.b"), "");
  EXPECT_TRUE(is_manager("ci", "token:ci"));
  EXPECT_TRUE(is_manager("token:ci", "token:ci"));
  EXPECT_TRUE(is_manager("loopback", "loopback"));
  EXPECT_FALSE(is_manager("ci", "token:ci2"));
  EXPECT_FALSE(is_manager("ci", "cert:ci"));
}

// A random tree in which jobs run while accounts are moved, created and deleted. Its sums must equal
// those of a tree that had the last structure from the beginning.
class RandomMoves : public AccountMoveTest {
 protected:
  struct Change {
    AccountId leaf;
    ProductId product;
    MilliGpu amount;  // negative: an end
    TimeMs at;
  };

  std::string any_path() {
    const auto ids = tree.preorder();
    return tree.node(ids[static_cast<std::size_t>(random_.below(std::ssize(ids)))]).spec.path;
  }
  void create() {
    const std::string parent = any_path();
    if (parent.find('/') != std::string::npos || tree.names().live() > 60) return;
    const std::string name = (random_.one_in(3) && !parent.empty() ? "/u"
                              : parent.empty()                     ? "n"
                                                                   : ".n") +
                             std::to_string(++names_);
    AccountSpec spec = spec_of(parent + name);
    if (tree.check(spec)) return;
    const AccountId id = set(spec);
    tree.begin_at_mean(id, now);
    if (with_quota_ && random_.one_in(3)) {
      set_quota(id, {{random_.one_in(2) ? any : h100, 1000 * random_.below(9)}});
    }
  }
  void run() {
    if (!held_.empty() && random_.one_in(2)) {
      const auto at = held_.begin() + random_.below(std::ssize(held_));
      tree.release(at->leaf, at->product, at->amount, false, now);
      log_.push_back({at->leaf, at->product, -at->amount, now});
      held_.erase(at);
      return;
    }
    const AccountId leaf = tree.find(any_path());
    const Change job{leaf, random_.one_in(2) ? h100 : a100, 1000 * (1 + random_.below(8)), now};
    tree.hold(job.leaf, job.product, job.amount, now);
    held_.push_back(job);
    log_.push_back(job);
  }
  void remove_one() {
    const AccountId id = tree.find(any_path());
    const AccountNode& node = tree.node(id);
    if (id != kRootAccount && node.children.empty() && node.alloc() == 0) tree.remove(id, now);
  }
  bool move_one() {
    const std::string from = any_path(), parent = any_path();
    const AccountId id = tree.find(from);
    if (id == kRootAccount) return false;
    const bool user = tree.node(id).spec.user;
    const std::string separator = user ? "/" : parent.empty() ? "" : ".";
    const std::string above = user ? from.substr(0, from.find('/')) : parent;
    const std::string to = above + separator + "m" + std::to_string(++names_);
    if (check_move(tree, id, to)) return false;
    const GpuTime all = tree.usage_undecayed(kRootAccount, now),
                  own = tree.usage_undecayed(id, now);
    const double decayed = tree.usage(id, now);
    const AccountNode before = tree.node(id);
    AccountMove::make(tree, id, to, now);
    EXPECT_EQ(tree.usage_undecayed(kRootAccount, now), all);
    EXPECT_EQ(tree.usage_undecayed(id, now), own);
    EXPECT_EQ(tree.usage(id, now), decayed);
    EXPECT_TRUE(before.meters.state() == tree.node(id).meters.state());
    undo_.push_back({id, from});
    return true;
  }
  // Takes the last move back, if its old place is still free.
  bool undo_one() {
    const auto [id, to] = undo_.back();
    undo_.pop_back();
    if (tree.node(id).removed || check_move(tree, id, to)) return false;
    AccountMove::make(tree, id, to, now);
    return true;
  }

  // Compares with a tree that has the same accounts, and in which the same jobs ran.
  void compare() {
    AccountTree fresh(tree.clock().half_life_ms());
    for (const AccountId id : parents_first(tree)) {
      const AccountNode& node = tree.node(id);
      if (node.removed) {
        fresh.restore_removed(id, node.parent, node.spec, node.revision);
      } else {
        fresh.set(id, node.spec, node.revision, kBegin,
                  node.spec.quota.empty() ? Amounts{} : node.quota, {});
      }
    }
    std::map<AccountId, GpuTime> exact;
    std::map<AccountId, MilliGpu> rate, peak;
    for (const Change& c : log_) {
      for (AccountId up = c.leaf; up; up = tree.node(up).parent) {
        exact[up] += GpuTime::of(c.amount, now - c.at);
        rate[up] += c.amount;
        peak[up] = std::max(peak[up], rate[up]);
      }
      if (tree.node(c.leaf).removed) continue;
      if (c.amount > 0) fresh.hold(c.leaf, c.product, c.amount, c.at);
      if (c.amount < 0) fresh.release(c.leaf, c.product, -c.amount, false, c.at);
    }
    const bool has_removed = fresh.names().live() + 1 != fresh.nodes().size();
    for (const AccountId id : tree.preorder()) {
      const AccountNode& node = tree.node(id);
      const AccountNode& want = fresh.node(id);
      ASSERT_EQ(tree.usage_undecayed(id, now), exact[id]) << node.spec.path;
      ASSERT_EQ(node.parent, want.parent);
      ASSERT_EQ(node.depth, want.depth);
      ASSERT_EQ(node.below, want.below);
      ASSERT_EQ(node.children, want.children);
      ASSERT_EQ(node.quota, want.quota);
      ASSERT_EQ(node.alloc(), want.alloc());
      ASSERT_EQ(node.meters.surplus_rate(), want.meters.surplus_rate());
      if (has_removed) continue;  // the fresh tree has no usage of removed accounts
      // Each account has at most the peaks of all moves together.
      const double error =
          1e-12 * static_cast<double>(peak[kRootAccount]) * tree.clock().mean_life_ms();
      ASSERT_NEAR(tree.usage(id, now), fresh.usage(id, now), error) << node.spec.path;
      if (!with_quota_) {
        ASSERT_NEAR(surplus_of(tree, id, now), surplus_of(fresh, id, now), error) << node.spec.path;
      }
    }
  }

  void run_world(std::uint64_t seed, bool with_quota, bool with_removals, DurationMs half_life_ms) {
    random_ = Random(seed);
    with_quota_ = with_quota;
    tree = AccountTree(half_life_ms);
    now = kBegin;
    int moves = 0, undos = 0;
    for (int step = 0; step < 1500; ++step) {
      now += random_.below(20 * kMinuteMs);
      switch (random_.below(8)) {
        case 0:
          create();
          break;
        case 1:
          if (with_removals) remove_one();
          break;
        case 2:
        case 3:
          moves += move_one() ? 1 : 0;
          break;
        case 4:
          if (!undo_.empty()) undos += undo_one() ? 1 : 0;
          break;
        default:
          run();
      }
      if (step % 50 != 0) continue;
      tree.check_invariants();
      ASSERT_NO_FATAL_FAILURE(compare()) << "seed " << seed << " step " << step;
    }
    EXPECT_GT(moves, 150);
    EXPECT_GT(undos, 40);
    moved_ += moves + undos;
  }

  static constexpr TimeMs kBegin = 1'772'323'200'000;
  Random random_{1};
  bool with_quota_ = false;
  int names_ = 0, moved_ = 0;
  std::vector<Change> log_, held_;
  std::vector<std::pair<AccountId, std::string>> undo_;
};

TEST_F(RandomMoves, SumsEqualThoseOfATreeMadeAnew) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    log_.clear(), held_.clear(), undo_.clear();
    const DurationMs half_life_ms = seed % 3 == 0 ? 0 : seed % 3 == 1 ? kDayMs : 7 * kDayMs;
    ASSERT_NO_FATAL_FAILURE(run_world(seed, seed % 2 == 0, seed % 4 >= 2, half_life_ms));
  }
  EXPECT_GT(moved_, 1000);
}

}  // namespace
}  // namespace subak
