// Sums over the account tree, for rules that depend on the quotas of other accounts. The sums are
// up to date after each start, end and edit:
//   - for each product that some quota names (such as H100=4), the GPUs that these quotas guarantee
//     (accounting/named_quota.h)
//   - the part of unused quota that accounts do not lend (accounting/unlent_quota.h)
//   - the accounts that limit more than GPUs (ExtraLimits)
//
// `lend` is the account's bound on the unused quota that others may use. If no quota names a
// product and no account has a `lend`, there are no sums, so a start costs nothing here.
//
// Units: milli-GPU. Errors: none.
// Threads: one at a time; AccountTree owns one object and reports changes to it.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "accounting/account.h"
#include "accounting/amounts.h"
#include "accounting/named_quota.h"
#include "accounting/unlent_quota.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// All sums of this file. `nodes` are the accounts of the tree.
class QuotaSums {
 public:
  using Nodes = std::vector<AccountNode>;  // by id

  // Call it after the account was set or removed, or after its effective quota changed. O(depth)
  // for each sum. The first account that names a product costs O(accounts x depth), and so does the
  // first account with a `lend`.
  void edited(const Nodes& nodes, AccountId id);
  // Call it after the number of GPUs of the product that the account `leaf` holds has changed.
  void changed(const Nodes& nodes, AccountId leaf, ProductId product);

  // Call it after an account was moved to another parent. O(accounts x depth) for each sum.
  void moved(const Nodes& nodes);

  // True if some quota names a product, or ever named one.
  bool names_products() const { return !named_.empty(); }
  // Returns the sums of the product; nullptr if no quota ever named the product. The pointer is
  // valid until edited().
  const NamedQuota* named(ProductId product) const;
  // Returns the milli-GPU that all quotas of this product guarantee together; 0 if no quota names
  // the product.
  MilliGpu promised_by_name(ProductId product) const {
    return named(product) == nullptr ? 0 : named(product)->promised();
  }
  // Returns the part of promised_by_name() that the accounts with these quotas do not hold now.
  MilliGpu unused_by_name(ProductId product) const {
    return named(product) == nullptr ? 0 : named(product)->promised() - named(product)->by_name();
  }
  // Returns the unused quota that accounts do not lend: one object for all products together, and
  // one for each product that some quota names. The list is empty if no account ever had a `lend`.
  std::span<const UnlentQuota> unlent() const { return unlent_; }

  // Returns the accounts with limits besides GPUs (ExtraLimits), by id.
  const std::set<AccountId>& extra_limits() const { return extra_limits_; }

  // Computes all sums from the accounts again, and asserts that the stored sums are equal.
  // O(accounts); for tests.
  void check(const Nodes& nodes) const;

 private:
  std::vector<NamedQuota> named_;
  std::vector<UnlentQuota> unlent_;
  std::set<AccountId> extra_limits_;
};

}  // namespace subak
