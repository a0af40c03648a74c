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
  for (const state::Pod& pod : job.pods) {
    if (pod.holds_slot())
      without.remove(job.leaf, s.fleet().product_of(pod.slot.node), pod.slot.milligpu);
  }
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

std::optional<Binding> stopped_without_own(const state::Claim& claim, WithoutHoldings without) {
  for (const auto& [product, amount] : claim.amounts) without.remove(claim.leaf, product, amount);
  return without.first_binding({claim.leaf, claim.amounts}, Asking::kStart);
}

// Returns the rule that would stop the claimant if no claim counted as held. O(depth).
std::optional<Binding> stopped_without_claims(const State& s, const state::Claim& claim) {
  for (AccountId id = claim.leaf; id; id = s.tree().node(id).parent) {
    const AccountNode& node = s.tree().node(id);
    std::vector<ProductLevel> levels(node.holdings.levels().begin(), node.holdings.levels().end());
    for (ProductLevel& level : levels) level.held -= amount_of(node.claimed, level.product);
    Rules rules = rules_of(node);
    rules.levels = levels;
    rules.alloc -= sum_of(node.claimed);
    if (auto binding = first_binding(rules, claim.amounts, Asking::kStart)) return binding;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Binding> stopped_once_gone(const state::Claim& claim, const WithoutHoldings& gone) {
  return stopped_without_own(claim, WithoutHoldings(&gone));
}

std::optional<Binding> stopped_now(const State& s, const state::Claim& claim) {
  const auto there = [&](const state::Claim::Victim& victim) {
    return state::still_there(s.jobs(), victim) != nullptr;
  };
  if (std::any_of(claim.victims.begin(), claim.victims.end(), there))
    return stopped_without_own(claim, WithoutHoldings(s.tree()));
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
    for (const auto& [product, amount] : node.claimed) levels.push_back({product, amount, 0});
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
