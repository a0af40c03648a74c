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
namespace {

// A job that may give back what it holds of one product.
struct Giver {
  const state::Job* job = nullptr;
  MilliGpu milligpu = 0;
};

// The order within an account: the first gives first.
bool gives_before(const Policy& policy, const Giver& a, const Giver& b) {
  const auto key = [&](const Giver& g) {
    const bool slow = grace_of(*g.job) > policy.reclaim_max_grace_ms;
    return std::tuple(slow, g.job->priority, -g.job->run().started_ms, g.job->id);
  };
  return key(a) < key(b);
}

// What a job holds of the product.
MilliGpu holds_of(const State& s, const state::Job& job, ProductId product) {
  MilliGpu sum = 0;
  for (const state::Pod& pod : job.pods) {
    if (pod.holds_slot() && s.fleet().product_of(pod.slot.node) == product)
      sum += pod.slot.milligpu;
  }
  return sum;
}

// Removes all that the job holds, of every product, from its accounts.
void remove_job(const State& s, const state::Job& job, WithoutHoldings& without) {
  if (job.leaf == kUnassigned) return;
  for (const state::Pod& pod : job.pods) {
    if (pod.holds_slot())
      without.remove(job.leaf, s.fleet().product_of(pod.slot.node), pod.slot.milligpu);
  }
}

// The jobs that may give back GPUs of one product, in their order. Each next() depends on those
// before: an account that is no longer beyond its quota gives nothing more.
class Givers {
 public:
  Givers(const State& s, const state::Job& claimant, AccountId reach, ProductId product)
      : s_(s), claimant_(claimant), reach_(reach), product_(product), without_(s.tree()) {
    collect();
    must(is_common(reach), "a claimant is below the account up to which it is entitled");
    if (reach == kRootAccount && s.tree().quota_sums().named(product) != nullptr) {
      const NamedQuota& named = *s.tree().quota_sums().named(product);
      taken_by_any_ = named.of_any() + named.promised() - totals_of(s.fleet(), product).installed;
    }
  }

  // Jobs that end already, for whatever reason.
  const std::vector<const state::Job*>& ending() const { return ending_; }

  // All jobs that may give, whatever their accounts hold beyond their quota.
  std::vector<const state::Job*> candidates() const {
    std::vector<const state::Job*> out;
    for (const auto& [leaf, jobs] : jobs_) {
      for (const Giver& giver : jobs) out.push_back(giver.job);
    }
    return out;
  }

  // Returns the next that gives; nullopt: none is left.
  std::optional<Giver> next() {
    auto giver = next_at(reach_, MilliGpu{limits::kMaxMilliGpu});
    if (giver || may_fall_below_) return giver;
    may_fall_below_ = true;
    exhausted_.clear();
    return next_at(reach_, MilliGpu{limits::kMaxMilliGpu});
  }

 private:
  void collect() {
    std::set<JobId> seen;
    for (const NodeId node : s_.fleet().nodes(claimant_.id.cluster())) {
      if (s_.fleet().product_of(node) != product_) continue;
      for (const state::Job* const job : s_.allocations().jobs_on(node)) {
        if (!seen.insert(job->id).second || s_.claims().by(job->id) != nullptr) continue;
        if (job->state == JobState::kEnding) {
          if (!stays(*job)) ending_.push_back(job), remove_job(s_, *job, without_);
        } else if (job->leaf != kUnassigned && can_be_preempted(s_, *job) &&
                   is_below(s_.tree(), job->leaf, reach_)) {
          add(job);
        }
      }
    }
    for (auto& [leaf, jobs] : jobs_) {
      std::sort(jobs.begin(), jobs.end(),
                [&](const Giver& a, const Giver& b) { return gives_before(s_.policy(), a, b); });
    }
  }

  void add(const state::Job* job) {
    const MilliGpu milligpu = holds_of(s_, *job, product_);
    if (milligpu == 0) return;
    jobs_[job->leaf].push_back({job, milligpu});
    for (AccountId id = job->leaf; id != reach_; id = s_.tree().node(id).parent) {
      children_[s_.tree().node(id).parent].insert(id);
    }
  }

  // True if the account is on the claimant's own path: both have it in common.
  bool is_common(AccountId id) const { return is_below(s_.tree(), claimant_.leaf, id); }

