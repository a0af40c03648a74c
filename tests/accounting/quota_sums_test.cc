// The sums about the quota of other accounts, beside plain recursion over a random tree.
#include "accounting/quota_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "accounting/tree.h"
#include "random.h"
#include "tree_fixture.h"

namespace subak {
namespace {

class QuotaSumsTest : public test::TreeFixture {
 protected:
  MilliGpu holds(AccountId id, ProductId product) const {
    for (const ProductLevel& level : tree.node(id).holdings.levels()) {
      if (level.product == product) return level.total();
    }
    return 0;
  }
  MilliGpu own(AccountId id, ProductId product) const {
    const AccountNode& node = tree.node(id);
    return node.spec.quota.empty() ? 0 : amount_of(node.quota, product);
  }
  MilliGpu promised(AccountId id, ProductId product) const {
    MilliGpu below = 0;
    for (const AccountId child : tree.node(id).children) below += promised(child, product);
    return std::max(own(id, product), below);
  }
  MilliGpu by_name(AccountId id, ProductId product) const {
    MilliGpu below = 0;
    for (const AccountId child : tree.node(id).children) below += by_name(child, product);
    return std::max(std::min(own(id, product), holds(id, product)), below);
  }
  // What quotas of any product would cover if the leaf had more; 0 if no more than now.
  MilliGpu covered_of_any(ProductId product, AccountId leaf, MilliGpu more) const {
    const NamedQuota* const quota = tree.quota_sums().named(product);
    if (quota == nullptr) return 0;
    const MilliGpu added = quota->more_of_any(tree.nodes(), leaf, more);
    return added > 0 ? quota->of_any() + added : 0;
  }
  MilliGpu of_any(ProductId product) const {
    MilliGpu sum = 0;
    for (const AccountId id : tree.node(kRootAccount).children) {
      sum +=
          std::min(amount_of(tree.node(id).quota, any), holds(id, product) - by_name(id, product));
    }
    return sum;
  }
  MilliGpu unlent(AccountId id, ProductId product) const {
    const AccountNode& node = tree.node(id);
    MilliGpu below = 0;
    for (const AccountId child : node.children) below += unlent(child, product);
    std::optional<MilliGpu> lend = node.lending.lend;
    for (const auto& [of, most] : node.lending.lend_of)
      if (of == product) lend = std::min(lend.value_or(most), most);
    if (!lend || id == kRootAccount) return below;
    MilliGpu used = holds(id, product), quota = amount_of(node.quota, product);
    if (product == any) {
      used = node.alloc() - uncovered(node.quota, node.holdings.levels(), {});
      quota = node.quota_total;
    }
    return std::max({MilliGpu{0}, quota - std::min(used, quota) - *lend, below});
  }
  void compare_unlent(ProductId product, AccountId leaf, MilliGpu more) {
    for (const UnlentQuota& sums : tree.quota_sums().unlent()) {
      ASSERT_EQ(sums.total(), unlent(kRootAccount, sums.product()));
      const AccountId largest = sums.largest(tree.nodes());
      ASSERT_EQ(bool(largest), sums.total() > 0);
      if (largest) {
        ASSERT_TRUE(tree.node(largest).lending.most_lent(sums.product()));
        ASSERT_GT(unlent(largest, sums.product()), 0);
      }
      const ProductDemand demand{product, more};
      const MilliGpu with = sums.total_with(tree.nodes(), leaf, {&demand, 1});
      const MilliGpu now_total = sums.total();
      tree.hold(leaf, product, more, now);
      ASSERT_EQ(with, unlent(kRootAccount, sums.product()));
      ASSERT_EQ(with, sums.total());
      tree.release(leaf, product, more, false, now);
      ASSERT_EQ(sums.total(), now_total);
    }
  }
  void compare(ProductId product, AccountId leaf, MilliGpu more) {
    compare_unlent(product, leaf, more);
    ASSERT_EQ(tree.quota_sums().promised_by_name(product), promised(kRootAccount, product));
    if (!promised(kRootAccount, product)) return;
    ASSERT_EQ(tree.quota_sums().unused_by_name(product),
              promised(kRootAccount, product) - by_name(kRootAccount, product));
    const MilliGpu before = of_any(product);
    const MilliGpu asked = covered_of_any(product, leaf, more);
    tree.hold(leaf, product, more, now);
    const MilliGpu then = of_any(product);
    ASSERT_EQ(asked, then > before ? then : 0);
    tree.release(leaf, product, more, false, now);
  }
};

TEST_F(QuotaSumsTest, AGpuThatAnAccountOwnsByNameIsNotOfAny) {
  const AccountId ml = add("ml");
  set_quota(ml, {{any, 4000}, {h100, 2000}});
  tree.hold(ml, h100, 3000, now);
  EXPECT_EQ(tree.quota_sums().promised_by_name(h100), 2000);
  EXPECT_EQ(tree.quota_sums().unused_by_name(h100), 0);
  EXPECT_EQ(covered_of_any(h100, ml, 1000), 2000);
  EXPECT_EQ(covered_of_any(h100, ml, 9000), 4000);
  EXPECT_EQ(covered_of_any(a100, ml, 1000), 0);  // nobody names it
}

TEST_F(QuotaSumsTest, FollowsEditsStartsAndEndsOfARandomTree) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    test::Random random(seed);
    tree = AccountTree();
    std::vector<AccountId> accounts;
    struct Hold {
      AccountId leaf;
      ProductId product;
      MilliGpu amount;
    };
    std::vector<Hold> holds;
    for (int step = 0; step < 400; ++step) {
      const std::int64_t kind = random.below(6);
      if (kind == 0 || accounts.empty()) {
        std::string path = "a" + std::to_string(random.below(3));
        if (random.one_in(2)) path += ".b" + std::to_string(random.below(3));
        if (!parent_of(tree, path)) continue;
        if (!tree.find(path)) accounts.push_back(add(path));
      } else if (kind == 1) {
        Amounts quota;
        for (const ProductId product : {any, h100, a100}) {
          if (random.one_in(2)) quota.emplace_back(product, random.below(9) * 1000);
        }
        const AccountId id = accounts[static_cast<std::size_t>(random.below(std::ssize(accounts)))];
        MilliGpu most = 0;
        for (const auto& [product, amount] : quota) most += amount;
        AccountSpec spec = tree.node(id).spec;
        spec.quota = named(quota);
        spec.lend = "";
        if (random.one_in(3)) spec.lend = random.one_in(2) || most < 2000 ? "none" : "2";
        if (amount_of(quota, h100) >= 1000 && random.one_in(3))
          spec.lend = random.one_in(2) ? "p1=1" : "p1=1,gpu=1";
        set(spec, quota, tree.node(id).limits.gpus);
      } else if (kind < 4) {
        const AccountId leaf =
            accounts[static_cast<std::size_t>(random.below(std::ssize(accounts)))];
        holds.push_back({leaf, random.one_in(2) ? h100 : a100, 500 + random.below(4) * 500});
        tree.hold(leaf, holds.back().product, holds.back().amount, now);
      } else if (kind == 4 && !holds.empty()) {
        const auto at = holds.begin() + random.below(std::ssize(holds));
        tree.release(at->leaf, at->product, at->amount, false, now);
        holds.erase(at);
      } else if (random.one_in(4)) {
        const auto at = accounts.begin() + random.below(std::ssize(accounts));
        if (!tree.node(*at).children.empty() || tree.node(*at).alloc() != 0) continue;
        tree.remove(*at, now);
        accounts.erase(at);
      }
      if (accounts.empty()) continue;
      const AccountId asks = accounts[static_cast<std::size_t>(random.below(std::ssize(accounts)))];
      compare(h100, asks, random.below(9) * 500);
      compare(a100, asks, random.below(9) * 500);
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
    tree.check_invariants();
  }
}

}  // namespace
}  // namespace subak
