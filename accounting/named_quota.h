// Named quota beats quota of any product. On one product, the quotas of `gpu` cover together at
// most the installed GPUs that no quota names. This keeps the sums that the rule needs.
//
// Example: 4 H100 are installed, `bio` has quota H100=4 and `ml` has quota gpu=4. Then ml's quota
// covers no H100, though bio uses none. A job of ml that runs there has borrowed.
//
// Of each account and product:
//   promised   the larger of its own quota by name, and what its children are promised
//   by name    what it holds within that: the larger of what its own quota by name covers, and what
//              its children hold by name
//   of any     (accounts below the root) what it holds beyond that, up to its quota of any product
//
// Units: milli-GPU. Errors: none. Threads: none; AccountTree owns one for each named product.
#pragma once

#include <vector>

#include "accounting/account.h"
#include "accounting/amounts.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// The sums for one product that some quota names.
class NamedQuota {
 public:
  using Nodes = std::vector<AccountNode>;  // by id, as the tree has them

  explicit NamedQuota(ProductId product) : product_(product) {}
  // The product that all sums are of; never kOfAny.
  ProductId product() const { return product_; }

  // Reads the account again, and those above it: its quota changed, or what it holds. O(depth).
  void refresh(const Nodes& nodes, AccountId id);
  // Returns what all accounts together are promised by name.
  MilliGpu promised() const { return promised_; }
  // Returns the part of that which their accounts hold.
  MilliGpu by_name() const { return by_name_; }
  // Returns what quotas of any product cover now.
  MilliGpu of_any() const { return of_any_; }
  // Returns what they would cover in addition if jobs of `leaf` held `more` of the product too.
  MilliGpu more_of_any(const Nodes& nodes, AccountId leaf, MilliGpu more) const;
  // True if all sums are equal.
  friend bool operator==(const NamedQuota& a, const NamedQuota& b) {
    return a.promised_ == b.promised_ && a.by_name_ == b.by_name_ && a.of_any_ == b.of_any_;
  }

 private:
  struct Row {
    // The three figures of the list at the top.
    MilliGpu promised = 0, by_name = 0, of_any = 0;
    MilliGpu promised_below = 0, by_name_below = 0;  // sums of its children's
  };
  Row& row(AccountId id);
  MilliGpu own(const AccountNode& node) const;
  MilliGpu by_name(const AccountNode& node, MilliGpu holds, MilliGpu below) const;
  MilliGpu of_any(const AccountNode& node, MilliGpu holds, MilliGpu by_name) const;

  ProductId product_;
  std::vector<Row> rows_;  // by account id; those that are missing are zero
  MilliGpu promised_ = 0, by_name_ = 0, of_any_ = 0;
};

}  // namespace subak
