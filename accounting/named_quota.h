// Sums for the rule that a quota of a named product (a quota by name, such as H100=4) comes before
// a quota of any product (`gpu`). By this rule, all quotas of `gpu` together cover at most the
// installed GPUs of a product that no quota by name covers.
//
// Example: 8 H100 are installed. `bio` has quota H100=4 and holds 1 H100. `ml` has quota gpu=16 and
// holds 6 H100. All quotas of `gpu` together cover at most 8 - 4 = 4 H100, even though bio uses
// only one of its four. So of ml's jobs on H100, those beyond 4 GPUs borrow.
//
// Each account has for each product:
//   promised   the GPUs that quotas by name guarantee at or below the account. It is the larger of
//              two amounts: the account's own quota by name, and the children's sum of `promised`.
//              In the example: bio 4, ml 0.
//   by name    the part of `promised` that the account holds. It is the larger of two amounts: the
//              GPUs that its own quota by name covers, and the children's sum of `by name` amounts.
//              In the example: bio 1, ml 0.
//   of any     the account's GPUs beyond `by name`, up to its quota of any product. Only accounts
//              directly below the root have this amount. In the example: bio 0, ml 6.
//
// Units: milli-GPU. Errors: none.
// Threads: one at a time; AccountTree owns one object for each named product.
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
  // The product whose amounts this class sums. It is never kOfAny.
  ProductId product() const { return product_; }

  // Computes the amounts of the account and of the accounts above it again. Call refresh() after
  // the account's quota or the GPUs that it holds have changed. O(depth).
  void refresh(const Nodes& nodes, AccountId id);
  // Returns the milli-GPU that quotas by name guarantee to all accounts together.
  MilliGpu promised() const { return promised_; }
  // Returns the part of promised() that accounts hold.
  MilliGpu by_name() const { return by_name_; }
  // Returns the amount of this product that quotas of any product cover now.
  MilliGpu of_any() const { return of_any_; }
  // Returns how much of_any() would grow if jobs of `leaf` held `more` milli-GPU of the product in
  // addition.
  MilliGpu more_of_any(const Nodes& nodes, AccountId leaf, MilliGpu more) const;
  // True if all sums are equal.
  friend bool operator==(const NamedQuota& a, const NamedQuota& b) {
    return a.promised_ == b.promised_ && a.by_name_ == b.by_name_ && a.of_any_ == b.of_any_;
  }

 private:
  struct Row {
    // The three figures of the list at the top of this file.
    MilliGpu promised = 0, by_name = 0, of_any = 0;
    MilliGpu promised_below = 0, by_name_below = 0;  // sums over the children
  };
  Row& row(AccountId id);
  MilliGpu own(const AccountNode& node) const;
  MilliGpu by_name(const AccountNode& node, MilliGpu holds, MilliGpu below) const;
  MilliGpu of_any(const AccountNode& node, MilliGpu holds, MilliGpu by_name) const;

  ProductId product_;
  std::vector<Row> rows_;  // by account id; missing rows are zero
  MilliGpu promised_ = 0, by_name_ = 0, of_any_ = 0;
};

}  // namespace subak
