#include "accounting/named_quota.h"

#include <algorithm>

#include "core/must.h"

namespace subak {

NamedQuota::Row& NamedQuota::row(AccountId id) {
  if (rows_.size() <= id.value) rows_.resize(id.value + std::size_t{1});
  return rows_[id.value];
}

MilliGpu NamedQuota::own(const AccountNode& node) const {
  // The effective quota is the account's own, unless that is empty.
  return node.removed || node.spec.quota.empty() ? 0 : amount_of(node.quota, product_);
}

MilliGpu NamedQuota::by_name(const AccountNode& node, MilliGpu holds, MilliGpu below) const {
  return std::max(std::min(own(node), holds), below);
}

MilliGpu NamedQuota::of_any(const AccountNode& node, MilliGpu holds, MilliGpu by_name) const {
  if (node.parent != kRootAccount || node.removed) return 0;
  return std::min(amount_of(node.quota, kOfAny), holds - by_name);
}

void NamedQuota::refresh(const Nodes& nodes, AccountId id) {
  for (; id && id != kRootAccount; id = nodes[id.value].parent) {
    const AccountNode& node = nodes[id.value];
    const MilliGpu holds = total_of(node.holdings.levels(), product_);
    Row& mine = row(id);
    const Row before = mine;
    mine.promised = node.removed ? 0 : std::max(own(node), mine.promised_below);
    mine.by_name = by_name(node, holds, mine.by_name_below);
    must(mine.by_name <= holds, "an account holds by name a part of what it holds");
    mine.of_any = of_any(node, holds, mine.by_name);
    of_any_ += mine.of_any - before.of_any;
    const MilliGpu promised = mine.promised - before.promised;
    const MilliGpu by_name = mine.by_name - before.by_name;
    if (node.parent == kRootAccount) {
      promised_ += promised;
      by_name_ += by_name;
      continue;
    }
    Row& above = row(node.parent);  // `mine` may be invalid from here on
    above.promised_below += promised;
    above.by_name_below += by_name;
    must(above.promised_below >= 0 && above.by_name_below >= 0, "no sum of quotas is negative");
  }
  must(promised_ >= by_name_ && by_name_ >= 0, "promised GPUs include those held by name");
  must(of_any_ >= 0, "no sum of quotas is negative");
}

MilliGpu NamedQuota::more_of_any(const Nodes& nodes, AccountId leaf, MilliGpu more) const {
  must(more >= 0, "a demand is not negative");
  static constexpr Row kNothing;
  MilliGpu below = 0;  // how much more the accounts below hold by name
  for (AccountId id = leaf; id && id != kRootAccount; id = nodes[id.value].parent) {
    const AccountNode& node = nodes[id.value];
    const Row& now = id.value < rows_.size() ? rows_[id.value] : kNothing;
    const MilliGpu holds = total_of(node.holdings.levels(), product_) + more;
    const MilliGpu then = by_name(node, holds, now.by_name_below + below);
    if (node.parent == kRootAccount) return of_any(node, holds, then) - now.of_any;
    below = then - now.by_name;
  }
  return 0;
}

}  // namespace subak
