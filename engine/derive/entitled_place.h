// Finds placements that the rules of the job's accounts allow ("entitled places"). Such rules are
// limits, the borrow and lend of quotas, and budgets; a Binding is a rule that stops a job, with
// its figures. A pass uses these functions to start jobs, and explanations use them to say why a
// job waits.
// Threads: one at a time; pure functions, except for the search's cache, which does not change
// results.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "accounting/quota/entitlement.h"
#include "engine/state/state.h"
#include "placement/fleet/reserved_nodes.h"
#include "placement/search/search.h"

namespace subak::derive {

// The result of find_entitled().
struct EntitledPlace {
  std::optional<Placement> placement;
  std::optional<Binding> blocked_by_rule;  // the first rule that refused a placement that was found
  // True: on some product, broken_promise() refused the job, because the job cannot be preempted.
  // Preemptible jobs of the same account and shape may start there.
  bool breaks_promise = false;
  // True: the only placement is on nodes where the cluster's scheduler refused the job.
  bool refused = false;
};

// Says what a job that accepts several products borrows if it starts on one of them. The best value
// is first.
enum class Borrowing {
  kNone,        // the job's quota covers it on this product
  kUnpromised,  // the job borrows, but enough GPUs stay idle for all unused named quotas
  kPromised,    // the job borrows GPUs that the named quota of another account covers
};

// Finds the best placement for the job in the present fleet, without nodes that are reserved for
// other jobs. If a rule of the job's accounts refuses the product of the best placement, the
// function tries the next best product. If the job may use several products, and a quota names some
// of them, the function prefers the product with the least Borrowing on which the job fits
// (docs/design/0083). The function leaves out nodes that are backed off because the scheduler
// refused this job. It tries last the other nodes on which the scheduler refused this job, or other
// jobs with the same pods (docs/design/0072).
EntitledPlace find_entitled(const State& s, Search& search, const ReservedNodes& reserved,
                            const state::Job& job);
// Returns a rule that stops the queued job on every placement: a rule that refuses even the least
// that the job can cost. nullopt: there is no such rule.
std::optional<Binding> stopped(const State& s, const state::Job& job, Asking asking);
// Returns the first rule that stops the demand from starting now. The rule belongs to an account on
// the path of the demand's leaf, or it is the `lend` of another account. `asking` says which rules
// count (accounting/quota/entitlement.h).
std::optional<Binding> first_rule(const State& s, const Demand& demand, Asking asking);
// Returns the first rule that stops this job from starting now with these GPUs. If the policy
// reclaims, a further rule counts: a job that cannot be preempted may not borrow GPUs that quotas
// guarantee (accounting/quota/promises.h). The check of this rule costs O(holds).
std::optional<Binding> first_rule(const State& s, const state::Job& job,
                                  std::span<const ProductDemand> amounts, Asking asking);
// Returns the first limit on waiting jobs that is reached on the path of `leaf`, the account of a
// new job. `new_user`: the job's user is below `leaf`, but is not in the tree yet. O(depth).
std::optional<Binding> queue_limit(const State& s, AccountId leaf, bool new_user = false);
// True if all accounts on the path accept a further job of `leaf`: none drains, and no limit on
// waiting jobs is reached. O(depth).
bool accepts_job(const State& s, AccountId leaf);
// Returns the first promise of a quota, its guarantee of GPUs, that the job would break with these
// GPUs. Only a job that cannot be preempted breaks a promise, if it would borrow GPUs that a quota
// guarantees. A job within the quotas of its accounts breaks no promise. Returns nullopt if the job
// breaks no promise, if the policy does not reclaim, or if the product of some amount is not known
// yet. O(holds).
std::optional<Binding> broken_promise(const State& s, const state::Job& job,
                                      std::span<const ProductDemand> amounts);
// True if the queued job would be within quota if it started now at its least cost.
bool is_within_quota(const State& s, const state::Job& job);
// Returns the rule that stops the queued job on these nodes; nullopt if no rule does, or if the
// nodes have several products.
std::optional<Binding> stopped_on(const State& s, const state::Job& job,
                                  const std::vector<NodeId>& nodes, Asking asking);
// Returns the reach of jobs of `leaf` for these GPUs of a placement, given by product. The reach is
// the highest account below which the jobs are within the quota of each account on their path
// (reach() of accounting/quota/entitlement.h).
AccountId reach_of(const State& s, AccountId leaf, std::span<const ProductDemand> amounts);
// Returns the reach of the queued job at its least cost.
AccountId reach_of(const State& s, const state::Job& job);
// True if reach_of() is the root: the quotas of `leaf` and of all accounts above it cover the GPUs.
bool is_within_quota(const State& s, AccountId leaf, std::span<const ProductDemand> amounts);
// Returns the GPUs of the placement, by product.
std::vector<ProductDemand> amounts_of(const State& s, const Placement& placement);

}  // namespace subak::derive
