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

std::optional<Binding> stopped_on_claim(const State& s, const state::Claim& claim,
                                        Victims victims) {
  WithoutHoldings without(s.tree());
  for (const auto& [product, amount] : claim.amounts) without.remove(claim.leaf, product, amount);
  if (victims == Victims::kGone) {
    for (const state::Claim::Victim& victim : claim.victims) {
      const state::Job* const job = state::still_there(s.jobs(), victim);
      if (job != nullptr) remove_job(s, *job, without);
    }
  }
  return without.first_binding({claim.leaf, claim.amounts}, Asking::kStart);
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
