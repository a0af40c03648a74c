#include "accounting/unlent_quota.h"

#include <algorithm>

#include "core/must.h"

namespace subak {

std::optional<MilliGpu> Lending::most_lent(ProductId product) const {
  if (product == kOfAny) return lend;
  const auto own = std::find_if(lend_of.begin(), lend_of.end(),
                                [&](const auto& amount) { return amount.first == product; });
  if (own == lend_of.end()) return lend;
  return lend ? std::min(*lend, own->second) : own->second;
}

MilliGpu UnlentQuota::own(const AccountNode& node, std::span<const ProductDemand> more) const {
  const auto lend = node.lending.most_lent(product_);
  if (node.removed || !lend) return 0;
  MilliGpu quota = node.quota_total, used = 0;
  if (product_ == kOfAny) {
    // A demand without a product counts as covered. Then the sum is less, and the answer is not too
    // strict.
    const bool by_product = amount_of(more, kOfAny) == 0;
    used = node.alloc() + sum_of(more) -
           uncovered(node.quota, node.holdings.levels(), by_product ? more : decltype(more)());
  } else {
    quota = amount_of(node.quota, product_);
    used = total_of(node.holdings.levels(), product_) + amount_of(more, product_);
  }
  return std::max<MilliGpu>(0, quota - std::min(quota, used) - *lend);
}

void UnlentQuota::refresh(const Nodes& nodes, AccountId id) {
  for (; id && id != kRootAccount; id = nodes[id.value].parent) {
    const AccountNode& node = nodes[id.value];
    const std::size_t most = std::max(id.value, node.parent.value) + std::size_t{1};
    if (rows_.size() < most) rows_.resize(most);
    Row& mine = rows_[id.value];
    const MilliGpu before = mine.unlent;
    mine.unlent = node.removed ? 0 : std::max(own(node, {}), mine.below);
    const MilliGpu more = mine.unlent - before;
    if (node.parent == kRootAccount) {
      total_ += more;
    } else {
      rows_[node.parent.value].below += more;
      must(rows_[node.parent.value].below >= 0, "no account lends more than it has unused");
    }
  }
  must(total_ >= 0, "no account lends more than it has unused");
}

MilliGpu UnlentQuota::total_with(const Nodes& nodes, AccountId leaf,
                                 std::span<const ProductDemand> more) const {
  MilliGpu change = 0;  // of the account below
  for (AccountId id = leaf; id && id != kRootAccount; id = nodes[id.value].parent) {
    const AccountNode& node = nodes[id.value];
    const Row now = row(id);
    change = std::max(own(node, more), now.below + change) - now.unlent;
  }
  must(total_ + change >= 0, "no account lends more than it has unused");
  return total_ + change;
}

AccountId UnlentQuota::largest(const Nodes& nodes) const {
  AccountId id = kRootAccount;
  for (;;) {
    AccountId most;
    for (const AccountId child : nodes[id.value].children) {
      if (row(child).unlent > (most ? row(most).unlent : 0)) most = child;
    }
    if (!most || (id != kRootAccount && own(nodes[id.value], {}) > row(id).below)) break;
    id = most;
  }
  must((id != kRootAccount) == (total_ > 0), "what is not lent is some account's");
  return id == kRootAccount ? AccountId() : id;
}

}  // namespace subak
