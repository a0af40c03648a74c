#include "engine/derive/claim_search/claim_search.h"

#include <algorithm>
#include <set>

#include "accounting/quota/without.h"
#include "core/must.h"
#include "engine/derive/claim_search/candidates.h"
#include "engine/derive/claim_search/givers.h"
#include "engine/derive/claim_search/units.h"
#include "engine/derive/claim_search/what_if.h"
#include "engine/derive/claims.h"
#include "engine/derive/entitled_place.h"
#include "engine/derive/preemption/preemptible.h"
#include "engine/state/planned_end.h"
#include "model/bounds/pass_limits.h"
#include "placement/fleet/queries.h"

namespace subak::derive {

// The data that all claimants of the same cluster and product share.
struct ClaimSearch::Pool {
  Pool(const State& s, ClusterId cluster, ProductId product) : candidates(s, cluster, product) {}
  const Units& units(const State& s, GangArea::Group kind) {
    auto& made = units_of[kind];
    if (!made) made = std::make_unique<Units>(s, candidates, kind);
    return *made;
  }
  Candidates candidates;
  std::map<GangArea::Group, std::unique_ptr<Units>> units_of;
};

namespace {

bool is_on(const state::Job& job, const std::vector<NodeId>& nodes) {
  return std::any_of(job.pods.begin(), job.pods.end(), [&](const state::Pod& pod) {
    return pod.holds_slot() && std::binary_search(nodes.begin(), nodes.end(), pod.slot.node);
  });
}

bool is_in(const std::vector<Giver>& some, const Giver& giver) {
  return std::any_of(some.begin(), some.end(),
                     [&](const Giver& other) { return other.index == giver.index; });
}

// Returns the indexes of the givers, ascending.
std::vector<std::uint32_t> indexes_of(const std::vector<Giver>& givers) {
  std::vector<std::uint32_t> out;
  for (const Giver& giver : givers) out.push_back(giver.index);
  std::sort(out.begin(), out.end());
  return out;
}

// A placement, and the givers that must be gone for it.
struct Needed {
  Placement placement;
  std::vector<Giver> givers;
};

// After this many failed steps, a search first checks whether all givers together are enough. For
// fewer steps, this check costs more than it saves.
constexpr std::size_t kFew = 64;

// Returns the least count from `least` on for which `find` finds a placement. `enough` is such a
// count, and `placement` is its placement. Afterwards `placement` is the placement of the result.
template <class Find>
std::size_t fewest(std::size_t least, std::size_t enough, std::optional<Placement>& placement,
                   const Find& find) {
  while (least < enough) {
    const std::size_t middle = least + (enough - least) / 2;
    if (auto found = find(middle)) {
      placement = std::move(found);
      enough = middle;
    } else {
      least = middle + 1;
    }
  }
  return enough;
}

// Finds the fewest givers from the front of the order that are enough. Order::next() returns the
// next giver, and Order::all() all givers.
template <class Order>
class ByGiver {
 public:
  ByGiver(WhatIf& what_if, Order givers) : what_if_(what_if), givers_(std::move(givers)) {}

  std::optional<Needed> find() {
    std::optional<Placement> placement = what_if_.find({});
    if (placement) return Needed{*std::move(placement), {}};
    std::size_t least = 0;  // fewer givers than this are not enough
    for (std::size_t next = 1; !placement; next *= 2) {
      least = order_.size() + 1;
      if (next > kFew && next <= 2 * kFew && !what_if_.find(givers_.all())) return std::nullopt;
      while (order_.size() < next) {
        const auto giver = givers_.next();
        if (!giver) break;
        order_.push_back(*giver);
      }
      if (order_.size() < least) return std::nullopt;
      placement = what_if_.find(order_);
    }
    const std::size_t enough = fewest(least, order_.size(), placement, [&](std::size_t count) {
      return what_if_.find(first(count));
    });
    return Needed{*std::move(placement), first(enough)};
  }

 private:
  std::vector<Giver> first(std::size_t count) const {
    return {order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count)};
  }

