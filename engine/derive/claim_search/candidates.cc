#include "engine/derive/claim_search/candidates.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "core/must.h"
#include "engine/derive/claims.h"
#include "engine/derive/preemption/preemptible.h"

namespace subak::derive {

bool gives_before(const State& s, const Giver& a, const Giver& b) {
  const auto key = [&](const Giver& g) {
    return std::tuple(is_slow(s, *g.job), g.job->priority, -g.job->run().started_ms, g.job->id);
  };
  return key(a) < key(b);
}

bool is_slow(const State& s, const state::Job& job) {
  return grace_of(job) > s.policy().reclaim_max_grace_ms;
}

bool has_more(const AccountTree& tree, const WithoutHoldings& left, AccountId a, AccountId b) {
  const AccountNode &x = tree.node(a), &y = tree.node(b);
  const double of_a = static_cast<double>(left.alloc(a)) * static_cast<double>(y.spec.shares);
  const double of_b = static_cast<double>(left.alloc(b)) * static_cast<double>(x.spec.shares);
  return of_a != of_b ? of_a > of_b : a < b;
}

Candidates::Candidates(const State& s, ClusterId cluster, ProductId product)
    : s_(s), product_(product), left_(s.tree()) {
  for (const state::Claim& claim : s.claims().all()) {
    for (const state::Claim::Victim& victim : claim.victims) {
      if (const state::Job* const job = state::still_there(s.jobs(), victim)) remove(*job);
    }
  }
  collect(cluster);
  std::sort(givers_.begin(), givers_.end(),
            [](const Giver& a, const Giver& b) { return a.job->id < b.job->id; });
  for (std::uint32_t i = 0; i < givers_.size(); ++i) givers_[i].index = i;
  may_give_.assign(givers_.size(), true);
  tree_ = tree_of(givers_);
}

void Candidates::collect(ClusterId cluster) {
  std::set<JobId> seen;
  const auto add_new = [&](const state::Job& job) {
    if (seen.insert(job.id).second && s_.claims().by(job.id) == nullptr) add(job);
  };
  for (const NodeId node : s_.fleet().nodes(cluster)) {
    if (s_.fleet().product_of(node) != product_) {
      // Jobs that are ending on this node also make their accounts hold less.
      for (const state::Job* const job : s_.allocations().jobs_on(node)) {
        if (job->state == JobState::kEnding) add_new(*job);
      }
      continue;
    }
    nodes_.push_back(node);
    const NodeLevels levels = s_.fleet().levels(node);
    free_ += levels.idle + levels.unusable;
    largest_node_ = std::max(largest_node_, s_.fleet().node(node)->gpus * kMilliPerGpu);
    for (const state::Job* const job : s_.allocations().jobs_on(node)) add_new(*job);
  }
}

void Candidates::add(const state::Job& job) {
  if (job.state == JobState::kEnding) {
    if (stays(job)) return;
    ending_.push_back(&job);
    remove_job(s_, job, left_);
  } else if (job.leaf != kUnassigned && can_be_preempted(s_, job) &&
             !was_preempted_since_event(s_, job)) {
    const MilliGpu milligpu = holds_of(s_, job, product_);
    if (milligpu > 0) givers_.push_back({&job, milligpu, 0});
  }
}

void Candidates::remove(const state::Job& job) {
  claimed_ += holds_of(s_, job, product_);
  remove_job(s_, job, left_);
}

GiverTree Candidates::tree_of(const std::vector<Giver>& givers) const {
  GiverTree tree;
  for (const Giver& giver : givers) add_to(tree, giver);
  sort(tree);
  return tree;
}

void Candidates::add_to(GiverTree& tree, const Giver& giver) const {
  std::vector<Giver>& own = tree.jobs[giver.job->leaf];
  own.push_back(giver);
  if (own.size() > 1) return;
  for (AccountId id = giver.job->leaf; id != kRootAccount;) {
    const AccountId parent = s_.tree().node(id).parent;
    std::vector<AccountId>& siblings = tree.children[parent];
    if (std::find(siblings.begin(), siblings.end(), id) != siblings.end()) return;
    siblings.push_back(id);
    id = parent;
  }
}

void Candidates::sort(GiverTree& tree) const {
  for (auto& [leaf, jobs] : tree.jobs) {
    std::sort(jobs.begin(), jobs.end(),
              [&](const Giver& a, const Giver& b) { return gives_before(s_, a, b); });
  }
  for (auto& [parent, children] : tree.children) {
    std::sort(children.begin(), children.end(),
              [&](AccountId a, AccountId b) { return has_more(s_.tree(), left_, a, b); });
  }
}

bool Candidates::is_spent(AccountId id) const {
  return id.value < spent_.size() && spent_[id.value];
}

void Candidates::note_spent(AccountId id) const {
  if (id.value >= spent_.size()) spent_.resize(id.value + 1);
  spent_[id.value] = true;
}

void Candidates::leave_order(AccountId id) {
  if (id == kRootAccount) return;
  const auto at = tree_.children.find(s_.tree().node(id).parent);
  if (at != tree_.children.end()) std::erase(at->second, id);
}

void Candidates::enter_order(AccountId id) {
  if (id == kRootAccount) return;
  const auto own = tree_.jobs.find(id);
  const auto below = tree_.children.find(id);
  const bool has_jobs = own != tree_.jobs.end() && !own->second.empty();
  const bool has_children = below != tree_.children.end() && !below->second.empty();
  if (!has_jobs && !has_children) return;
  std::vector<AccountId>& siblings = tree_.children[s_.tree().node(id).parent];
  const auto at =
      std::lower_bound(siblings.begin(), siblings.end(), id,
                       [&](AccountId a, AccountId b) { return has_more(s_.tree(), left_, a, b); });
  siblings.insert(at, id);
}

void Candidates::follow(const state::Claim& claim) {
  std::set<AccountId> changed;
  const auto add_path = [&](AccountId leaf) {
    for (AccountId id = leaf; id; id = s_.tree().node(id).parent) changed.insert(id);
  };
  std::vector<const state::Job*> victims;
  for (const state::Claim::Victim& victim : claim.victims) {
    const state::Job* const job = state::still_there(s_.jobs(), victim);
    must(job != nullptr, "the victims of a new claim are there");
    victims.push_back(job);
    if (job->leaf != kUnassigned) add_path(job->leaf);
  }
  add_path(claim.leaf);
  // An account leaves the order of its siblings while its figures change. Afterwards the accounts
  // enter the order again, from the leaves up.
  for (const AccountId id : changed) leave_order(id);
  for (const auto& [product, amount] : claim.amounts) left_.note_held(claim.leaf, product, amount);
  for (const state::Job* const job : victims) {
    const auto end = std::find(ending_.begin(), ending_.end(), job);
    if (end != ending_.end()) {
      ending_.erase(end);
      claimed_ += holds_of(s_, *job, product_);
      continue;
    }
    remove(*job);
    const auto own = tree_.jobs.find(job->leaf);
    if (own == tree_.jobs.end()) continue;
    const auto at = std::find_if(own->second.begin(), own->second.end(),
                                 [&](const Giver& g) { return g.job == job; });
    if (at == own->second.end()) continue;
    may_give_[at->index] = false;
    own->second.erase(at);
  }
  std::vector<AccountId> order(changed.begin(), changed.end());
  const auto depth = [&](AccountId id) {
    int steps = 0;
    for (; id != kRootAccount; id = s_.tree().node(id).parent) ++steps;
    return steps;
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](AccountId a, AccountId b) { return depth(a) > depth(b); });
  for (const AccountId id : order) {
    enter_order(id);
    if (id.value < spent_.size()) spent_[id.value] = false;
  }
}

}  // namespace subak::derive
