// The holdings of accounts as they would be if some jobs held nothing ("if these were gone"). With
// them, code can ask the rules of entitlement.h before any job ends.
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
  // At first nothing is gone. The tree must outlive the object. Meanwhile it may change only by
  // claims, and each must be passed to note_held().
  explicit WithoutHoldings(const AccountTree& tree) : tree_(tree) {}
  // At first the same is gone as in `before`, which must outlive the object and must not change
  // meanwhile. gone() counts only what goes from now on. O(1).
  explicit WithoutHoldings(const WithoutHoldings* before) : tree_(before->tree_), before_(before) {}

  // From now on, jobs of `leaf` count as holding this much less. `amount` is at most what the
  // account holds (asserted). O(depth).
  void remove(AccountId leaf, ProductId product, MilliGpu amount);
  // Call it after a claim that the tree counts as held by `leaf`. O(depth).
  void note_held(AccountId leaf, ProductId product, MilliGpu amount);

  // Return what the account would hold: by product, and in total.
  std::span<const ProductLevel> levels(AccountId id) const;
  MilliGpu alloc(AccountId id) const;
  // Returns how much less of this product all accounts together would hold.
  MilliGpu gone(ProductId product) const { return amount_of(gone_, product); }
  // Returns what the account would hold of the product beyond its own quota; 0 if its quota covers
  // all that it holds. An account without a quota borrows all that it holds.
  MilliGpu borrowed(AccountId id, ProductId product) const;

  // Returns the first rule that would bind the demand, like first_binding() of entitlement.h.
  std::optional<Binding> first_binding(const Demand& demand, Asking asking) const;

 private:
  struct Account {
    std::vector<ProductLevel> levels;
    MilliGpu alloc = 0;
  };
  const AccountTree& tree_;
  // nullptr: the tree.
  const WithoutHoldings* before_ = nullptr;
  // The accounts that would hold less than before.
  std::map<AccountId, Account> accounts_;
  std::vector<ProductDemand> gone_;
};

}  // namespace subak
