#include "accounting/quota_sums.h"

#include <algorithm>
#include <cassert>

#include "core/must.h"

namespace subak {
namespace {

// Computes the sums of all accounts. The order of the accounts does not matter, because each call
// also updates the accounts up to the root.
template <class Sums>
Sums made(Sums sums, const QuotaSums::Nodes& nodes) {
  for (const AccountNode& node : nodes) {
    if (node.id) sums.refresh(nodes, node.id);
  }
  return sums;
}

}  // namespace

const NamedQuota* QuotaSums::named(ProductId product) const {
  const auto it = std::find_if(named_.begin(), named_.end(),
                               [&](const NamedQuota& q) { return q.product() == product; });
  return it == named_.end() ? nullptr : &*it;
}

void QuotaSums::edited(const Nodes& nodes, AccountId id) {
  const AccountNode& node = nodes[id.value];
  if (node.limits.extra != nullptr && !node.removed) {
    extra_limits_.insert(id);
  } else {
    extra_limits_.erase(id);
  }
  for (NamedQuota& quota : named_) quota.refresh(nodes, id);
  for (UnlentQuota& quota : unlent_) quota.refresh(nodes, id);
  for (const auto& [product, amount] : node.quota) {
    if (product == kOfAny || named(product) != nullptr) continue;
    named_.push_back(made(NamedQuota(product), nodes));
    if (!unlent_.empty()) unlent_.push_back(made(UnlentQuota(product), nodes));
  }
  must(unlent_.empty() || unlent_.size() == named_.size() + 1,
       "there is one sum of all products, and one of each that is named");
  const bool lends_all = !node.lending.lend && node.lending.lend_of.empty();
  if (lends_all || !unlent_.empty()) return;
  unlent_.push_back(made(UnlentQuota(kOfAny), nodes));
  for (const NamedQuota& quota : named_) {
    unlent_.push_back(made(UnlentQuota(quota.product()), nodes));
  }
}

void QuotaSums::changed(const Nodes& nodes, AccountId leaf, ProductId product) {
  for (NamedQuota& quota : named_) {
    if (quota.product() == product) quota.refresh(nodes, leaf);
  }
  for (UnlentQuota& quota : unlent_) {
    if (quota.product() == product || quota.product() == kOfAny) quota.refresh(nodes, leaf);
  }
}

void QuotaSums::moved(const Nodes& nodes) {
  for (NamedQuota& quota : named_) quota = made(NamedQuota(quota.product()), nodes);
  for (UnlentQuota& quota : unlent_) quota = made(UnlentQuota(quota.product()), nodes);
}

void QuotaSums::check(const Nodes& nodes) const {
  for (const AccountNode& node : nodes) {
    const bool extra = node.limits.extra != nullptr && !node.removed;
    assert(extra_limits_.contains(node.id) == (extra && bool(node.id)));
  }
  for (const NamedQuota& quota : named_) assert(quota == made(NamedQuota(quota.product()), nodes));
  for (const UnlentQuota& quota : unlent_) {
    assert(quota.total() == made(UnlentQuota(quota.product()), nodes).total());
  }
}

}  // namespace subak