  // How much jobs of the account may give; kOfNoQuota: it has no quota, so those above decide.
  static constexpr MilliGpu kOfNoQuota = -1;
  MilliGpu most_of(AccountId id) const {
    const AccountNode& node = s_.tree().node(id);
    if (node.quota_total == 0) return kOfNoQuota;
    const MilliGpu borrowed = without_.borrowed(id, product_);
    return std::max(borrowed, std::min(taken_by_any_, held_of(without_.levels(id), product_)));
  }

  // Whether the account's child gives before another: by allocation for its shares.
  bool has_more(AccountId a, AccountId b) const {
    const AccountNode &x = s_.tree().node(a), &y = s_.tree().node(b);
    const double left = static_cast<double>(without_.alloc(a)) * static_cast<double>(y.spec.shares);
    const double right =
        static_cast<double>(without_.alloc(b)) * static_cast<double>(x.spec.shares);
    return left != right ? left > right : a < b;
  }

  // The child that gives next; none: no child of the account has a giver left.
  AccountId next_child(AccountId id) const {
    const auto below = children_.find(id);
    if (below == children_.end()) return AccountId();
    AccountId first;
    for (const AccountId child : below->second) {
      if (!exhausted_.contains(child) && (!first || has_more(child, first))) first = child;
    }
    return first;
  }

  // The next giver at or below the account. `most`: what the accounts above may give.
  std::optional<Giver> next_at(AccountId id, MilliGpu most) {
    if (exhausted_.contains(id)) return std::nullopt;
    bool quota_speaks = most != limits::kMaxMilliGpu;
    if (!is_common(id)) {
      const MilliGpu own = most_of(id);
      if (own == 0) {
        exhausted_.insert(id);
        return std::nullopt;
      }
      if (own != kOfNoQuota) most = std::min(most, own), quota_speaks = true;
    }
    while (const AccountId child = next_child(id)) {
      if (auto giver = next_at(child, most)) return giver;
    }
    const auto own = jobs_.find(id);
    if (own != jobs_.end() && !is_common(id) && (quota_speaks || borrows_all(id))) {
      for (auto it = own->second.begin(); it != own->second.end(); ++it) {
        if (!may_fall_below_ && it->milligpu > most) continue;
        const Giver giver = *it;
        own->second.erase(it);
        take(giver);
        return giver;
      }
    }
    exhausted_.insert(id);
    return std::nullopt;
  }

  // True if no account from this one up has a quota of its own that would cover its jobs.
  bool borrows_all(AccountId id) const {
    for (; id; id = s_.tree().node(id).parent) {
      if (!s_.tree().node(id).spec.quota.empty()) return false;
    }
    return true;
  }

  void take(const Giver& giver) {
    remove_job(s_, *giver.job, without_);
    taken_by_any_ = std::max<MilliGpu>(0, taken_by_any_ - giver.milligpu);
  }

  const State& s_;
  const state::Job& claimant_;
  const AccountId reach_;
  const ProductId product_;
  WithoutHoldings without_;
  std::vector<const state::Job*> ending_;
  // By account, in their order; those that give are taken out.
  std::map<AccountId, std::vector<Giver>> jobs_;
  // Accounts with givers at or below them.
  std::map<AccountId, std::set<AccountId>> children_;
  std::set<AccountId> exhausted_;
  // What quotas of any product hold that others own by name.
  MilliGpu taken_by_any_ = 0;
  bool may_fall_below_ = false;
};

void add_allocations(const state::Job& job, std::vector<Allocation>& out) {
  for (const state::Pod& pod : job.pods) {
    if (pod.holds_slot()) out.push_back({pod.shape, pod.shape_rank, pod.slot, job.id});
  }
}

// Looks for a placement if some jobs were gone.
class IfGone {
 public:
  IfGone(const State& s, Search& search, const state::Job& job, ProductId product)
      : s_(s), search_(search), job_(job) {
    for (ProductId::rep p = 1; p <= s.fleet().products().size(); ++p) {
      if (ProductId(p) != product) without_.emplace_back(p);
    }
    reserved_ = ReservedUntil(s, ReservedUntil::Part::kFirm).from(state::sure_end(s, job));
    if (!s.node_backoff().any_of_jobs()) return;
    for (const state::RefusedNode& refused : s.node_backoff().nodes_of(job.id)) {
      if (refused.backed_off) reserved_.reserve({&refused.node, 1}, JobId(job.id.cluster(), 0));
    }
  }

