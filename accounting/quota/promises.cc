#include "accounting/quota/promises.h"

#include <algorithm>
#include <utility>

#include "core/must.h"

namespace subak {
namespace {

void add_to(std::vector<ProductDemand>& amounts, ProductId product, MilliGpu amount) {
  const auto at = std::find_if(amounts.begin(), amounts.end(),
                               [&](const ProductDemand& d) { return d.first == product; });
  if (at == amounts.end()) {
    amounts.emplace_back(product, amount);
  } else {
    at->second += amount;
  }
}

// The amount of the product; the sum of all for kOfAny.
MilliGpu sum_of(std::span<const ProductDemand> amounts, ProductId product) {
  MilliGpu sum = 0;
  for (const auto& [of, amount] : amounts) sum += !product || of == product ? amount : 0;
  return sum;
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
  add_to(own_[leaf], product, amount);
  for (AccountId id = leaf; id; id = tree_.node(id).parent) add_to(held_[id], product, amount);
}

std::span<const ProductDemand> FixedHoldings::held(AccountId id) const { return at(held_, id); }

MilliGpu FixedHoldings::fixed(AccountId id, ProductId product, const Demand* more) const {
  MilliGpu sum = sum_of(held(id), product);
  if (more != nullptr && is_below(tree_, more->leaf, id)) sum += sum_of(more->amounts, product);
  return sum;
}

MilliGpu FixedHoldings::need(AccountId id, ProductId product, const Demand* more) const {
  const AccountNode& node = tree_.node(id);
  if (node.spec.quota.empty()) return needs_below(id, product, more);
  if (product) return std::max(amount_of(node.quota, product), fixed(id, product, more));
  std::vector<ProductLevel> levels;
  for (const auto& [of, amount] : held(id)) levels.push_back({of, amount, 0});
  const bool asks = more != nullptr && is_below(tree_, more->leaf, id);
  const std::span<const ProductDemand> demand =
      asks ? more->amounts : std::span<const ProductDemand>();
  return node.quota_total + uncovered(node.quota, levels, demand);
}

MilliGpu FixedHoldings::needs_below(AccountId id, ProductId product, const Demand* more) const {
  MilliGpu sum = sum_of(at(own_, id), product);
  if (more != nullptr && more->leaf == id) sum += sum_of(more->amounts, product);
  for (const AccountId child : tree_.node(id).children) sum += need(child, product, more);
  return sum;
}

AccountId FixedHoldings::with_promise(AccountId id, AccountId leaf, ProductId product) const {
  AccountId most;
  std::pair<MilliGpu, MilliGpu> largest{0, 0};
  for (const AccountId child : tree_.node(id).children) {
    if (is_below(tree_, leaf, child)) continue;
    const AccountNode& node = tree_.node(child);
    const MilliGpu holds = product ? held_of(node.holdings.levels(), product) : node.alloc();
    const MilliGpu needs = need(child, product, nullptr);
    const std::pair promise{std::max<MilliGpu>(0, needs - holds), needs};
    if (promise > largest) largest = promise, most = child;
  }
  return most ? most : id;
}

std::optional<Binding> FixedHoldings::first_broken(
    const Demand& demand, const std::function<MilliGpu(ProductId)>& installed_of) const {
  std::vector<ProductId> products{kOfAny};
  for (const auto& [product, amount] : demand.amounts) {
    if (product && tree_.quota_sums().promised_by_name(product) > 0) products.push_back(product);
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
      const MilliGpu before = needs_below(id, product, nullptr);
      const MilliGpu then = needs_below(id, product, &demand);
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
