#include "engine/decide/claims.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/must.h"
#include "engine/decide/decide.h"
#include "engine/derive/claim_search/claim_search.h"
#include "engine/derive/claims.h"
#include "engine/derive/entitled_place.h"
#include "engine/derive/preemption/preemptible.h"
#include "engine/derive/reservations.h"
#include "engine/state/planned_end.h"
#include "model/bounds/pass_limits.h"
#include "placement/fleet/queries.h"
#include "queue/ready.h"

namespace subak::decide {
namespace {

void end_claim(Decision& d, JobId job, ClaimCause cause) {
  must(cause != ClaimCause::kMade, "a claim that ends has a cause");
  fact::Claimed ended;
  ended.job = job;
  ended.cause = cause;
  d.emit(std::move(ended));
  must(d.s.claims().of(job) == nullptr, "a claim that ended is gone");
}

// True if a victim was asked to end and does not (derive::stays), or can no longer be asked.
bool some_victim_stays(const Decision& d, const state::Claim& claim) {
  return std::any_of(claim.victims.begin(), claim.victims.end(), [&](const auto& victim) {
    const state::Job* const job = state::still_there(d.s.jobs(), victim);
    if (job == nullptr) return false;
    if (job->state != JobState::kEnding) return !derive::can_be_preempted(d.s, *job);
    return derive::stays(*job);
  });
}

// Returns why the claim is no longer valid; nullopt if it is valid. `gone`: the holdings without
// the victims of all claims.
std::optional<ClaimCause> why_over(const Decision& d, const state::Claim& claim,
                                   const WithoutHoldings& gone) {
  const bool by_class = claim.right == ClaimRight::kClass;
  if (by_class ? !derive::some_class_preempts(d.s) : !derive::reclaims(d.s))
    return ClaimCause::kPolicy;
  if (!derive::is_entitled(d.s, claim) || derive::stopped_once_gone(d.s, claim, gone))
    return ClaimCause::kAccount;
  const state::Job& job = d.s.jobs().at(claim.job);
  if (claim_state(d.s.fleet(), claim.job, claim.nodes) == ClaimState::kLost ||
      !derive::gone_before_drains(d.s, job, claim.nodes, d.s.now()))
    return ClaimCause::kPlace;
  if (some_victim_stays(d, claim)) return ClaimCause::kStays;
  return std::nullopt;
}

bool is_synced(const Decision& d, JobId job) { return d.s.clusters().at(job.cluster()).synced; }

// Asks a job to end for a claim. The job then waits again under the same id.
void preempt(Decision& d, JobId id) {
  const state::Job& job = d.s.jobs().at(id);
  must(derive::can_be_preempted(d.s, job), "only a job whose pods are recreated is preempted");
  if (job.state == JobState::kStarting) give_up(d, id, Cause::kPreempted);
  if (job.in_attempt() && job.state != JobState::kEnding) {
    ask_stop(d, job, Cause::kPreempted, {}, d.s.now() + derive::time_to_end(d.s, job));
  }
  must(!job.in_attempt() || job.state == JobState::kEnding, "a victim ends");
}

}  // namespace

void end_claims(Decision& d) {
  std::optional<WithoutHoldings> gone;
  for (const JobId claimant : d.s.claims().claimants()) {
    const state::Claim* const claim = d.s.claims().of(claimant);
    if (claim == nullptr || !is_synced(d, claimant)) continue;
    if (!gone) gone.emplace(derive::without_victims(d.s));
    if (const auto cause = why_over(d, *claim, *gone)) {
      end_claim(d, claimant, *cause);
      gone.reset();  // the tree has changed
    }
  }
}

void end_claims_on(Decision& d, NodeId node) {
  for (const JobId claimant : d.s.claims().claimants()) {
    const state::Claim* const claim = d.s.claims().of(claimant);
    if (claim != nullptr && std::binary_search(claim->nodes.begin(), claim->nodes.end(), node))
      end_claim(d, claimant, ClaimCause::kPlace);
  }
}

void ask_victims(Decision& d) {
  for (const JobId claimant : d.s.claims().claimants()) {
    const state::Claim* const claim = d.s.claims().of(claimant);
    if (claim == nullptr || !is_synced(d, claimant)) continue;
    std::vector<JobId> asked;
    for (const state::Claim::Victim& victim : claim->victims) {
      if (derive::may_ask(d.s, victim, d.s.now())) asked.push_back(victim.job);
    }
    for (const JobId victim : asked) preempt(d, victim);
  }
}

namespace {

// Blocks jobs below the account that have no reach (derive::reach_of()), so that the walk does not
// visit each of them. `covered`: a quota above covers jobs of accounts without one. Returns true if
// some account below has a quota. O(accounts with quota and their children).
bool block_without_reach(const AccountTree& tree, AccountId id, bool covered,
                         ReadyQueue::Pass& walk) {
  bool any = false;
  for (const AccountId child : tree.node(id).children) {
    const AccountNode& node = tree.node(child);
    if (node.quota_total == 0) {
      if (!covered) walk.block_account(child, 1);
      continue;
    }
    any = true;
    const bool own = !node.spec.quota.empty();
    if (block_without_reach(tree, child, own, walk) || !own) continue;
    walk.block_account(child, std::max<MilliGpu>(0, node.quota_total - node.alloc()) + 1);
  }
  return any;
}

// True if a job of `leaf` that is within quota up to `reach` could claim from jobs of `other`,
// whatever these jobs take at the accounts above both.
bool may_claim_from(const AccountTree& tree, AccountId leaf, AccountId reach, AccountId other) {
  if (!reach) return false;
  AccountId below;  // on the way up from `leaf`: the last account that is not above `other`
  AccountId common = leaf;
  while (!is_below(tree, other, common)) {
    below = common;
    common = tree.node(common).parent;
  }
  return below && tree.node(below).quota_total > 0 && is_below(tree, common, reach);
}

}  // namespace

std::optional<Placeable> entitled_before(Decision& d, const state::Job& borrower,
                                         const PassMemory& memory,
                                         derive::ReservedUntil& reserved_until, Work& work) {
  if (!derive::reclaims(d.s) || !has_quotas(d.s.tree())) return std::nullopt;
  const ReadyQueue& ready = d.s.jobs().ready();
  const TargetShareRule rule = target_share_rule(d.s.policy());
  ReadyQueue::Pass walk(ready, d.s.tree(), d.s.policy().order, rule, d.s.allocations().tick(),
                        d.s.now());
  for (const ShapeId shape : ready.waiting_shapes()) {
    if (is_blocked(d, memory.blocked, shape)) walk.block_shape(shape);
  }
  block_without_reach(d.s.tree(), kRootAccount, false, walk);
  while (const auto next = walk.next()) {
    const state::Job& job = d.s.jobs().at(*next);
    const bool may =
        may_claim_from(d.s.tree(), job.leaf, derive::reach_of(d.s, job), borrower.leaf) &&
        d.s.claims().of(*next) == nullptr && is_synced(d, *next) &&
        !derive::stopped(d.s, job, Asking::kAmounts);
    if (may && !work.enough()) {
      ++work.checks;
      auto found =
          derive::find_entitled(d.s, d.search, reserved_until.from(state::sure_end(d.s, job)), job);
      if (found.placement &&
          may_claim_from(d.s.tree(), job.leaf,
                         derive::reach_of(d.s, job.leaf, derive::amounts_of(d.s, *found.placement)),
                         borrower.leaf)) {
        return Placeable{*next, *std::move(found.placement)};
      }
    }
    walk.block_line(*next);
  }
  return std::nullopt;
}

bool some_may_claim(const Decision& d) {
  return (derive::reclaims(d.s) && has_quotas(d.s.tree())) || derive::some_class_preempts(d.s);
}

bool make_claims(Decision& d, PassMemory& memory, Claimants which) {
  const bool by_quota = derive::reclaims(d.s) && has_quotas(d.s.tree());
  const bool by_class = derive::some_class_preempts(d.s);
  if (!some_may_claim(d)) return false;
  const ReadyQueue& ready = d.s.jobs().ready();
  if (ready.size() == 0) return false;
  const TargetShareRule rule = target_share_rule(d.s.policy());
  ReadyQueue::Pass walk(ready, d.s.tree(), d.s.policy().order, rule, d.s.allocations().tick(),
                        d.s.now());
  if (!by_class) block_without_reach(d.s.tree(), kRootAccount, false, walk);
  derive::ClaimSearch search(d.s, d.search);
  while (const auto next = walk.next()) {
    const state::Job& job = d.s.jobs().at(*next);
    if (d.s.claims().of(*next) != nullptr || memory.claimed.contains(*next)) {
      walk.block_job(*next);
      continue;
    }
    const bool may =
        (by_quota && derive::reach_of(d.s, job)) || derive::preempts_by_class(d.s, job);
    if (!may || !is_synced(d, *next)) {
      walk.block_line(*next);
      continue;
    }
    if (which == Claimants::kBlocked) {
      if (!is_blocked(d, memory.blocked, job.shape) ||
          memory.claim_tried.contains({job.leaf, job.shape})) {
        walk.block_line(*next);
        continue;
      }
    }
    if (d.s.claims().all().size() >= limits::kMaxClaims) return false;
    memory.claim_steps += job.gang_size > 1 ? limits::kClaimStepsOfGang : 1;
    if (memory.claim_steps > limits::kMaxClaimSteps) return true;
    auto found = search.find(job);
    if (!found) {
      if (which == Claimants::kBlocked) memory.claim_tried.emplace(job.leaf, job.shape);
      walk.block_line(*next);
      continue;
    }
    d.emit(fact::Claimed{*next, std::move(found->slots), std::move(found->victims), d.s.now(),
                         ClaimCause::kMade, found->right});
    const state::Claim* const made = d.s.claims().of(*next);
    must(made != nullptr, "a claim that was made is there");
    search.follow(*made);
    memory.claimed.insert(*next);
    walk.block_job(*next);
  }
  return false;
}

}  // namespace subak::decide
