// Decides whether an account may have the GPUs that a job asks for (a demand), by the account's
// quota, limits and budgets. The functions return the rules that forbid the demand, from the
// job's account up to the root. Such a rule "binds" the demand. Example: the account ml has a
// limit of 16 GPUs and holds 12. Its rule `limit` binds a demand of 8 GPUs, because 12 + 8 >
// 16.
// Passes, explanations, submissions and the webhook all call this code. So the reason that a
// job shows is always the rule that stopped the job.
//
// The rules at each account:
//   hold    an operator holds the account: none of its jobs start
//   drain   the account accepts no new job; waiting jobs may still start, and a started job may
//           wait again
//   limit   allocation + demand > limit, of all products or of one
//   borrow  the part of allocation + demand that quota does not cover > borrow. A quota of one
//           product does not cover another: uncovered() of accounting/amounts.h. Example: with a
//           quota of 8 GPUs and borrow 4, jobs may hold at most 12. A bound of one product counts
//           the uncovered part of that product alone
//   lend    the start would leave fewer GPUs idle than the unused quota that accounts do not lend;
//           see unlent()
//   promise a job that cannot be preempted would borrow GPUs that a quota guarantees; see
//           promises.h
//   jobs, queued, time, minutes
//           the limits on jobs of accounting/limits/job_limits.h: jobs + 1 > limit, the time limit
//           of the job > limit, GPU-minutes in flight + those of the job > limit. No function of
//           this file returns `queued`, because the tree does not know how many jobs wait
//   budget  the GPU time of the demand until its planned end > what a hard budget has left, in one
//           of the periods of this time (accounting/budget/budget_book.h)
//
// An account may also limit the GPUs and jobs of each of its users. Such a rule counts what the
// user's own account holds (Binding::counted), and binds only jobs of users.
//
// If the product of a demand is not known yet (ProductId none), only limits over all products
// count, and the sum of all quotas + borrow. So a rule that binds such a demand binds it on every
// product.
//
// reach() tells where a demand is within quota. overpromised() checks an edit of a quota.
//
// Units: milli-GPU. The rule `time` counts ms, the rules `minutes` and `budget` count GPU-minutes,
// and the rules `jobs` and `queued` count jobs.
// Errors: none; the leaf is in the tree (asserted).
// Threads: any; pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "accounting/limits/job_limits.h"
#include "accounting/tree.h"
#include "core/ids.h"
#include "core/quantity.h"

