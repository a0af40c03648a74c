#include "engine/derive/claims.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "accounting/quota/without.h"
#include "core/limits.h"
#include "core/must.h"
#include "engine/derive/entitled_place.h"
#include "engine/derive/preemption/preemptible.h"
#include "engine/derive/reservations.h"
#include "engine/state/planned_end.h"
#include "placement/fleet/queries.h"

namespace subak::derive {

MilliGpu holds_of(const State& s, const state::Job& job, ProductId product) {
  MilliGpu sum = 0;
  for (const state::Pod& pod : job.pods) {
    if (pod.holds_slot() && s.fleet().product_of(pod.slot.node) == product)
      sum += pod.slot.milligpu;
  }
  return sum;
}

void remove_job(const State& s, const state::Job& job, WithoutHoldings& without) {
  if (job.leaf == kUnassigned) return;
  JobSums sums;
  const TimeMs end_ms = job.run().end_ms;
  for (const state::Pod& pod : job.pods) {
    if (!pod.holds_slot()) continue;
    without.remove(job.leaf, s.fleet().product_of(pod.slot.node), pod.slot.milligpu);
    sums.jobs = pod.slot.milligpu > 0 ? 1 : sums.jobs;
    sums.rate += pod.slot.milligpu;
  }
  if (end_ms == 0 || end_ms >= state::kNever) sums.rate = 0;
  sums.ends = GpuTime::of(sums.rate, end_ms);
  without.remove_job(job.leaf, sums);
}

WithoutHoldings without_victims(const State& s) {
  WithoutHoldings without(s.tree());
  for (const state::Claim& claim : s.claims().all()) {
    for (const state::Claim::Victim& victim : claim.victims) {
      const state::Job* const job = state::still_there(s.jobs(), victim);
      if (job != nullptr) remove_job(s, *job, without);
    }
  }
  return without;
}

namespace {

Demand demand_of(const State& s, const state::Claim& claim) {
  return {claim.leaf, claim.amounts, state::job_demand(s, s.jobs().at(claim.job))};
}

std::optional<Binding> stopped_without_own(const State& s, const state::Claim& claim,
                                           WithoutHoldings without) {
  for (const auto& [product, amount] : claim.amounts) without.remove(claim.leaf, product, amount);
  without.remove_job(claim.leaf, {.jobs = 1, .rate = 0, .ends = {}});
  return without.first_binding(demand_of(s, claim), Asking::kStart);
}

// Returns the rule that would stop the claimant if no claim counted as held. O(depth).
std::optional<Binding> stopped_without_claims(const State& s, const state::Claim& claim) {
  std::optional<Binding> first;
  const Demand demand = demand_of(s, claim);
  each_rules(s.tree(), demand, [&](Rules rules, const AccountNode* counted) {
    must(counted != nullptr, "a claimant has an account");
    std::vector<ProductLevel> levels(rules.levels.begin(), rules.levels.end());
    for (ProductLevel& level : levels)
      level.held -= amount_of(counted->jobs.claimed, level.product);
    rules.levels = levels;
    rules.alloc -= sum_of(counted->jobs.claimed);
    rules.sums.jobs -= counted->jobs.claiming;
    first = first_binding(rules, demand.amounts, demand.job, Asking::kStart);
    return first.has_value();
  });
  return first;
}

}  // namespace

std::optional<Binding> stopped_once_gone(const State& s, const state::Claim& claim,
                                         const WithoutHoldings& gone) {
  return stopped_without_own(s, claim, WithoutHoldings(&gone));
}

std::optional<Binding> stopped_now(const State& s, const state::Claim& claim) {
  const auto there = [&](const state::Claim::Victim& victim) {
    return state::still_there(s.jobs(), victim) != nullptr;
  };
  if (std::any_of(claim.victims.begin(), claim.victims.end(), there))
    return stopped_without_own(s, claim, WithoutHoldings(s.tree()));
  return stopped_without_claims(s, claim);
}

namespace {

// Removes what the account's jobs claim by class.
void remove_by_class(const State& s, AccountId account, std::vector<ProductLevel>& levels) {
  for (const JobId claimant : s.claims().by_class()) {
    const state::Claim& claim = *s.claims().of(claimant);
    if (!is_below(s.tree(), claim.leaf, account)) continue;
    for (ProductLevel& level : levels) level.held -= amount_of(claim.amounts, level.product);
  }
}

}  // namespace

bool is_entitled(const State& s, const state::Claim& claim) {
  if (claim.right == ClaimRight::kClass) return preempts_by_class(s, s.jobs().at(claim.job));
  for (AccountId id = claim.leaf; id; id = s.tree().node(id).parent) {
    const AccountNode& node = s.tree().node(id);
    if (node.quota_total == 0) continue;
    std::vector<ProductLevel> levels;
    for (const auto& [product, amount] : node.jobs.claimed) levels.push_back({product, amount, 0});
    remove_by_class(s, id, levels);
    return uncovered(node.quota, levels, {}) == 0;
  }
  return false;
}

bool may_ask(const State& s, const state::Claim::Victim& victim, TimeMs now) {
  const state::Job* const job = state::still_there(s.jobs(), victim);
  return job != nullptr && victim.ask_ms <= now && job->state != JobState::kEnding &&
         can_be_preempted(s, *job) && !job->runs_on();
}

bool any_asked(const State& s, const state::Claim& claim) {
  return std::any_of(claim.victims.begin(), claim.victims.end(),
                     [&](const auto& victim) { return !may_ask(s, victim, state::kNever); });
}

std::optional<TimeMs> next_ask(const State& s) {
  std::optional<TimeMs> next;
  for (const state::Claim& claim : s.claims().all()) {
    if (!s.clusters().at(claim.job.cluster()).synced) continue;
    for (const state::Claim::Victim& victim : claim.victims) {
      if (!may_ask(s, victim, state::kNever)) continue;
      next = std::min(next.value_or(victim.ask_ms), victim.ask_ms);
    }
  }
  return next;
}

}  // namespace subak::derive
