// Checks that jobs which Subak may not preempt do not borrow GPUs that a quota guarantees. Such a
// job is called *fixed*, for example a job with `preemptible: false`. The guaranteed GPUs are
// called *promises*; a promise here is never a start time.
//
// The reason: if a job borrows GPUs of another account's quota, Subak can end the job when that
// account wants them. It may not end a fixed job, so a fixed job may borrow only GPUs that no quota
// guarantees (docs/design/0060).
// Example: 16 GPUs are installed, team A has a quota of 8, and team B has none. The fixed jobs of B
// may hold 8 GPUs. Its other jobs may hold all 16 while A does not want them.
//
// The rule in numbers:
//   need        for an account with a quota of its own: the quota, plus the GPUs of its fixed jobs
//               that the quota does not cover. For any other account: the sum of its children's
//               needs and its own fixed jobs' GPUs.
//   invariant   the children of the root together need at most the installed GPUs.
//               The children of an account with a quota of its own need at most that quota.
//
// The invariant is checked for all products together, and for each product that a quota names. For
// one product, an account whose quota also has GPUs of any product is not checked. Edits, lost
// nodes and foreign jobs may break the invariant. Then a start may not increase the excess.
//
// Units: milli-GPU. Errors: none.
// Threads: one at a time; each object has a reference to the tree.
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

// The GPUs of fixed jobs at each account, for one state of the tree.
class FixedHoldings {
 public:
  // Makes an object without fixed GPUs. The tree must outlive the object, and must not change
  // meanwhile.
  explicit FixedHoldings(const AccountTree& tree) : tree_(tree) {}

  // Counts a fixed job of `leaf` that holds this many milli-GPU of the product. kUnassigned: a job
  // without an account. O(depth).
  void add(AccountId leaf, ProductId product, MilliGpu amount);

  // Returns the first promise, from the leaf up, that a fixed job with this demand would break: the
  // job would increase the excess over the invariant. Every product of the demand must be known.
  // `installed_of` returns the installed GPUs of a product, and of all products for kOfAny. The
  // subject of the result is the account with the largest unused promise. nullopt: the job breaks
  // no promise. O(accounts x depth) for each product of the demand.
  std::optional<Binding> first_broken(const Demand& demand,
                                      const std::function<MilliGpu(ProductId)>& installed_of) const;

  // Returns the GPUs that fixed jobs at or below the account hold, by product.
  std::span<const ProductDemand> held(AccountId id) const;

 private:
  // Returns the account's `need`, as the top of this file defines it.
  MilliGpu need(AccountId id, ProductId product) const;
  // Returns the sum of the children's needs and of the account's own fixed GPUs. The invariant
  // bounds this sum.
  MilliGpu needs_below(AccountId id, ProductId product) const;
  // Returns the child with the largest unused promise; if no child has an unused promise, the child
  // with the largest need. Returns the account `id` itself if no child has a need above 0. The
  // child at or above `leaf` does not count.
  AccountId with_promise(AccountId id, AccountId leaf, ProductId product) const;

  const AccountTree& tree_;
  // The GPUs of fixed jobs at or below each account, by product.
  std::map<AccountId, std::vector<ProductDemand>> held_;
  // The GPUs of fixed jobs of the account itself, by product.
  std::map<AccountId, std::vector<ProductDemand>> own_;
};

}  // namespace subak
