// The only code that decides what an account may have. It returns, as data, every rule from a leaf
// to the root that forbids a demand: the rule "binds" the demand. The pass, explanations,
// submissions and the webhook all call it. So the reason that a job shows is always the rule that
// stopped it.
//
// The rules at each node:
//   hold    an operator holds the account: none of its jobs start
//   drain   the account accepts no new job; waiting jobs may still start, and earlier jobs return
//   limit   allocation + demand > limit, of all products or of one
//   borrow  uncovered(allocation + demand), the part that no quota covers, > borrow. It is counted
//           by product (accounting/amounts.h): a quota of one product does not cover another one
//   lend    fewer GPUs would stay idle than the unused quota that accounts do not lend; unlent()
//   promise a job that cannot be preempted would borrow GPUs that a quota promises; promises.h
//
// A demand whose product is not known yet (ProductId none) is checked only against limits over all
// products, and against quota of all products + borrow. So a rule that binds such a demand binds it
// on every product.
//
// The guarantees of quotas are here too: reach() for a demand, overpromised() for an edit.
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

// The GPUs that a job of `leaf` wants: each product once, amounts >= 0.
struct Demand {
  // The account whose job it is.
  AccountId leaf;
  std::span<const ProductDemand> amounts;
  MilliGpu total() const;
};

// What the caller wants to know about a demand.
enum class Asking {
  // May it start now, beside current holds? Rules: hold, limits, borrow.
  kStart,
  // As kStart without the rule hold. The walk of the queue asks so, since it skips held accounts.
  kAmounts,
  // May it be submitted? Rules: drain, and those that bind even if nothing else is held.
  kSubmit,
  // As kSubmit without the rule drain, for a job that may have been there before.
  kReplace,
};

// The rules of the list at the top of this file.
enum class BindingKind { kHold, kDrain, kLimit, kBorrow, kLend, kPromise };

// One rule that binds a demand, with its figures.
struct Binding {
  // Which rule binds.
  BindingKind kind = BindingKind::kLimit;
  // The account that has the rule. For lend: one of the accounts that do not lend. For promise: the
  // account that is promised most.
  AccountId subject;
  // The product of the rule. None: the rule is over all products.
  ProductId product;
  // The part of the demand that the rule counts.
  MilliGpu need = 0;
  // The part of `need` that the rule allows now; at least 0.
  MilliGpu have = 0;
  // The amount that counts towards the rule already. For borrow: the borrowed amount.
  MilliGpu used = 0;
  // The most that the rule allows. For borrow: the most beyond quota. For lend: the amount not
  // lent.
  MilliGpu most = 0;
  // True: the rule binds the demand even if nothing else is held.
  bool never = false;
  // True: the rule also binds each other demand of this size below the subject, of any product.
  bool any_product = false;
};

// The fields of one account that the rules read; borrowed for the time of the call. rules_of()
// makes them from a node. A caller without a tree (admission's View) fills in only the rules: the
// account then holds nothing.
struct Rules {
  // The account, for Binding::subject.
  AccountId subject;
  // Quota and limit by product. `quota` is the effective one.
  std::span<const ProductDemand> quota, limit;
  // nullopt: unlimited.
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

// Returns the first rule of this account alone that binds `amounts`, in the order of the list at
// the top; nullopt if no rule binds.
std::optional<Binding> first_binding(const Rules& rules, std::span<const ProductDemand> amounts,
                                     Asking asking);
// Returns all rules that bind, the leaf's rules first, then those of its parent and so on. Those of
// one account are in the order of the list at the top. For Asking::kSubmit and kReplace it returns
// only rules with `never`, and drains.
std::vector<Binding> bindings(const AccountTree& tree, const Demand& demand, Asking asking);
// Returns the first element of bindings() without computing the others. Allocates no memory if no
// rule binds.
std::optional<Binding> first_binding(const AccountTree& tree, const Demand& demand, Asking asking);

// Checks what accounts do not lend (accounting/unlent_quota.h). `idle_of` returns the idle GPUs of
// a product; for kOfAny, of all. Returns a binding if the demand would leave fewer idle GPUs than
// are not lent. It returns none if the GPUs are idle for this demand's account. GPUs that are
// missing already, because nodes were lost or a quota was raised, stop no job. O(depth) for each
// named product.
std::optional<Binding> unlent(const AccountTree& tree, const Demand& demand,
                              const std::function<MilliGpu(ProductId)>& idle_of);

// Returns the first account from `leaf` upwards that drains. None: new jobs are allowed.
AccountId draining(const AccountTree& tree, AccountId leaf);

// True if the account's own quota covers the demand beside what the account holds: by product, as
// uncovered() says (accounting/amounts.h). A demand without a product must fit into the quotas of
// all products together, and no product may borrow already.
bool covers(const AccountNode& node, std::span<const ProductDemand> demand);
// Returns how far the demand is entitled: the highest account below which it would be within quota
// at every account on its path, beside current holds. The root: the job is within quota everywhere.
// Another account: the job comes first only below that account, which is beyond quota itself. None:
// the job would borrow at its own account.
//
// Each account on the path that has a quota must cover the demand (covers()). The first account
// without a quota (a user, say) relies on the quota above it, if that quota is configured there. A
// quota that is only the sum of the children's quotas covers just the children that have one.
//
// Quotas by name come first: if some quota names a product, quotas of any product together cover at
// most its installed amount less all quotas by name (accounting/named_quota.h). A demand beyond
// that does not reach the root. `installed` has the installed amount of each product of the demand
// for which quota_sums().promised_by_name() is not 0. A demand without a product passes this rule:
// only its placement decides.
//
// A demand is within quota if its reach is the root. The queue uses the same rule without quotas by
// name (queue/ready.h), and calls covers() too.
AccountId reach(const AccountTree& tree, const Demand& demand,
                std::span<const ProductDemand> installed);

// An account promises its children more than its own quota covers.
struct Overpromise {
  // The account whose promise would be broken.
  AccountId parent;
  // The part of the children's quotas that its quotas of the same products do not cover.
  MilliGpu beyond = 0;
  // Its own quota of any product, which is less than `beyond`.
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