namespace subak {

// One job, as the limits on jobs and the budgets count it. The default counts as no job.
struct JobDemand {
  // The number of jobs: 1, or 0 if the limits on jobs do not apply.
  std::int64_t jobs = 0;
  // The time limit; 0: the job has none.
  DurationMs time_limit_ms = 0;
  // The time from a start to the planned end of the job. 0: no planned end is known.
  DurationMs planned_ms = 0;
  // The time at which the caller asks the rules.
  TimeMs now = 0;
  // True: the job is of a user of `leaf` who has no account yet.
  bool new_user = false;
  // True: periods of budgets may follow a time zone other than UTC (never_holds()).
  bool civil = false;
};

// The GPUs that a job of `leaf` wants. Each product is in the list once, and no amount is negative.
struct Demand {
  // The account of the job.
  AccountId leaf;
  std::span<const ProductDemand> amounts;
  JobDemand job = {};
  MilliGpu total() const;
};

// What the caller wants to know about a demand. Each question has its own rules of the list at the
// top of this file.
enum class Asking {
  // May the demand start now, in addition to current holds? Rules: hold, limit, borrow, jobs, time,
  // minutes, budget.
  kStart,
  // May the demand start now? Rules: those of kStart, but not hold. The walk of the queue uses this
  // value, because it already skips held accounts.
  kAmounts,
  // May the job be submitted? Rules: drain, and all rules that bind even if nothing else is held.
  kSubmit,
  // May a job be submitted that may replace an earlier job? Rules: those of kSubmit, but not drain.
  kReplace,
};

// The rules of the list at the top of this file.
enum class BindingKind {
  kHold,
  kDrain,
  kLimit,
  kBorrow,
  kLend,
  kPromise,
  kJobs,
  kQueued,
  kTime,
  kMinutes,
  kBudget
};

// One rule that binds a demand, with its figures.
struct Binding {
  // The rule that binds the demand.
  BindingKind kind = BindingKind::kLimit;
  // The account that has the rule. For lend: an account that does not lend its unused quota. For
  // promise: the account with the largest unused promise.
  AccountId subject;
  // The product of the rule. None: the rule counts all products.
  ProductId product;
  // The part of the demand that the rule counts.
  MilliGpu need = 0;
  // The part of `need` that the rule allows now; at least 0.
  MilliGpu have = 0;
  // The amount that already counts towards the rule. For borrow: the borrowed amount. For lend: the
  // idle GPUs.
  MilliGpu used = 0;
  // The most that the rule allows. For borrow: the most beyond quota. For lend: the amount that is
  // not lent.
  MilliGpu most = 0;
  // True: the rule binds the demand even if nothing else is held.
  bool never = false;
  // True: the rule binds the demand whatever its product. Unless of_job_alone(), the rule then also
  // binds every other demand of this size or a larger one below `counted`.
  bool any_product = false;
  // The account whose holdings the rule counts: `subject`, or the account of a user if the rule is
  // one for each user. None: the user has no account yet.
  AccountId counted = {};
  // True: the rule is one for each user of `subject`.
  bool per_user = false;
  // For the rules `minutes` and `budget`: when the rule will allow the demand, if no job starts or
  // ends until then. 0: other rules, and demands that the rule never allows.
  TimeMs allows_at = 0;
  // Only for the rule `budget`: the budget, and the end of the first period without room. The
  // pointer is valid until the account is edited. For Asking::kSubmit and kReplace, the end is 0.
  const Budget* budget = nullptr;
  TimeMs period_end_ms = 0;
  // True if the rule may allow other jobs of the same account and size.
  bool of_job_alone() const {
    return kind == BindingKind::kTime || kind == BindingKind::kPromise ||
           kind == BindingKind::kBudget || (kind == BindingKind::kMinutes && never);
  }
};

// The fields of one account that the rules read. The spans are valid for the time of the call.
// rules_of() makes the fields from an AccountNode. A caller without a tree (admission's View) fills
// in only the rules, so the account then counts as holding nothing.
struct Rules {
  // The account, for Binding::subject.
  AccountId subject;
  // Quota and limit by product. `quota` is the effective quota.
  std::span<const ProductDemand> quota, limit;
  // The most that the account may have above its quota, over all products. nullopt: unlimited.
  std::optional<MilliGpu> borrow;
  // The most that the account may have above its quota, for single products.
  std::span<const ProductDemand> borrow_of;
  // `held`: an operator holds the account. `draining`: the account drains.
  bool held = false, draining = false;
  // The GPUs that the account holds, by product.
  std::span<const ProductLevel> levels;
  // The sum of `levels`.
  MilliGpu alloc = 0;
  // The limits on jobs, and the sums that they count. nullptr: there are no such limits.
  const JobLimits* jobs = nullptr;
  JobSums sums = {};
  // As in Binding.
  AccountId counted = {};
  bool per_user = false;
  // The budgets, and their books in the same order. Without books, the account has spent nothing.
  std::span<const ExtraLimits::OfProduct> budgets = {};
  std::span<const BudgetBook> books = {};
};
// Returns views into the node, which are valid until the node changes.
Rules rules_of(const AccountNode& node);
// Returns the rules of `account` for each user, with what `user` holds. nullptr: a user who has no
// account yet and holds nothing. The account must have limits for each user (ExtraLimits). The
// views are valid until a node changes.
Rules user_rules_of(const AccountNode& account, const AccountNode* user);
// Calls fn(rules, counted) for all rules on the path of the demand, from its leaf to the root. The
// rules of an account come before its rules for each user. `counted` is the account that holds what
// the rules count; nullptr: nothing is held. The walk ends when fn returns true.
template <class F>
void each_rules(const AccountTree& tree, const Demand& demand, F&& fn) {
  const AccountNode& leaf = tree.node(demand.leaf);
  const bool of_user = leaf.spec.user || demand.job.new_user;
  const AccountNode* const user = leaf.spec.user ? &leaf : nullptr;
  for (AccountId id = demand.leaf; id; id = tree.node(id).parent) {
    const AccountNode& node = tree.node(id);
    if (fn(rules_of(node), &node)) return;
    if (of_user && node.limits.extra != nullptr && fn(user_rules_of(node, user), user)) return;
  }
}

// Returns the first rule of this account alone that binds `amounts`, in the order of the list at
// the top of this file; nullopt if no rule binds.
std::optional<Binding> first_binding(const Rules& rules, std::span<const ProductDemand> amounts,
                                     const JobDemand& job, Asking asking);
// Returns all rules that bind: the leaf's rules first, then those of its parent, and so on. Rules
// of one account are in the order of the list at the top of this file. For Asking::kSubmit and
// kReplace the result has only rules with `never`, and drains.
std::vector<Binding> bindings(const AccountTree& tree, const Demand& demand, Asking asking);
// Returns the first element of bindings() without computing the other elements. The function
// allocates no memory if no rule binds.
std::optional<Binding> first_binding(const AccountTree& tree, const Demand& demand, Asking asking);

// Checks the rule lend: unused quota that accounts do not lend stays idle
// (accounting/unlent_quota.h). Returns a binding if the demand would leave fewer GPUs idle.
// Example: 10 GPUs are idle, and ml does not lend 4 of its unused quota. Others may take 6, but ml
// may take all. `idle_of` returns the idle GPUs of a product; for kOfAny, of all products. If too
// few are idle already, because nodes were lost or a quota was raised, only a demand that increases
// the shortage gets a binding. O(depth) for each named product.
std::optional<Binding> unlent(const AccountTree& tree, const Demand& demand,
                              const std::function<MilliGpu(ProductId)>& idle_of);

// Returns the first account from `leaf` upwards that drains. None: new jobs are allowed.
AccountId draining(const AccountTree& tree, AccountId leaf);

// True if the account's own quota covers the account's GPUs plus the demand. uncovered() defines
// this by product (accounting/amounts.h). A demand without a product must fit into the quotas of
// all products together, and the account must not borrow any product already.
bool covers(const AccountNode& node, std::span<const ProductDemand> demand);
// Returns the reach of the demand: the highest account below which the demand, in addition to
// current holds, would be within quota at every account on its path. There are three cases:
//   - the root: the job is within quota everywhere
//   - another account: that account is beyond quota; the job comes first only among jobs below it
//   - none: the job would borrow at its own account
// Example: the quota of ml.vision covers a job of ml.vision, but the quota of ml does not. The
// reach is ml: the job comes first among the jobs below ml, but it borrows at ml.
//
// Each account on the path that has a quota must cover the demand (covers()). The first account
// without a quota (for example a user) relies on the account above it, if a quota is configured
// there. A quota that is only the sum of the children's quotas covers only children with a
// quota.
// A quota that names a product comes before the quotas of any product. The latter together cover
// at most the installed GPUs of the product minus all quotas that name it
// (accounting/named_quota.h). The reach of a demand beyond that is not the root. `installed` has
// the installed amount of each product of the demand for which quota_sums().promised_by_name()
// is not 0. A demand without a product passes this rule, because only its placement decides the
// product.
// The queue uses the same rule without quotas by name (queue/ready.h). The queue also calls
// covers().
AccountId reach(const AccountTree& tree, const Demand& demand,
                std::span<const ProductDemand> installed);

// Describes an account whose children have more quota than the account's own quota covers.
struct Overpromise {
  // The account whose quota would be exceeded.
  AccountId parent;
  // The children's quotas by name, as far as the account's own quotas of the same products do not
  // cover them, and the children's quotas of any product.
  MilliGpu beyond = 0;
  // The account's own quota of any product, which is less than `beyond`.
  MilliGpu any = 0;
};
// Checks an edit that gives the account of `path` this quota; empty: the sum of its children's
// quotas. Returns the first broken promise, at the account or at the nearest account above it
// with a configured quota. A promise is broken if the children's effective quotas exceed the own
// quota:
//     (sum over products of max(0, children's named - own named)) + children's any > own any.
// Example: ml has a quota of 8, and its children 5 and 4. `quota` has one amount for each product
// id. For a product that no account names yet, pass an id that no other product has. O(children).
std::optional<Overpromise> overpromised(const AccountTree& tree, std::string_view path,
                                        std::span<const ProductDemand> quota);

}  // namespace subak