  WhatIf& what_if_;
  Order givers_;
  std::vector<Giver> order_;
};

// The order in which accounts beyond their quota give.
class QuotaOrder {
 public:
  QuotaOrder(const State& s, Givers& givers, const Candidates& candidates, AccountId reach)
      : s_(s), givers_(givers), candidates_(candidates), reach_(reach) {}
  std::optional<Giver> next() { return givers_.next(); }
  std::vector<Giver> all() const {
    std::vector<Giver> out;
    for (const Giver& giver : candidates_.givers()) {
      if (candidates_.may_give(giver.index) && is_below(s_.tree(), giver.job->leaf, reach_))
        out.push_back(giver);
    }
    return out;
  }

 private:
  const State& s_;
  Givers& givers_;
  const Candidates& candidates_;
  const AccountId reach_;
};

// The jobs of the claimant's account that have a lower priority, in the order in which they give.
class ClassOrder {
 public:
  ClassOrder(const State& s, const Candidates& candidates, const state::Job& claimant) {
    const AccountId own = account_of(s, claimant);
    for (const Giver& giver : candidates.givers()) {
      if (candidates.may_give(giver.index) && giver.job->priority < claimant.priority &&
          account_of(s, *giver.job) == own)
        all_.push_back(giver);
    }
    std::sort(all_.begin(), all_.end(),
              [&](const Giver& a, const Giver& b) { return gives_before(s, a, b); });
  }
  std::optional<Giver> next() {
    return next_ < all_.size() ? std::optional(all_[next_++]) : std::nullopt;
  }
  const std::vector<Giver>& all() const { return all_; }

 private:
  std::vector<Giver> all_;
  std::size_t next_ = 0;
};

// Searches the units that a gang may take, in their order.
class ByUnit {
 public:
  ByUnit(WhatIf& what_if, const Givers& givers, const Candidates& candidates, const Units& units,
         std::vector<std::uint32_t> order)
      : what_if_(what_if),
        givers_(givers),
        candidates_(candidates),
        units_(units),
        order_(std::move(order)) {}

  // Finds the first unit whose givers alone are enough.
  std::optional<Needed> find_one() {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (i == kFew && !what_if_.find(all())) return std::nullopt;
      Givers alone = givers_;
      gone_.clear();
      added_.clear();
      add(order_[i], alone);
      if (auto placement = what_if_.find(gone_)) return Needed{*std::move(placement), gone_};
    }
    return std::nullopt;
  }

  // Finds the smallest set of jobs that is enough: in the first unit that has such a set, else in
  // the complete cluster.
  std::optional<Needed> find_set(GangArea area, MilliGpu need) {
    if (!what_if_.find(all())) return std::nullopt;
    std::size_t tried = 0;
    for (const std::uint32_t unit : order_) {
      if (auto found = smallest(units_.givers_in(unit, givers_), area, need, tried)) return found;
      if (tried > limits::kMaxClaimSets) break;
    }
    tried = 0;
    return smallest(all(), GangArea(), need, tried);  // a limit may be the obstacle
  }

  // Finds the fewest units from the front of the order whose givers together are enough.
  std::optional<Needed> find_first() {
    std::vector<std::size_t> ends;  // for each unit: where its jobs end in `gone_`
    std::optional<Placement> placement;
    std::size_t least = 1;
    bool some_failed = false, all_enough = false;
    for (std::size_t next = 1; !placement; next = 2 * std::max(next, ends.size())) {
      least = ends.size() + 1;
      if (some_failed && next > kFew && !all_enough) {
        all_enough = what_if_.find(all()).has_value();
        if (!all_enough) return std::nullopt;
      }
      while (ends.size() < order_.size() && (ends.size() < next || !what_if_.may_fit(gone_))) {
        add(order_[ends.size()], givers_);
        ends.push_back(gone_.size());
      }
      if (ends.size() < least) return std::nullopt;
      placement = what_if_.find(gone_);
      some_failed = true;
    }
    const auto first = [&](std::size_t count) {
      const auto end = static_cast<std::ptrdiff_t>(ends[count - 1]);
      return std::vector<Giver>(gone_.begin(), gone_.begin() + end);
    };
    const std::size_t enough = fewest(least, ends.size(), placement, [&](std::size_t count) {
      return what_if_.find(first(count));
    });
    return Needed{*std::move(placement), first(enough)};
  }

