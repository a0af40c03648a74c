// Sums over the tree that rules about the quota of other accounts need, up to date after each
// start, end and edit:
//   - of each product that some quota names, what is promised by name (accounting/named_quota.h)
//   - what accounts do not lend of their unused quota (accounting/unlent_quota.h)
//
// Without such accounts there are none, and a start costs nothing for them.
//
// Units: milli-GPU. Errors: none. Threads: none; AccountTree owns one and tells it of each change.
#pragma once

#include <span>
#include <vector>

#include "accounting/account.h"
#include "accounting/amounts.h"
#include "accounting/named_quota.h"
#include "accounting/unlent_quota.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// All these sums. `nodes` are the tree's.
class QuotaSums {
 public:
  using Nodes = std::vector<AccountNode>;  // by id

  // The account was set or removed, or its effective quota changed. O(depth) for each sum; the
  // first account that names a product, and the first with a `lend`, O(nodes x depth).
  void edited(const Nodes& nodes, AccountId id);
  // What the account holds of the product changed.
  void changed(const Nodes& nodes, AccountId leaf, ProductId product);

  // True if some quota names a product, or did once.
  bool names_products() const { return !named_.empty(); }
  // Returns the sums of the product; nullptr if no quota ever named it. Valid until edited().
  const NamedQuota* named(ProductId product) const;
  // Returns what the quotas by name of this product promise; 0 if none names it.
  MilliGpu promised_by_name(ProductId product) const {
    return named(product) == nullptr ? 0 : named(product)->promised();
  }
  // Returns the part of that which its accounts do not hold.
  MilliGpu unused_by_name(ProductId product) const {
    return named(product) == nullptr ? 0 : named(product)->promised() - named(product)->by_name();
  }
  // What accounts do not lend: one sum over all products, and one for each product that some quota
  // names. Empty if no account ever had a `lend`.
  std::span<const UnlentQuota> unlent() const { return unlent_; }

  // Asserts that all sums equal those that are made again. O(nodes); for tests.
  void check(const Nodes& nodes) const;

 private:
  std::vector<NamedQuota> named_;
  std::vector<UnlentQuota> unlent_;
};

}  // namespace subak
