// The only code that decides what an account may have: every rule from a leaf to the root that
// binds a demand, as data. The pass, explanations, submissions and the webhook all call it. So the
// reason that a job shows is always the rule that stopped it.
//
// The rules at each node:
//   hold    an operator holds the account: none of its jobs start
//   drain   accepts nothing new; waiting jobs may still start, and earlier jobs may come back
//   limit   allocation + demand > limit, over all products or of one
//   borrow  the part that no quota covers, uncovered(allocation + demand), > borrow. It is counted
//           by product (accounting/amounts.h): GPUs of one product are no quota of another
//   lend    fewer GPUs would be idle than accounts do not lend of their unused quota; unlent()
//
// A demand whose product is not known yet (ProductId none) is checked against the rules that bind
// it on any product: limits over all, and quota of all products + borrow. So a rule that binds it
// binds it on every product.
//
// The quota guarantees are here too: reach() of a demand, overpromised() of an edit.
//
// Units: milli-GPU.
// Errors: none; the leaf is in the tree (asserted).
// Threads: pure functions.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// An amount wanted below `leaf`: each product once, amounts >= 0.
struct Demand {
  // The account whose job it is.
  AccountId leaf;
  std::span<const ProductDemand> amounts;
  MilliGpu total() const;
};

// The question about a demand.
enum class Asking {
  // To start now, beside current holds: hold, limits, borrow.
  kStart,
  // The same without hold, for the walk, which leaves out held accounts.
  kAmounts,
  // Ever: drain, and rules that bind even with nothing else held.
  kSubmit,
  // As kSubmit without drain, for a job that may have been there before.
  kReplace,
};

// The rules of the list at the top.
enum class BindingKind { kHold, kDrain, kLimit, kBorrow, kLend };

// One rule that binds a demand, with its figures.
struct Binding {
  // Which rule of the list at the top.
  BindingKind kind = BindingKind::kLimit;
  // The node whose rule it is. For lend: one of the accounts that do not lend.
  AccountId subject;
  // The product of the rule. None: it is over all products.
  ProductId product;
  // The part of the demand that the rule counts.
  MilliGpu need = 0;
  // The part of that which the rule leaves now; at least 0.
  MilliGpu have = 0;
  // The amount that counts already. For borrow: the borrowed amount.
  MilliGpu used = 0;
  // The most that the rule allows. For borrow: beyond quota. For lend: what is not lent.
  MilliGpu most = 0;
  // It binds even with nothing else held.
  bool never = false;
  // Binds any other demand of this size below the subject too, of any product.
  bool any_product = false;
};

// The fields of one account that the rules read; borrowed for the time of the call. rules_of()
// makes it from a node. A caller without a tree (admission's View) fills in the rules alone: then
// nothing is held.
struct Rules {
  // The account, for Binding::subject.
  AccountId subject;
  // By product. `quota` is the effective one.
  std::span<const ProductDemand> quota, limit;
  // None: unlimited.
  std::optional<MilliGpu> borrow;
  // The account's hold and drain.
  bool held = false, draining = false;
  // What the account holds, by product.
  std::span<const ProductLevel> levels;
  // The sum of `levels`.
  MilliGpu alloc = 0;
};
// Returns views into the node, valid until it changes.
Rules rules_of(const AccountNode& node);

// Returns the first rule of this account alone that binds `amounts`, in the order of the list
// above; none if none binds.
std::optional<Binding> first_binding(const Rules& rules, std::span<const ProductDemand> amounts,
                                     Asking asking);
// Returns all binding rules, nearest node first, at one node in the order of the list above. For
// Asking::kSubmit and kReplace it returns only rules with `never`, and drains.
std::vector<Binding> bindings(const AccountTree& tree, const Demand& demand, Asking asking);
// Returns the first of them, without computing the rest. Allocates nothing if no rule binds.
std::optional<Binding> first_binding(const AccountTree& tree, const Demand& demand, Asking asking);

// Checks what accounts do not lend (accounting/unlent_quota.h). `idle_of` returns the idle GPUs of
// a product; of kOfAny: of all. Returns a binding if the demand would leave fewer idle GPUs than
// are not lent, unless it is itself what they are idle for. What is missing already, because nodes
// were lost or a quota was raised, stops no job. O(depth) for each named product.
std::optional<Binding> unlent(const AccountTree& tree, const Demand& demand,
                              const std::function<MilliGpu(ProductId)>& idle_of);

// Returns the nearest account from `leaf` up that drains; none: new work is allowed.
AccountId draining(const AccountTree& tree, AccountId leaf);

// True if the account's own quota covers the demand beside what the account holds: by product, as
// uncovered() says (accounting/amounts.h). Of a demand without a product only the sum is checked:
// it must fit into the quotas of all products together, and no product may borrow already.
bool covers(const AccountNode& node, std::span<const ProductDemand> demand);
// Returns how far the demand is entitled: the highest account below which it would be within quota
// at every account on its path, beside current holds. The root: against all accounts. Another
// account: only against its siblings below that account, which is beyond quota itself. None: it
// would borrow at its own account.
//
// An account must cover it (covers()) if it has a quota. The first account without one (a user,
// say) is covered by the quota above it if that quota is configured there. A quota that is only the
// sum of the children's belongs to the children that have it.
//
// Named quota beats any: where a product is named, quotas of any product cover together at most
// what is installed of it less all quotas by name (accounting/named_quota.h). Beyond that the
// demand is not entitled against all accounts. `installed` has the installed amount of each product
// of the demand that quota_sums().promised_by_name(). A demand without a product passes this rule:
// the answer comes with its placement.
//
// Within quota means a reach of the root. The order of the queue walks its paths by the same rule
// but for named quota (queue/ready.h), and asks covers() too.
AccountId reach(const AccountTree& tree, const Demand& demand,
                std::span<const ProductDemand> installed);

// An account promises its children more than its own quota can hold.
struct Overpromise {
  // The account whose promise would be broken.
  AccountId parent;
  // Children's quotas that its quotas of the same products do not hold.
  MilliGpu beyond = 0;
  // Its own quota of any product, which is less.
  MilliGpu any = 0;
};
// Checks an edit that gives the account of `path` this quota (as configured; empty: the sum of its
// children's). Returns the first promise that the edit would break: at the account itself, or at
// the nearest account above it with a configured quota. A promise is broken if
//     sum over products of max(0, children's named - own named) + children's any > own any,
// with the children's effective quotas. An account without a configured quota promises the sum of
// its children's. Products are by id; a product without an account that names it has an unused id.
// O(children).
std::optional<Overpromise> overpromised(const AccountTree& tree, std::string_view path,
                                        std::span<const ProductDemand> quota);

}  // namespace subak