 private:
  // Adds all jobs of the unit that give and were not added before.
  void add(std::uint32_t unit, Givers& givers) {
    std::vector<Giver> here = units_.givers_in(unit, givers);
    added_.resize(candidates_.givers().size());
    std::erase_if(here, [&](const Giver& giver) { return added_[giver.index]; });
    const GiverTree tree = candidates_.tree_of(here);
    givers.offer(tree);
    while (const auto giver = givers.next()) {
      gone_.push_back(*giver);
      added_[giver->index] = true;
    }
  }
  // Finds the smallest set of these jobs that is enough. Each job must be willing to give after the
  // jobs before it in the set have given. `tried` counts sets: at most limits::kMaxClaimSets are
  // tried.
  std::optional<Needed> smallest(const std::vector<Giver>& some, GangArea area, MilliGpu need,
                                 std::size_t& tried) {
    std::vector<std::pair<std::vector<Giver>, Givers>> sets{{{}, givers_}};
    std::set<std::vector<std::uint32_t>> seen;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      for (const Giver& giver : some) {
        if (is_in(sets[i].first, giver) || !sets[i].second.is_willing(giver.job->leaf)) continue;
        auto then = sets[i];
        then.first.push_back(giver);
        if (!seen.insert(indexes_of(then.first)).second) continue;
        if (++tried > limits::kMaxClaimSets) return std::nullopt;
        if (units_.may_fit(then.first, area, need)) {
          if (auto found = what_if_.find(then.first)) return Needed{*std::move(found), then.first};
        }
        then.second.take(giver);
        sets.push_back(std::move(then));
      }
    }
    return std::nullopt;
  }
  // Returns all jobs that give in some unit.
  std::vector<Giver> all() const {
    std::vector<bool> seen(candidates_.givers().size());
    std::vector<Giver> out;
    for (const std::uint32_t unit : order_) {
      for (const Giver& giver : units_.givers_in(unit, givers_)) {
        if (!seen[giver.index]) out.push_back(giver);
        seen[giver.index] = true;
      }
    }
    return out;
  }

  WhatIf& what_if_;
  Givers givers_;
  const Candidates& candidates_;
  const Units& units_;
  const std::vector<std::uint32_t> order_;
  std::vector<Giver> gone_;
  // True for the givers in `gone_`; the index is Giver::index.
  std::vector<bool> added_;
};

// Leaves out givers that the claim does not need, those with the largest loss first. `may_fit`
// returns false for givers that cannot be enough.
template <class MayFit>
Needed pruned(const State& s, WhatIf& what_if, Needed needed, const MayFit& may_fit) {
  // First leaves out all givers without GPUs on the nodes of the placement, because nearly all
  // givers that are not needed are elsewhere.
  std::vector<Giver> here;
  const std::vector<NodeId> nodes = state::nodes_of(needed.placement.slots);
  std::copy_if(needed.givers.begin(), needed.givers.end(), std::back_inserter(here),
               [&](const Giver& giver) { return is_on(*giver.job, nodes); });
  if (here.size() < needed.givers.size()) {
    if (auto found = what_if.find(here)) needed = {*std::move(found), std::move(here)};
  }
  std::vector<Giver> by_loss = needed.givers;
  std::stable_sort(by_loss.begin(), by_loss.end(),
                   [&](const Giver& a, const Giver& b) { return loss_of(s, a) > loss_of(s, b); });
  for (const Giver& giver : by_loss) {
    std::vector<Giver> fewer;
    std::copy_if(needed.givers.begin(), needed.givers.end(), std::back_inserter(fewer),
                 [&](const Giver& g) { return g.index != giver.index; });
    if (!may_fit(fewer)) continue;
    if (auto found = what_if.find(fewer)) needed = {*std::move(found), std::move(fewer)};
  }
  return needed;
}

