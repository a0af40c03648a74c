// The holdings of accounts as they would be if some jobs held nothing ("if these were gone"). The
// rules of entitlement.h can be asked about them before anything ends.
//
// Units: milli-GPU. Errors: none. Threads: none; a value that borrows the tree.
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
  // Nothing is gone yet. The tree outlives it and does not change meanwhile.
  explicit WithoutHoldings(const AccountTree& tree) : tree_(tree) {}

  // A job of `leaf` would hold this much less. No more than the account holds (asserted). O(depth).
  void remove(AccountId leaf, ProductId product, MilliGpu amount);

  // What the account would hold, by product and in all.
  std::span<const ProductLevel> levels(AccountId id) const;
  MilliGpu alloc(AccountId id) const;
  // What all accounts together would hold less of this product.
  MilliGpu gone(ProductId product) const { return amount_of(gone_, product); }
  // What the account would hold of the product beyond its own quota: 0 if its quota covers all that
  // it holds. An account without a quota borrows all.
  MilliGpu borrowed(AccountId id, ProductId product) const;

  // Returns the first rule that would bind the demand, as first_binding() of entitlement.h.
  std::optional<Binding> first_binding(const Demand& demand, Asking asking) const;

 private:
  struct Account {
    std::vector<ProductLevel> levels;
    MilliGpu alloc = 0;
  };
  const AccountTree& tree_;
  // Those that would hold less.
  std::map<AccountId, Account> accounts_;
  std::vector<ProductDemand> gone_;
};

}  // namespace subak
