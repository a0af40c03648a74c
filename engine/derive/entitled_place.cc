#include "engine/derive/entitled_place.h"

#include <algorithm>

#include "core/must.h"
#include "engine/derive/preemption/preemptible.h"
#include "engine/state/planned_end.h"

namespace subak::derive {
namespace {

ProductDemand least_demand(const State& s, const state::Job& job) {
  return {state::only_product(s.fleet(), s.fleet().request(job.shape)),
          state::least_milligpu(s.fleet(), job)};
}

}  // namespace

std::optional<Binding> first_rule(const State& s, const Demand& demand, Asking asking) {
  if (auto binding = first_binding(s.tree(), demand, asking)) return binding;
  if (s.tree().quota_sums().unlent().empty()) return std::nullopt;
  return unlent(s.tree(), demand,
                [&](ProductId product) { return totals_of(s.fleet(), product).idle; });
}

std::optional<Binding> queue_limit(const State& s, AccountId leaf, bool new_user) {
  if (s.tree().quota_sums().extra_limits().empty()) return std::nullopt;
  Demand demand{leaf, {}};
  demand.job.new_user = new_user;
  std::optional<Binding> first;
  each_rules(s.tree(), demand, [&](const Rules& rules, const AccountNode* counted) {
    if (rules.jobs == nullptr || !rules.jobs->queued) return false;
    const std::int64_t most = *rules.jobs->queued;
    const std::size_t used =
        counted != nullptr ? s.jobs().waiting().accepted(counted->id) : std::size_t{0};
    if (static_cast<std::int64_t>(used) < most) return false;
    first = Binding{BindingKind::kQueued, rules.subject, kOfAny, 1, 0};
    first->used = static_cast<std::int64_t>(used);
    first->most = most;
    first->per_user = rules.per_user;
    first->counted = rules.counted;
    return true;
  });
  return first;
}

bool accepts_job(const State& s, AccountId leaf) {
  return !draining(s.tree(), leaf) && !queue_limit(s, leaf);
}

std::optional<Binding> broken_promise(const State& s, const state::Job& job,
                                      std::span<const ProductDemand> amounts) {
  if (!reclaims(s) || !has_quotas(s.tree())) return std::nullopt;
  if (!is_fixed(s, job) || is_within_quota(s, job.leaf, amounts)) return std::nullopt;
  const bool is_typed = std::all_of(amounts.begin(), amounts.end(),
                                    [](const ProductDemand& demand) { return bool(demand.first); });
  if (!is_typed) return std::nullopt;  // its placement decides
  return fixed_holdings(s).first_broken({job.leaf, amounts}, [&](ProductId product) {
    return totals_of(s.fleet(), product).installed;
  });
}

std::optional<Binding> first_rule(const State& s, const state::Job& job,
                                  std::span<const ProductDemand> amounts, Asking asking) {
  must(job.leaf != kUnassigned, "a queued job has an account");
  const Demand demand{job.leaf, amounts, state::job_demand(s, job)};
  if (auto binding = first_rule(s, demand, asking)) return binding;
  return broken_promise(s, job, amounts);
}

std::optional<Binding> stopped(const State& s, const state::Job& job, Asking asking) {
  must(job.leaf != kUnassigned, "a queued job has an account");
  const ProductDemand least = least_demand(s, job);
  return first_rule(s, job, {&least, 1}, asking);
}

std::optional<Binding> stopped_on(const State& s, const state::Job& job,
                                  const std::vector<NodeId>& nodes, Asking asking) {
  must(!nodes.empty() && job.leaf != kUnassigned, "a queued job with nodes has an account");
  const ProductId product = s.fleet().product_of(nodes.front());
  const bool one = std::all_of(nodes.begin(), nodes.end(),
                               [&](NodeId node) { return s.fleet().product_of(node) == product; });
  if (!one) return std::nullopt;
  const ProductDemand least{product, state::least_milligpu(s.fleet(), job)};
  return first_rule(s, job, {&least, 1}, asking);
}

AccountId reach_of(const State& s, const state::Job& job) {
  must(bool(job.shape), "a queued job has one request");
  const ProductDemand least = least_demand(s, job);
  return reach_of(s, job.leaf, {&least, 1});
}

bool is_within_quota(const State& s, const state::Job& job) {
  return reach_of(s, job) == kRootAccount;
}

AccountId reach_of(const State& s, AccountId leaf, std::span<const ProductDemand> amounts) {
  std::vector<ProductDemand> installed;
  for (const auto& [product, amount] : amounts) {
    if (s.tree().quota_sums().promised_by_name(product) == 0) continue;
    installed.emplace_back(product, totals_of(s.fleet(), product).installed);
  }
  return reach(s.tree(), {leaf, amounts}, installed);
}

bool is_within_quota(const State& s, AccountId leaf, std::span<const ProductDemand> amounts) {
  return reach_of(s, leaf, amounts) == kRootAccount;
}

std::vector<ProductDemand> amounts_of(const State& s, const Placement& placement) {
  return state::amounts_of(s.fleet(), placement.slots);
}

namespace {

// True if the job may choose among products, and a quota names some of them.
bool chooses_product(const State& s, const state::Job& job) {
  return s.tree().quota_sums().names_products() &&
         !state::only_product(s.fleet(), s.fleet().request(job.shape));
}

bool leaves_promised(const State& s, std::span<const ProductDemand> amounts) {
  return std::all_of(amounts.begin(), amounts.end(), [&](const ProductDemand& more) {
    const MilliGpu unused = s.tree().quota_sums().unused_by_name(more.first);
    return unused == 0 || totals_of(s.fleet(), more.first).idle - more.second >= unused;
  });
}

bool borrows_at_most(const State& s, const state::Job& job, std::span<const ProductDemand> amounts,
                     Borrowing most) {
  switch (most) {
    case Borrowing::kNone:
      return is_within_quota(s, job.leaf, amounts);
    case Borrowing::kUnpromised:
      return leaves_promised(s, amounts);
    case Borrowing::kPromised:
      break;
  }
  return true;
}

// Tries the next best product as long as a rule refuses the product of the placement, or as long as
// the job borrows too much on it. `found` has the best placement over all products.
EntitledPlace find_borrowing(const State& s, Search& search, const FleetView& fleet_view,
                             const state::Job& job, EntitledPlace found, Borrowing most) {
  std::vector<ProductId> blocked_products;
  while (found.placement) {
    const std::vector<ProductDemand> amounts = amounts_of(s, *found.placement);
    const auto binding = first_rule(s, job, amounts, Asking::kAmounts);
    if (!binding && borrows_at_most(s, job, amounts, most)) {
      return {std::move(found.placement), std::nullopt};
    }
    found.placement.reset();
    if (binding && !found.blocked_by_rule) found.blocked_by_rule = binding;
    if (binding && binding->kind == BindingKind::kPromise) found.breaks_promise = true;
    if (binding && binding->any_product) return found;
    for (const auto& [product, amount] : amounts) {
      if (!binding || !binding->product || binding->product == product) {
        blocked_products.push_back(product);
      }
    }
    must(!blocked_products.empty(), "a rule of one product leaves others to try");
    found.placement = search.find(fleet_view, job.shape, job.id, blocked_products);
  }
  return found;
}

EntitledPlace find_in(const State& s, Search& search, const FleetView& fleet_view,
                      const state::Job& job) {
  EntitledPlace best;
  best.placement = search.find(fleet_view, job.shape, job.id);
  if (best.placement && chooses_product(s, job)) {
    for (const Borrowing most : {Borrowing::kNone, Borrowing::kUnpromised}) {
      EntitledPlace found = find_borrowing(s, search, fleet_view, job, best, most);
      if (found.placement) return found;
    }
  }
  return find_borrowing(s, search, fleet_view, job, std::move(best), Borrowing::kPromised);
}

// Nodes that the job may not use before a certain time, and nodes that are tried last.
struct RefusedNodes {
  std::vector<NodeId> never, last;
};

RefusedNodes refused_nodes(const State& s, const state::Job& job) {
  RefusedNodes out;
  if (!s.node_backoff().any_of_jobs()) return out;
  for (const state::RefusedNode& refused : s.node_backoff().nodes_of(job.id)) {
    (refused.backed_off ? out.never : out.last).push_back(refused.node);
  }
  for (const PodGroup& group : s.fleet().request(job.shape).groups) {
    for (const NodeId node : s.node_backoff().refused_alike(group.shape)) {
      if (s.fleet().cluster_of(node) == job.id.cluster()) out.last.push_back(node);
    }
  }
  return out;
}

}  // namespace

EntitledPlace find_entitled(const State& s, Search& search, const ReservedNodes& reserved,
                            const state::Job& job) {
  must(job.shape && job.leaf != kUnassigned, "a job that looks for a placement is complete");
  const RefusedNodes refused = refused_nodes(s, job);
  if (refused.never.empty() && refused.last.empty()) {
    return find_in(s, search, FleetView(s.fleet(), reserved), job);
  }
  const JobId nobody(job.id.cluster(), 0);
  ReservedNodes without = reserved;
  without.reserve(refused.never, nobody);
  if (!refused.last.empty()) {
    ReservedNodes others = without;
    others.reserve(refused.last, nobody);
    EntitledPlace found = find_in(s, search, FleetView(s.fleet(), others), job);
    if (found.placement) return found;
  }
  EntitledPlace found = find_in(s, search, FleetView(s.fleet(), without), job);
  if (!found.placement && !refused.never.empty()) {
    const EntitledPlace any = find_in(s, search, FleetView(s.fleet(), reserved), job);
    found.refused = any.placement || (any.blocked_by_rule && !found.blocked_by_rule);
    // The job would have a placement on nodes that refused it, so the rule is not the obstacle.
    if (any.placement) found.blocked_by_rule.reset();
  }
  return found;
}

}  // namespace subak::derive