// Returns the victims of the claim: the givers, and jobs that are ending anyway. Of these, the
// claim needs the jobs on its nodes. If a limit would still stop the claimant, it also needs the
// end of the others.
std::vector<const state::Job*> victims_of(const State& s, const state::Job& claimant,
                                          const Needed& needed,
                                          const std::vector<const state::Job*>& ending) {
  const std::vector<NodeId> nodes = state::nodes_of(needed.placement.slots);
  std::vector<const state::Job*> victims;
  WithoutHoldings without(s.tree());
  for (const state::Job* const job : ending) {
    if (!is_on(*job, nodes)) continue;
    victims.push_back(job);
    remove_job(s, *job, without);
  }
  for (const Giver& giver : needed.givers) {
    victims.push_back(giver.job);
    remove_job(s, *giver.job, without);
  }
  const std::vector<ProductDemand> amounts = amounts_of(s, needed.placement);
  if (!without.first_binding({claimant.leaf, amounts, state::job_demand(s, claimant)},
                             Asking::kAmounts))
    return victims;
  for (const state::Job* const job : ending) {
    if (!is_on(*job, nodes)) victims.push_back(job);
  }
  return victims;
}

ClaimFound claim_of(const State& s, const state::Job& claimant, const Needed& needed,
                    const std::vector<const state::Job*>& ending, ClaimRight right) {
  ClaimFound found{needed.placement.slots, {}, right};
  for (const state::Job* const job : victims_of(s, claimant, needed, ending)) {
    const bool ends = job->state == JobState::kEnding;
    const TimeMs ask_ms = ends ? s.now() : job->run().started_ms + s.policy().reclaim_min_run_ms;
    found.victims.push_back({job->id, job->attempt, ask_ms});
  }
  std::sort(found.victims.begin(), found.victims.end(),
            [](const auto& a, const auto& b) { return a.job < b.job; });
  return found;
}

// Returns the claim on the jobs that must end. nullopt: no job has to end, so the claimant
// waits for something else.
template <class MayFit>
std::optional<ClaimFound> finish(const State& s, WhatIf& what_if, const state::Job& claimant,
                                 const Candidates& candidates, Needed needed, const MayFit& may_fit,
                                 ClaimRight right) {
  const Needed least = pruned(s, what_if, std::move(needed), may_fit);
  ClaimFound found = claim_of(s, claimant, least, candidates.ending(), right);
  if (found.victims.empty()) return std::nullopt;
  return found;
}

}  // namespace

ClaimSearch::ClaimSearch(const State& s, Search& search) : s_(s), search_(search) {
  const auto& products = s.fleet().products();
  for (ProductId::rep p = 1; p <= products.size(); ++p) products_.emplace_back(p);
  std::sort(products_.begin(), products_.end(),
            [&](ProductId a, ProductId b) { return products.name(a) < products.name(b); });
}
ClaimSearch::~ClaimSearch() = default;

ClaimSearch::Pool& ClaimSearch::pool(ClusterId cluster, ProductId product) {
  auto& made = pools_[{cluster, product}];
  if (!made) made = std::make_unique<Pool>(s_, cluster, product);
  return *made;
}

const ReservedNodes& ClaimSearch::firm(const state::Job& job) {
  if (!firm_) firm_.emplace(s_, ReservedUntil::Part::kFirm);
  return firm_->from(state::sure_end(s_, job));
}

