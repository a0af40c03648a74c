#include "accounting/quota/promises.h"

#include <algorithm>
#include <utility>

#include "core/must.h"

namespace subak {
namespace {

// Returns the amount of the product; for kOfAny the sum of all amounts.
MilliGpu counted(std::span<const ProductDemand> amounts, ProductId product) {
  return product ? amount_of(amounts, product) : sum_of(amounts);
}

std::span<const ProductDemand> at(const std::map<AccountId, std::vector<ProductDemand>>& all,
                                  AccountId id) {
  const auto found = all.find(id);
  return found == all.end() ? std::span<const ProductDemand>() : found->second;
}

}  // namespace

void FixedHoldings::add(AccountId leaf, ProductId product, MilliGpu amount) {
  must(amount >= 0, "a job holds no less than nothing");
  if (amount == 0) return;  // on a node that may have no GPUs
  must(bool(product), "GPUs are of some product");
  if (leaf == kUnassigned) leaf = kRootAccount;
  add_amount(own_[leaf], product, amount);
  for (AccountId id = leaf; id; id = tree_.node(id).parent) add_amount(held_[id], product, amount);
}

std::span<const ProductDemand> FixedHoldings::held(AccountId id) const { return at(held_, id); }

MilliGpu FixedHoldings::need(AccountId id, ProductId product) const {
  const AccountNode& node = tree_.node(id);
  if (node.spec.quota.empty()) return needs_below(id, product);
  if (product) return std::max(amount_of(node.quota, product), amount_of(held(id), product));
  return node.quota_total + uncovered(node.quota, {}, held(id));
}

MilliGpu FixedHoldings::needs_below(AccountId id, ProductId product) const {
  MilliGpu sum = counted(at(own_, id), product);
  for (const AccountId child : tree_.node(id).children) sum += need(child, product);
  return sum;
}

AccountId FixedHoldings::with_promise(AccountId id, AccountId leaf, ProductId product) const {
  AccountId most;
  std::pair<MilliGpu, MilliGpu> largest{0, 0};
  for (const AccountId child : tree_.node(id).children) {
    if (is_below(tree_, leaf, child)) continue;
    const AccountNode& node = tree_.node(child);
    const MilliGpu holds = product ? total_of(node.holdings.levels(), product) : node.alloc();
    const MilliGpu needs = need(child, product);
    const std::pair promise{std::max<MilliGpu>(0, needs - holds), needs};
    if (promise > largest) largest = promise, most = child;
  }
  return most ? most : id;
}

std::optional<Binding> FixedHoldings::first_broken(
    const Demand& demand, const std::function<MilliGpu(ProductId)>& installed_of) const {
  FixedHoldings with = *this;
  std::vector<ProductId> products{kOfAny};
  for (const auto& [product, amount] : demand.amounts) {
    with.add(demand.leaf, product, amount);
    if (tree_.quota_sums().promised_by_name(product) > 0) products.push_back(product);
  }
  for (AccountId id = demand.leaf; id; id = tree_.node(id).parent) {
    const AccountNode& node = tree_.node(id);
    const bool has_bound = id == kRootAccount || !node.spec.quota.empty();
    if (!has_bound || node.children.empty()) continue;
    for (const ProductId product : products) {
      // A quota of any product may cover what an account's children are promised by name.
      if (product && id != kRootAccount && amount_of(node.quota, kOfAny) > 0) continue;
      const MilliGpu quota = product ? amount_of(node.quota, product) : node.quota_total;
      const MilliGpu bound = id == kRootAccount ? installed_of(product) : quota;
      const MilliGpu before = needs_below(id, product);
      const MilliGpu then = with.needs_below(id, product);
      if (then <= bound || then <= before) continue;
      const MilliGpu wanted = then - before;
      Binding binding{BindingKind::kPromise, with_promise(id, demand.leaf, product), product,
                      wanted, std::clamp<MilliGpu>(bound - before, 0, wanted)};
      binding.used = before;
      binding.most = bound;
      return binding;
    }
  }
  return std::nullopt;
}

}  // namespace subak