  std::optional<Placement> operator()(const std::vector<const state::Job*>& gone) {
    std::vector<Allocation> allocations;
    WithoutHoldings left(s_.tree());
    for (const state::Job* const job : gone) {
      add_allocations(*job, allocations);
      remove_job(s_, *job, left);
    }
    const FleetView now(s_.fleet(), reserved_);
    const auto then = now.without(allocations);
    if (!then.ok()) return std::nullopt;
    auto placement = search_.find(*then, job_.shape, job_.id, without_);
    if (!placement) return std::nullopt;
    const std::vector<ProductDemand> amounts = amounts_of(s_, *placement);
    const Demand demand{job_.leaf, amounts};
    if (left.first_binding(demand, Asking::kAmounts)) return std::nullopt;
    const auto unlent_rule = unlent(s_.tree(), demand, [&](ProductId product) {
      MilliGpu idle = totals_of(s_.fleet(), product).idle;
      if (product) return idle + left.gone(product);
      for (const Allocation& a : allocations) idle += a.slot.milligpu;
      return idle;
    });
    if (unlent_rule) return std::nullopt;
    return placement;
  }

 private:
  const State& s_;
  Search& search_;
  const state::Job& job_;
  // What is reserved for jobs within quota, and the nodes that refused the job.
  ReservedNodes reserved_;
  std::vector<ProductId> without_;
};

bool is_on(const state::Job& job, const std::vector<NodeId>& nodes) {
  return std::any_of(job.pods.begin(), job.pods.end(), [&](const state::Pod& pod) {
    return pod.holds_slot() && std::binary_search(nodes.begin(), nodes.end(), pod.slot.node);
  });
}

// What the job has run for, times what it holds.
MilliGpu loss_of(const State& s, const Giver& giver) {
  return giver.milligpu * std::max<DurationMs>(0, s.now() - giver.job->run().started_ms) /
         kMinuteMs;
}

// A placement, and who must be gone for it.
struct Needed {
  Placement placement;
  std::vector<const state::Job*> gone;
};

// Leaves out who is not needed: the largest loss first.
Needed pruned(const State& s, IfGone& if_gone, Placement placement, std::vector<Giver> givers,
              const std::vector<const state::Job*>& ending) {
  const auto all_of = [&](const std::vector<Giver>& some) {
    std::vector<const state::Job*> gone = ending;
    for (const Giver& giver : some) gone.push_back(giver.job);
    return gone;
  };
  // Nearly all that are not needed are elsewhere.
  std::vector<Giver> here;
  const std::vector<NodeId> nodes = state::nodes_of(placement.slots);
  std::copy_if(givers.begin(), givers.end(), std::back_inserter(here),
               [&](const Giver& giver) { return is_on(*giver.job, nodes); });
  if (auto found = if_gone(all_of(here))) {
    placement = *std::move(found);
    givers = std::move(here);
  }
  std::vector<Giver> by_loss = givers;
  std::stable_sort(by_loss.begin(), by_loss.end(),
                   [&](const Giver& a, const Giver& b) { return loss_of(s, a) > loss_of(s, b); });
  for (const Giver& giver : by_loss) {
    std::vector<Giver> fewer;
    std::copy_if(givers.begin(), givers.end(), std::back_inserter(fewer),
                 [&](const Giver& g) { return g.job != giver.job; });
    if (auto found = if_gone(all_of(fewer))) {
      placement = *std::move(found);
      givers = std::move(fewer);
    }
  }
  return {std::move(placement), all_of(givers)};
}

// The jobs of the claim: those that give, and of those that end anyway the ones whose GPUs or
// whose part of a limit it needs.
std::vector<const state::Job*> victims_of(const State& s, const state::Job& claimant,
                                          const Needed& needed) {
  const std::vector<NodeId> nodes = state::nodes_of(needed.placement.slots);
  std::vector<const state::Job*> victims;
  WithoutHoldings without(s.tree());
  for (const state::Job* const job : needed.gone) {
    if (job->state == JobState::kEnding && !is_on(*job, nodes)) continue;
    victims.push_back(job);
    remove_job(s, *job, without);
  }
  const std::vector<ProductDemand> amounts = amounts_of(s, needed.placement);
  const bool by_rule =
      without.first_binding({claimant.leaf, amounts}, Asking::kAmounts).has_value();
  return by_rule ? needed.gone : victims;
}

ClaimFound claim_of(const State& s, const state::Job& claimant, const Needed& needed) {
  ClaimFound found{needed.placement.slots, {}};
  for (const state::Job* const job : victims_of(s, claimant, needed)) {
    const bool ends = job->state == JobState::kEnding;
    const TimeMs ask_ms = ends ? s.now() : job->run().started_ms + s.policy().reclaim_min_run_ms;
    found.victims.push_back({job->id, job->attempt, ask_ms});
  }
  std::sort(found.victims.begin(), found.victims.end(),
            [](const auto& a, const auto& b) { return a.job < b.job; });
  return found;
}

std::optional<ClaimFound> find_on(const State& s, Search& search, const state::Job& job,
                                  AccountId reach, ProductId product) {
  Givers givers(s, job, reach, product);
  IfGone if_gone(s, search, job, product);
  const std::vector<const state::Job*>& ending = givers.ending();
  std::vector<Giver> order;
  const auto first = [&](std::size_t count) {
    std::vector<const state::Job*> gone = ending;
    for (std::size_t i = 0; i < count; ++i) gone.push_back(order[i].job);
    return if_gone(gone);
  };
  // Usually a few givers are enough. The order costs more than a search without all of them.
  constexpr std::size_t kFew = 64;
  std::vector<const state::Job*> all = givers.candidates();
  all.insert(all.end(), ending.begin(), ending.end());
  std::optional<Placement> placement = first(0);
  std::size_t least = 0;  // so many are not enough, but for none
  for (std::size_t next = 1; !placement; next *= 2) {
    least = order.size() + 1;
    if (next > kFew && next <= 2 * kFew && !if_gone(all)) return std::nullopt;
    while (order.size() < next) {
      const auto giver = givers.next();
      if (!giver) break;
      order.push_back(*giver);
    }
    if (order.size() < least) return std::nullopt;
    placement = first(order.size());
  }
  std::size_t enough = order.size();
  while (least < enough) {
    const std::size_t middle = least + (enough - least) / 2;
    if (auto found = first(middle)) {
      placement = std::move(found);
      enough = middle;
    } else {
      least = middle + 1;
    }
  }
  const Needed needed =
      pruned(s, if_gone, *std::move(placement),
             {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(enough)}, ending);
  ClaimFound found = claim_of(s, job, needed);
  if (found.victims.empty()) return std::nullopt;  // it waits for something else
  return found;
}

}  // namespace

