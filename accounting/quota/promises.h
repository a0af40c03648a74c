// Quotas as promises, and the GPUs of jobs that cannot be preempted ("fixed" GPUs).
//
// A job that borrows can be ended when another account wants its quota. A fixed job cannot. So a
// fixed job may borrow only GPUs that no quota promises (docs/design/0084). For each account:
//
//   need        with a quota of its own: the larger of the quota and what its fixed jobs hold.
//               Else: the sum of its children's needs, and what its own fixed jobs hold.
//   invariant   the children of the root together need at most what is installed.
//               The children of an account with a quota of its own need at most that quota.
//
// The invariant is checked for all products together, and for each product that a quota names.
// Edits, lost nodes and foreign jobs may break it. A start may not make it worse.
//
// Units: milli-GPU. Errors: none. Threads: one at a time; a value that borrows the tree.
#pragma once

#include <functional>
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

// The sums for one state of the tree.
class FixedHoldings {
 public:
  // Nothing is fixed yet. The tree outlives it and does not change meanwhile.
  explicit FixedHoldings(const AccountTree& tree) : tree_(tree) {}

  // A fixed job of `leaf` holds this much. kUnassigned: a job without an account. O(depth).
  void add(AccountId leaf, ProductId product, MilliGpu amount);

  // Returns the first promise that a fixed job with this demand would break, from its leaf up. The
  // demand's products are known.
  // `installed_of` returns the installed GPUs of a product, and of all for kOfAny. The subject is
  // the account with the largest unused promise. nullopt: it breaks none. O(accounts).
  std::optional<Binding> first_broken(const Demand& demand,
                                      const std::function<MilliGpu(ProductId)>& installed_of) const;

  // Returns what fixed jobs at or below the account hold, by product.
  std::span<const ProductDemand> held(AccountId id) const;

 private:
  // The need of the comment above.
  MilliGpu need(AccountId id, ProductId product) const;
  // The sum on the left of the invariant.
  MilliGpu needs_below(AccountId id, ProductId product) const;
  // The child with the largest promise that is not used, or else the largest promise. The account
  // itself if there is none. The child with `leaf` does not count.
  AccountId with_promise(AccountId id, AccountId leaf, ProductId product) const;

  const AccountTree& tree_;
  // At or below each account, by product.
  std::map<AccountId, std::vector<ProductDemand>> held_;
  // By product: of the jobs that are at the account itself.
  std::map<AccountId, std::vector<ProductDemand>> own_;
};

}  // namespace subak
