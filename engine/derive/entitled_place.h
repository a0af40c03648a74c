// Checks a placement together with the rules of the job's accounts ("entitled place"). A pass and
// the reasons use the same check.
// Threads: one at a time; pure functions, except for the search's cache, which decides nothing.
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
  // True: the only placement is on nodes where the cluster's scheduler refused the job.
  bool refused = false;
};

// What a job without a fixed product does to quotas if it starts on some product. The best value is
// first.
enum class Borrowing {
  kNone,        // the job's quota covers it on this product
  kUnpromised,  // it borrows, but leaves idle all that quotas by name promise and do not use
  kPromised,    // it borrows GPUs that another account owns by name
};

// Finds the best placement for the job in the present fleet, without nodes that are reserved for
// other jobs. If a rule of the job's accounts refuses the product of the best placement, the
// function tries the next best product. If the job may use several products, and a quota names some
// of them, it takes a product with the least Borrowing on which it fits (docs/design/0083). It
// tries last the nodes on which the cluster's scheduler refused this job, or other jobs with the
// same pods (docs/design/0072).
EntitledPlace find_entitled(const State& s, Search& search, const ReservedNodes& reserved,
                            const state::Job& job);
// Returns the rule that stops the queued job on any placement. The rules are checked for the least
// that the job can cost. nullopt: no rule stops it.
std::optional<Binding> stopped(const State& s, const state::Job& job, Asking asking);
// Returns the first rule that stops jobs of `leaf` from starting now with these GPUs by product. It
// is a rule of the accounts on the path of `leaf` (kStart or kAmounts), or the `lend` of other
// accounts.
std::optional<Binding> first_rule(const State& s, AccountId leaf,
                                  std::span<const ProductDemand> amounts, Asking asking);
// The same for this job. A job that cannot be preempted may also not borrow what quotas promise,
// if the policy reclaims (accounting/quota/promises.h). That rule costs O(holds).
std::optional<Binding> first_rule(const State& s, const state::Job& job,
                                  std::span<const ProductDemand> amounts, Asking asking);
// Returns the first promise that the job would break if it got these GPUs: it cannot be preempted,
// and would borrow what a quota promises. Within the quotas of its accounts it breaks none. nullopt
// if the policy does not reclaim. O(holds).
std::optional<Binding> broken_promise(const State& s, const state::Job& job,
                                      std::span<const ProductDemand> amounts);
// True if the queued job would be within quota if it started now, at the least that it can cost.
bool is_within_quota(const State& s, const state::Job& job);
// Returns the rule that stops the queued job on these nodes; nullopt if no rule does, or if the
// nodes have several products.
std::optional<Binding> stopped_on(const State& s, const state::Job& job,
                                  const std::vector<NodeId>& nodes, Asking asking);
// Returns how far jobs of `leaf` would be entitled to these GPUs of a placement, by product:
// reach() of accounting/quota/entitlement.h.
AccountId reach_of(const State& s, AccountId leaf, std::span<const ProductDemand> amounts);
// Does the same for the least that the queued job can cost.
AccountId reach_of(const State& s, const state::Job& job);
// True if reach_of() is the root: the quotas of `leaf` and of all accounts above it cover the GPUs.
bool is_within_quota(const State& s, AccountId leaf, std::span<const ProductDemand> amounts);
// Returns the GPUs of the placement, by product.
std::vector<ProductDemand> amounts_of(const State& s, const Placement& placement);

}  // namespace subak::derive
