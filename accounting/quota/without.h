// The holdings of accounts as they would be if some jobs were gone, so held nothing. With these
// holdings, code can ask the rules of entitlement.h before any job ends.
//
// Units: milli-GPU. Errors: none.
// Threads: one at a time; the value refers to the tree.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "accounting/amounts.h"
#include "accounting/quota/entitlement.h"
#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

class WithoutHoldings {
 public:
  // At first no job counts as gone. The tree must outlive the object. Meanwhile the tree may change
  // only by claims, and each claim must be passed to note_held().
  explicit WithoutHoldings(const AccountTree& tree) : tree_(tree) {}
  // At first, the GPUs that are gone in `before` also count as gone in this object. `before` must
  // outlive the object and must not change meanwhile. gone() counts only GPUs that remove() takes
  // from this object. O(1).
  explicit WithoutHoldings(const WithoutHoldings* before) : tree_(before->tree_), before_(before) {}

  // From now on, the jobs of `leaf` count as holding `amount` milli-GPU less. The account must hold
  // at least `amount` (asserted). O(depth).
  void remove(AccountId leaf, ProductId product, MilliGpu amount);
  // From now on, the accounts on the path count `sums` of a job less. Call remove() for the job's
  // GPUs. O(depth).
  void remove_job(AccountId leaf, const JobSums& sums);
  // Call note_held() after the tree has counted a claim as held by `leaf`. O(depth).
  void note_held(AccountId leaf, ProductId product, MilliGpu amount);

  // levels() returns the GPUs that the account would hold by product. alloc() returns their sum.
  std::span<const ProductLevel> levels(AccountId id) const;
  MilliGpu alloc(AccountId id) const;
  // Returns the sums over the account's jobs without the jobs that are gone.
  JobSums sums(AccountId id) const;
  // Returns how many milli-GPU less of this product all accounts together would hold.
  MilliGpu gone(ProductId product) const { return amount_of(gone_, product); }
  // Returns uncovered_of() (accounting/amounts.h) for the product and the account's remaining GPUs:
  // the milli-GPU that the account's own quota does not cover. An account without a quota borrows
  // all its GPUs.
  MilliGpu borrowed(AccountId id, ProductId product) const;

  // Returns the first rule that would bind the demand, like first_binding() of entitlement.h.
  std::optional<Binding> first_binding(const Demand& demand, Asking asking) const;

 private:
  struct Account {
    std::vector<ProductLevel> levels;
    MilliGpu alloc = 0;
  };
  // Returns the part of the account's sums that is gone, as a negative amount.
  JobSums gone_sums(AccountId id) const;
  const AccountTree& tree_;
  // The holdings on which this object builds. nullptr: it builds on the tree.
  const WithoutHoldings* before_ = nullptr;
  // The accounts whose holdings differ from those of `before_`, or of the tree.
  std::map<AccountId, Account> accounts_;
  // The sums of the jobs that are gone, as negative amounts.
  std::map<AccountId, JobSums> gone_sums_;
  std::vector<ProductDemand> gone_;
};

}  // namespace subak
