#include "engine/derive/claim_search/what_if.h"

#include "accounting/quota/entitlement.h"
#include "accounting/quota/without.h"
#include "engine/derive/claims.h"
#include "engine/derive/entitled_place.h"
#include "engine/state/jobs/job_request.h"
#include "engine/state/planned_end.h"
#include "placement/fleet/fleet_view.h"

namespace subak::derive {
namespace {

void add_allocations(const state::Job& job, std::vector<Allocation>& out) {
  for (const state::Pod& pod : job.pods) {
    if (pod.holds_slot()) out.push_back({pod.shape, pod.shape_rank, pod.slot, job.id});
  }
}

}  // namespace

WhatIf::WhatIf(const State& s, Search& search, const state::Job& job, const Candidates& candidates,
               const ReservedNodes& firm)
    : s_(s), search_(search), job_(job), candidates_(candidates), firm_(&firm) {
  for (ProductId::rep p = 1; p <= s.fleet().products().size(); ++p) {
    if (ProductId(p) != candidates.product()) without_.emplace_back(p);
  }
  need_ = state::least_milligpu(s.fleet(), job);
  free_ = candidates.free();
  for (const state::Job* const ends : candidates.ending()) {
    free_ += holds_of(s, *ends, candidates.product());
  }
  if (!s.node_backoff().any_of_jobs()) return;
  for (const state::RefusedNode& refused : s.node_backoff().nodes_of(job.id)) {
    if (!refused.backed_off) continue;
    if (!and_refused_) and_refused_ = firm;
    and_refused_->reserve({&refused.node, 1}, JobId(job.id.cluster(), 0));
  }
  if (and_refused_) firm_ = &*and_refused_;
}

bool WhatIf::may_fit(const std::vector<Giver>& givers) const {
  MilliGpu most = free_;
  for (const Giver& giver : givers) most += giver.milligpu;
  return most >= need_;
}

std::optional<Placement> WhatIf::find(const std::vector<Giver>& givers) {
  if (!may_fit(givers)) return std::nullopt;
  std::vector<Allocation> allocations;
  // Other claims count as held, so their victims count as gone.
  WithoutHoldings left(&candidates_.left());
  for (const state::Job* const job : candidates_.ending()) add_allocations(*job, allocations);
  for (const Giver& giver : givers) {
    add_allocations(*giver.job, allocations);
    remove_job(s_, *giver.job, left);
  }
  const FleetView now(s_.fleet(), *firm_);
  const auto then = now.without(allocations);
  if (!then.ok()) return std::nullopt;
  auto placement = search_.find(*then, job_.shape, job_.id, without_);
  if (!placement) return std::nullopt;
  const std::vector<ProductDemand> amounts = amounts_of(s_, *placement);
  const Demand demand{job_.leaf, amounts, state::job_demand(s_, job_)};
  if (left.first_binding(demand, Asking::kAmounts)) return std::nullopt;
  const auto unlent_rule = unlent(s_.tree(), demand, [&](ProductId product) {
    MilliGpu idle = totals_of(s_.fleet(), product).idle;
    for (const Allocation& a : allocations) {
      if (!product || s_.fleet().product_of(a.slot.node) == product) idle += a.slot.milligpu;
    }
    return idle;
  });
  if (unlent_rule) return std::nullopt;
  return placement;
}

}  // namespace subak::derive
