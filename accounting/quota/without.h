// The GPUs that accounts would hold if some running jobs had ended. A search for victims, which are
// jobs that must end so that a waiting job gets their GPUs, applies the rules of entitlement.h to
// these amounts. Example: an account holds 8 GPUs, and its limit is 8. Without a running job of 2
// GPUs, the account may have 2 GPUs more.
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

// The holdings of all accounts without the jobs that the caller removed.
class WithoutHoldings {
 public:
  // Begins with the holdings of the tree. The tree must outlive the object. Meanwhile the tree may
  // change only by AccountTree::claim(), and the caller must pass each claim to note_held().
  explicit WithoutHoldings(const AccountTree& tree) : tree_(tree) {}
  // Begins with the holdings of `before`, which must outlive the object and must not change
  // meanwhile. gone() counts only the GPUs that were removed from this object. note_held() is not
  // allowed. O(1).
  explicit WithoutHoldings(const WithoutHoldings* before) : tree_(before->tree_), before_(before) {}

  // Removes `amount` milli-GPU from the holdings of `leaf` and of the accounts above it. Each of
  // them must hold at least `amount` (asserted). O(depth).
  void remove(AccountId leaf, ProductId product, MilliGpu amount);
  // Removes a job's `sums` from `leaf` and from the accounts above it. Call remove() for the job's
  // GPUs. O(depth).
  void remove_job(AccountId leaf, const JobSums& sums);
  // Call note_held() after the tree has counted a claim as held by `leaf`. O(depth).
  void note_held(AccountId leaf, ProductId product, MilliGpu amount);

  // levels() returns the GPUs that the account would hold by product. alloc() returns their sum.
  std::span<const ProductLevel> levels(AccountId id) const;
  MilliGpu alloc(AccountId id) const;
  // Returns the sums over the account's jobs without the removed jobs.
  JobSums sums(AccountId id) const;
  // Returns the milli-GPU of this product that remove() has removed from this object.
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
  // Returns the sums that were removed from the account, as negative amounts.
  JobSums gone_sums(AccountId id) const;
  const AccountTree& tree_;
  // The holdings on which this object builds. nullptr: it builds on the tree.
  const WithoutHoldings* before_ = nullptr;
  // The accounts whose holdings differ from those of `before_`, or of the tree.
  std::map<AccountId, Account> accounts_;
  // The sums of the removed jobs, as negative amounts.
  std::map<AccountId, JobSums> gone_sums_;
  std::vector<ProductDemand> gone_;
};

}  // namespace subak
