// The one judge of what an account may have: everything on the way from a leaf to the root that
// binds a demand, as data. The pass, explanations, submissions and the webhook ask here and nowhere
// else, so a job is never told another reason than the one that stopped it.
//
// What binds, at each node:
//   hold    an operator holds the account: nothing of it starts
//   drain   nothing new is accepted; what waits may still start, and what was there comes back
//   limit   allocation + demand > limit, over all products or of one
//   borrow  what no quota covers, allocation + demand - covered(allocation + demand), > borrow.
//           covered() is by product (accounting/tree.h): GPUs of one product are no quota of
//           another
//
// A demand whose product is not known yet (ProductId none) is held to what binds it on any product:
// limits over all, and quota of all products + borrow. So whatever binds it binds it everywhere.
//
// Beside it, what quotas promise: within_quota() of a demand, overpromised() of an edit.
//
// Units: milli-GPU. Errors: none; the leaf is in the tree (asserted). Threads: pure functions.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

using ProductDemand = std::pair<ProductId, MilliGpu>;  // product none: not known yet

// What somebody wants below `leaf`: each product once, amounts >= 0.
struct Demand {
  AccountId leaf;
  std::span<const ProductDemand> amounts;
  MilliGpu total() const;
};

// What is asked about a demand.
enum class Asking {
  kStart,    // now, beside what is held: hold, limits, borrow
  kAmounts,  // the same without hold, for the walk, which has left out who is held
  kSubmit,   // ever: drain, and what would bind with nothing else held
  kReplace,  // the same without drain, of what may belong to a job that was there before
};

// The rules of the list at the top.
enum class BindingKind { kHold, kDrain, kLimit, kBorrow };

// One rule that binds a demand, in figures.
struct Binding {
  BindingKind kind = BindingKind::kLimit;
  AccountId subject;   // the node whose rule it is
  ProductId product;   // the rule's; none: over all products
  MilliGpu need = 0;   // of the demand, as far as the rule counts it
  MilliGpu have = 0;   // of that, what the rule leaves now; >= 0
  MilliGpu used = 0;   // what counts already; for borrow: what is borrowed
  MilliGpu most = 0;   // what the rule allows; for borrow: beyond quota
  bool never = false;  // even with nothing else held
  // Whatever else asks for as much below the subject is bound too, of any product.
  bool any_product = false;
};

// What the judge reads of one account; borrowed, for the time of the call. rules_of() makes it of a
// node; who has no tree (admission's View) fills in the rules alone: then nothing is held.
struct Rules {
  AccountId subject;
  std::span<const ProductDemand> quota, limit;  // by product; `quota` is the effective one
  std::optional<MilliGpu> borrow;               // none: unlimited
  bool held = false, draining = false;          // the account's hold and drain
  std::span<const ProductLevel> levels;         // what it holds, by product
  MilliGpu alloc = 0;                           // the sum of `levels`
};
Rules rules_of(const AccountNode& node);

// The first rule of this account alone that binds `amounts`; none if none does. In the order of the
// list above.
std::optional<Binding> first_binding(const Rules& rules, std::span<const ProductDemand> amounts,
                                     Asking asking);
// All, nearest first; at one node in the order of the list above. Asking::kSubmit and kReplace: only
// those that are `never`, or a drain.
std::vector<Binding> bindings(const AccountTree& tree, const Demand& demand, Asking asking);
// The first of them, without making the rest. Allocates nothing where nothing binds.
std::optional<Binding> first_binding(const AccountTree& tree, const Demand& demand, Asking asking);

// The nearest account from `leaf` up that drains; none: nothing is in the way of new work.
AccountId draining(const AccountTree& tree, AccountId leaf);

// Would the demand be within quota, beside what is held: of the account just below the root and of
// each below it on the way that has a quota? The first without one (a user, say) is spoken for by
// the quota above it if that is written there; a quota that only sums up the children's belongs to
// those that have it (queue/ready.h has the same rule for the band). Of a demand without a product
// only the sum is known: it is within quota if that is.
bool within_quota(const AccountTree& tree, const Demand& demand);

// An account has promised its children more than its own quota can hold.
struct Overpromise {
  AccountId parent;
  MilliGpu beyond = 0;  // its children's quotas that its quotas of the same products do not hold
  MilliGpu any = 0;     // its own quota of any product, which is less
};
// Would an edit that gives the account of `path` this quota (as written; empty: the sum of its
// children's) leave a promise that cannot be kept: at the account itself, or at the nearest above
// it with a quota as written? That is where
//     sum over products of max(0, children's named - own named) + children's any > own any,
// with the children's effective quotas; what has no quota as written promises what its children do.
// Products by id; one that nobody has named yet has an id that nobody has. O(children).
std::optional<Overpromise> overpromised(const AccountTree& tree, std::string_view path,
                                        std::span<const ProductDemand> quota);

}  // namespace subak