std::optional<ClaimFound> find_claim(const State& s, Search& search, const state::Job& job) {
  must(job.state == JobState::kQueued && job.shape, "a claimant is queued");
  if (needs_replacements(s.fleet(), job.shape)) return std::nullopt;
  if (state::least_milligpu(s.fleet(), job) == 0) return std::nullopt;
  const ProductId only = state::only_product(s.fleet(), s.fleet().request(job.shape));
  for (ProductId::rep p = 1; p <= s.fleet().products().size(); ++p) {
    const ProductId product(p);
    if (only && product != only) continue;
    const ProductDemand demand{product, state::least_milligpu(s.fleet(), job)};
    const AccountId reach = reach_of(s, job.leaf, {&demand, 1});
    if (!reach) continue;
    if (auto found = find_on(s, search, job, reach, product)) return found;
  }
  return std::nullopt;
}

std::optional<Binding> stopped_on_claim(const State& s, const state::Claim& claim,
                                        Victims victims) {
  WithoutHoldings without(s.tree());
  for (const auto& [product, amount] : claim.amounts) without.remove(claim.leaf, product, amount);
  for (const state::Claim::Victim& victim : claim.victims) {
    const state::Job* const job = victims == Victims::kGone ? s.jobs().find(victim.job) : nullptr;
    if (job != nullptr && job->attempt == victim.attempt) remove_job(s, *job, without);
  }
  return without.first_binding({claim.leaf, claim.amounts},
                               victims == Victims::kNow ? Asking::kStart : Asking::kAmounts);
}

bool is_entitled(const State& s, const state::Claim& claim) {
  for (AccountId id = claim.leaf; id; id = s.tree().node(id).parent) {
    const AccountNode& node = s.tree().node(id);
    if (node.quota_total == 0) continue;
    std::vector<ProductLevel> levels;
    for (const auto& [product, amount] : node.claimed) levels.push_back({product, amount, 0});
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
