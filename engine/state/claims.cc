#include "engine/state/claims.h"

#include <algorithm>

#include "accounting/amounts.h"
#include "core/must.h"
#include "engine/state/jobs/job_request.h"
#include "engine/state/jobs/jobs.h"

namespace subak::state {

fact::Claimed Claim::as_fact() const {
  must(!slots.empty(), "a claim has slots");
  return {job, slots, victims, made_ms, ClaimCause::kMade, right};
}

const Job* still_there(const Jobs& jobs, const Claim::Victim& victim) {
  const Job* const job = jobs.find(victim.job);
  return job != nullptr && job->attempt == victim.attempt && job->in_attempt() ? job : nullptr;
}

const Claim* Claims::of(JobId claimant) const {
  const auto it = by_claimant_.find(claimant);
  return it == by_claimant_.end() ? nullptr : &all_[it->second.index];
}

std::vector<JobId> Claims::claimants() const {
  std::vector<JobId> out;
  out.reserve(all_.size());
  for (const Claim& claim : all_) out.push_back(claim.job);
  return out;
}

const Claim* Claims::by(JobId victim) const {
  const auto it = by_victim_.find(victim);
  return it == by_victim_.end() ? nullptr : of(it->second);
}

void Claims::make(const fact::Claimed& f, const Job& job, std::set<JobId> ended) {
  must(of(f.job) == nullptr && job.id == f.job, "a job has one claim");
  must(!f.slots.empty() && job.shape, "a claim has slots for a complete request");
  Claim claim{f.job,   f.slots,           f.victims, f.made_ms,
              f.right, nodes_of(f.slots), job.leaf,  amounts_of(fleet_, f.slots)};
  tree_.claim(claim.leaf, claim.amounts);
  for (const Claim::Victim& victim : claim.victims) {
    must(by_victim_.emplace(victim.job, claim.job).second, "a job ends for one claim");
  }
  ended_.merge(ended);
  if (claim.right == ClaimRight::kClass) by_class_.insert(claim.job);
  by_claimant_.emplace(claim.job, Claimant{all_.size(), job.shape});
  const std::vector<NodeId> nodes = claim.nodes;
  all_.push_back(std::move(claim));
  for (const NodeId node : nodes) {
    on_[node].push_back(f.job);
    set_on(node);
  }
}

void Claims::end(JobId claimant) {
  const auto known = by_claimant_.find(claimant);
  if (known == by_claimant_.end()) return;
  const std::size_t index = known->second.index;
  const Claim claim = std::move(all_[index]);
  all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(index));
  by_claimant_.erase(known);
  by_class_.erase(claimant);
  for (std::size_t i = index; i < all_.size(); ++i) by_claimant_.at(all_[i].job).index = i;
  for (const Claim::Victim& victim : claim.victims) {
    by_victim_.erase(victim.job);
    ended_.erase(victim.job);
  }
  tree_.claim(claim.leaf, claim.amounts, -1);
  for (const NodeId node : claim.nodes) {
    std::erase(on_.at(node), claimant);
    set_on(node);
    if (on_.at(node).empty()) on_.erase(node);
  }
  must(of(claimant) == nullptr, "a claim that ended is gone");
}

void Claims::victim_ended(JobId job) {
  const Claim* const claim = by(job);
  if (claim == nullptr || !ended_.insert(job).second) return;
  for (const NodeId node : claim->nodes) set_on(node);
}

void Claims::set_on(NodeId node) {
  std::vector<NodeClaim> here;
  for (const JobId claimant : on_.at(node)) {
    const Claimant& known = by_claimant_.at(claimant);
    const Claim& claim = all_[known.index];
    NodeClaim part{claimant, known.shape, {}, {}};
    for (std::uint32_t rank = 0; rank < claim.slots.size(); ++rank) {
      if (claim.slots[rank].node == node) part.slots.push_back({rank, claim.slots[rank]});
    }
    for (const Claim::Victim& victim : claim.victims) {
      if (!ended_.contains(victim.job)) part.victims.push_back(victim.job);
    }
    here.push_back(std::move(part));
  }
  fleet_.set_claims(node, std::move(here));
}

void Claims::snapshot(const Sink& sink) const {
  for (const Claim& claim : all_) sink(claim.as_fact());
}

void Claims::check() const {
  std::size_t victims = 0;
  MilliGpu claimed = 0;
  must(by_claimant_.size() == all_.size(), "a job has one claim");
  for (const Claim& claim : all_) {
    must(of(claim.job) == &claim, "each claim is found by its claimant");
    victims += claim.victims.size();
    claimed += sum_of(claim.amounts);
    must(std::is_sorted(claim.victims.begin(), claim.victims.end(),
                        [](const auto& a, const auto& b) { return a.job < b.job; }),
         "victims are in order");
  }
  must(victims == by_victim_.size(), "a job ends for one claim");
  must(sum_of(tree_.node(kRootAccount).jobs.claimed) == claimed,
       "the root counts all claimed GPUs");
}

}  // namespace subak::state
