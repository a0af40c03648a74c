// The one judge of what an account may have: everything on the way from a leaf to the root that
// binds a demand, as data. The pass, explanations and submissions ask here and nowhere else, so a
// job is never told another reason than the one that stopped it.
//
// What binds, at each node:
//   hold    an operator holds the account: nothing of it starts
//   drain   nothing new is accepted; what waits may still start
//   limit   allocation + demand > limit, over all products or of one
//   borrow  what no quota covers, allocation + demand - covered(allocation + demand), > borrow.
//           covered() is by product (accounting/tree.h): GPUs of one product are no quota of another
//
// A demand whose product is not known yet (ProductId none) is held to what binds it on any product:
// limits over all, and quota of all products + borrow. So whatever binds it binds it everywhere.
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

enum class Asking {
  kStart,    // now, beside what is held: hold, limits, borrow
  kAmounts,  // the same without hold, for the walk, which has left out who is held
  kSubmit,   // ever: drain, and what would bind with nothing else held
};

enum class BindingKind { kHold, kDrain, kLimit, kBorrow };

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

// All, nearest first; at one node in the order of the list above. Asking::kSubmit: only those that
// are `never`, or a drain.
std::vector<Binding> bindings(const AccountTree& tree, const Demand& demand, Asking asking);
// The first of them, without making the rest. Allocates nothing where nothing binds.
std::optional<Binding> first_binding(const AccountTree& tree, const Demand& demand, Asking asking);

}  // namespace subak