std::optional<ClaimFound> ClaimSearch::by_quota(const state::Job& job, AccountId reach,
                                                ProductId product) {
  Pool& shared = pool(job.id.cluster(), product);
  const Candidates& candidates = shared.candidates;
  WhatIf what_if(s_, search_, job, candidates, firm(job));
  Givers givers(s_, candidates, job, reach);
  const GangArea gang = area_of(s_.fleet().request(job.shape));
  const auto by_unit = [&](GangArea area) {
    const Units& units = shared.units(s_, area.group);
    const Givers all(s_, candidates, job, reach);
    return ByUnit(what_if, all, candidates, units, units.in_order(all, area, what_if.need()));
  };
  std::optional<Needed> needed;
  const Units* complete = nullptr;  // if set: `needed` has all givers of some of these units
  if (what_if.need() > candidates.largest_node()) {
    if (auto placement = what_if.find({})) {
      needed = Needed{*std::move(placement), {}};
    } else {
      ByUnit search = by_unit(gang);
      needed = gang.one ? search.find_one() : search.find_first();
      if (needed) complete = &shared.units(s_, gang.group);
    }
  }
  if (!needed) needed = ByGiver(what_if, QuotaOrder(s_, givers, candidates, reach)).find();
  // The givers at the front of the order may have given all that their accounts give, on nodes
  // where that does not help. So this search tries sets of jobs, unit by unit.
  if (!needed && givers.any_gave()) {
    const bool in_one = gang.one || job.gang_size == 1;
    needed = by_unit({gang.group}).find_set({gang.group, in_one, gang.exclusive}, what_if.need());
  }
  if (!needed) return std::nullopt;
  const auto may_fit = [&](const std::vector<Giver>& some) {
    return complete == nullptr || complete->may_fit(some, gang, what_if.need());
  };
  return finish(s_, what_if, job, candidates, *std::move(needed), may_fit, ClaimRight::kReclaim);
}

std::optional<ClaimFound> ClaimSearch::by_class(const state::Job& job, ProductId product) {
  const Candidates& candidates = pool(job.id.cluster(), product).candidates;
  ClassOrder order(s_, candidates, job);
  if (order.all().empty()) return std::nullopt;
  WhatIf what_if(s_, search_, job, candidates, firm(job));
  std::optional<Needed> needed = ByGiver(what_if, std::move(order)).find();
  if (!needed) return std::nullopt;
  const auto any = [](const std::vector<Giver>& /*some*/) { return true; };
  return finish(s_, what_if, job, candidates, *std::move(needed), any, ClaimRight::kClass);
}

std::optional<ClaimFound> ClaimSearch::find(const state::Job& job) {
  must(job.state == JobState::kQueued && job.shape, "a claimant is queued");
  if (needs_replacements(s_.fleet(), job.shape)) return std::nullopt;
  if (!search_.fits_empty_fleet(job.shape)) return std::nullopt;
  const MilliGpu need = state::least_milligpu(s_.fleet(), job);
  if (need == 0) return std::nullopt;
  const ProductId only = state::only_product(s_.fleet(), s_.fleet().request(job.shape));
  // Returns the first claim that `find_on` finds, over the products that the job may use.
  const auto first_of = [&](const auto& find_on) -> std::optional<ClaimFound> {
    for (const ProductId product : products_) {
      const ProductDemand demand{product, need};
      if (only && demand.first != only) continue;
      if (auto found = find_on(demand, reach_of(s_, job.leaf, {&demand, 1}))) return found;
    }
    return std::nullopt;
  };
  if (reclaims(s_)) {
    auto found = first_of([&](const ProductDemand& demand, AccountId reach) {
      const bool may = reach && !broken_promise(s_, job, {&demand, 1});
      return may ? by_quota(job, reach, demand.first) : std::nullopt;
    });
    if (found) return found;
  }
  if (!preempts_by_class(s_, job)) return std::nullopt;
  return first_of([&](const ProductDemand& demand, AccountId reach) {
    const bool may = reach == kRootAccount || !is_fixed(s_, job);
    return may ? by_class(job, demand.first) : std::nullopt;
  });
}

void ClaimSearch::follow(const state::Claim& claim) {
  for (const auto& [key, pool] : pools_) pool->candidates.follow(claim);
}

}  // namespace subak::derive
