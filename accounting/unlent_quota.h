// Counts the GPUs that must stay idle because accounts do not lend them. An account's `lend` is the
// most of its unused quota that other accounts may borrow. Subak starts no job of another account
// that would take more (rule `lend` of accounting/quota/entitlement.h).
// Example: ml has a quota of 8 GPUs, holds 2, and has `lend` 4. Its unused quota is 6, so 6 - 4 = 2
// GPUs must stay idle for ml.
//
// Each account has this amount:
//   unlent   the larger of max(0, unused quota - lend) and the sum of the children's `unlent`
// It is the larger amount, and not the sum, because the idle GPUs of an account include those of
// its children. An account without `lend` has only the second amount.
// One object counts the GPUs of one product that some quota names, or the GPUs of all products
// together. The text of `lend` may have a bound for all products together, and bounds for named
// products.
//
// Units: milli-GPU. Errors: none.
// Threads: one at a time; QuotaSums owns the objects.
#pragma once

#include <span>
#include <vector>

#include "accounting/account.h"
#include "accounting/amounts.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// The sums for one product; for kOfAny, the sums for all products together.
class UnlentQuota {
 public:
  using Nodes = std::vector<AccountNode>;  // by id, as the tree has them

  explicit UnlentQuota(ProductId product) : product_(product) {}
  // The product whose GPUs this object counts. kOfAny: all products together.
  ProductId product() const { return product_; }

  // Computes the sums of the account and of the accounts above it again. Call refresh() after a
  // change of the account's quota, its `lend` or its holds. O(depth).
  void refresh(const Nodes& nodes, AccountId id);
  // Returns the milli-GPU of unused quota that all accounts together do not lend.
  MilliGpu total() const { return total_; }
  // Returns the value that total() would have if jobs of `leaf` held these amounts in addition.
  // O(depth).
  MilliGpu total_with(const Nodes& nodes, AccountId leaf,
                      std::span<const ProductDemand> more) const;
  // Returns an account whose own `lend` is a cause of the total. The search starts at the root and
  // goes to the child with the largest sum. It stops at an account whose own part is larger than
  // the sum of its children. Returns none if the total is 0. O(depth x children).
  AccountId largest(const Nodes& nodes) const;

 private:
  struct Row {
    MilliGpu unlent = 0, below = 0;  // `below`: the sum of the children's `unlent`
  };
  MilliGpu own(const AccountNode& node, std::span<const ProductDemand> more) const;
  Row row(AccountId id) const { return id.value < rows_.size() ? rows_[id.value] : Row(); }

  ProductId product_;
  std::vector<Row> rows_;  // by account id; missing rows are zero
  MilliGpu total_ = 0;
};

}  // namespace subak
