// An empty account tree for tests of accounting, with short functions for edits.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "accounting/tree.h"

namespace subak::test {

class TreeFixture : public ::testing::Test {
 protected:
  using Amounts = std::vector<std::pair<ProductId, MilliGpu>>;

  static AccountSpec spec_of(const std::string& path) {
    AccountSpec spec;
    spec.path = path;
    spec.user = path.find('/') != std::string::npos;
    return spec;
  }
  AccountId set(const AccountSpec& spec, const Amounts& quota = {}, const Amounts& limit = {}) {
    const auto error = tree.check(spec);
    EXPECT_FALSE(error) << error->message();
    const AccountId id = tree.id_for(spec.path);
    const auto ids = [](const std::string& text) {
      Amounts out;
      const BorrowBound bound = parse_borrow(text, "borrow").value();
      for (const ProductAmount& a : bound.by_product)
        out.emplace_back(ProductId(static_cast<std::uint16_t>(a.product[1] - '0')), a.milligpu);
      return out;
    };
    Amounts user_gpus;
    const UserLimits users = parse_user_limits(spec.user_limits, "user_limits").value();
    for (const ProductAmount& a : users.gpus) {
      const int digit = a.product == kAnyProduct ? 0 : a.product[1] - '0';
      user_gpus.emplace_back(ProductId(static_cast<std::uint16_t>(digit)), a.milligpu);
    }
    tree.set(id, spec, 1, now, quota, limit, {ids(spec.borrow), ids(spec.lend), user_gpus});
    return id;
  }
  AccountId add(const std::string& path) { return set(spec_of(path)); }
  void set_quota(AccountId id, const Amounts& quota) {
    AccountSpec spec = tree.node(id).spec;
    spec.quota = named(quota);
    set(spec, quota, tree.node(id).limits.gpus);
  }
  void set_limit(AccountId id, const Amounts& limit) {
    AccountSpec spec = tree.node(id).spec;
    spec.limit = named(limit);
    set(spec, spec.quota.empty() ? Amounts{} : tree.node(id).quota, limit);
  }
  // Returns the milli-GPU of the account's holdings plus `extra` that its quota does not cover.
  static MilliGpu beyond_quota(const AccountNode& node, ProductId product, MilliGpu extra) {
    const ProductDemand more{product, extra};
    return uncovered(node.quota, node.holdings.levels(), {&more, 1});
  }
  // Names each product: "gpu" for any product, "p1" for id 1, and so on. Sorted by name.
  static ProductAmounts named(const Amounts& amounts) {
    ProductAmounts out;
    for (const auto& [product, amount] : amounts) {
      const std::string name = product.value == 0 ? "gpu" : "p" + std::to_string(product.value);
      out.push_back({name, amount});
    }
    std::sort(out.begin(), out.end(),
              [](const auto& a, const auto& b) { return a.product < b.product; });
    return out;
  }

  const ProductId any{}, h100{1}, a100{2};
  AccountTree tree;
  TimeMs now = 1'772'323'200'000;
};

}  // namespace subak::test
