// Sums over the account tree for the rules that depend on the quota of other accounts. They are up
// to date after each start, end and edit:
//   - for each product that some quota names, the amount promised by name
//     (accounting/named_quota.h)
//   - the part of unused quota that accounts do not lend (accounting/unlent_quota.h)
//
// If no quota names a product and no account has a `lend`, there are no sums, and a start costs
// nothing for them.
//
// Units: milli-GPU. Errors: none. Threads: none; AccountTree owns one and reports changes.
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

// All these sums. `nodes` are those of the tree.
class QuotaSums {
 public:
  using Nodes = std::vector<AccountNode>;  // by id

  // Call it after the account was set or removed, or its effective quota changed. O(depth) for each
  // sum. The first account that names a product, and the first with a `lend`, cost O(nodes x
  // depth).
  void edited(const Nodes& nodes, AccountId id);
  // Call it after the amount of the product that the account holds has changed.
  void changed(const Nodes& nodes, AccountId leaf, ProductId product);

  // True if some quota names a product, or ever named one.
  bool names_products() const { return !named_.empty(); }
  // Returns the sums of the product; nullptr if no quota ever named it. Valid until edited().
  const NamedQuota* named(ProductId product) const;
  // Returns what the quotas by name of this product promise; 0 if none names it.
  MilliGpu promised_by_name(ProductId product) const {
    return named(product) == nullptr ? 0 : named(product)->promised();
  }
  // Returns the part of promised_by_name() that its accounts do not hold.
  MilliGpu unused_by_name(ProductId product) const {
    return named(product) == nullptr ? 0 : named(product)->promised() - named(product)->by_name();
  }
  // What accounts do not lend: one sum over all products, and one for each product that some quota
  // names. Empty if no account ever had a `lend`.
  std::span<const UnlentQuota> unlent() const { return unlent_; }

  // Computes all sums from the nodes again, and asserts that they are equal. O(nodes); for tests.
  void check(const Nodes& nodes) const;

 private:
  std::vector<NamedQuota> named_;
  std::vector<UnlentQuota> unlent_;
};

}  // namespace subak
