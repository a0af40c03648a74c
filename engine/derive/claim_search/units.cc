#include "engine/derive/claim_search/units.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "core/must.h"
#include "placement/fleet/queries.h"

namespace subak::derive {

MilliGpu loss_of(const State& s, const Giver& giver) {
  return giver.milligpu * std::max<DurationMs>(0, s.now() - giver.job->run().started_ms) /
         kMinuteMs;
}

Units::Units(const State& s, const Candidates& candidates, GangArea::Group kind)
    : s_(s), candidates_(candidates), units_of_(candidates.givers().size()) {
  std::map<std::uint32_t, std::uint32_t> by_number;
  for (const NodeId node : candidates.nodes()) {
    const std::uint32_t number = kind == GangArea::Group::kNode     ? node.value
                                 : kind == GangArea::Group::kDomain ? wired_domain(s.fleet(), node)
                                                                    : rack_of(s.fleet(), node);
    const auto [at, fresh] = by_number.emplace(number, units_.size());
    if (fresh) units_.emplace_back().lowest = node;
    Unit& unit = units_[at->second];
    const NodeLevels levels = s.fleet().levels(node);
    unit.free += levels.idle + levels.unusable;
    unit.allocated += levels.allocated;
    add_pods(node, at->second);
  }
}

void Units::add_pods(NodeId node, std::uint32_t unit) {
  const std::span<const state::PodPlace> places = s_.allocations().on(node);
  const std::span<const state::Job* const> jobs = s_.allocations().jobs_on(node);
  const std::vector<Giver>& givers = candidates_.givers();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const state::Job& job = *jobs[i];
    const MilliGpu milligpu = job.pods[places[i].rank].slot.milligpu;
    if (job.state == JobState::kEnding) {
      units_[unit].ending += milligpu;
      continue;
    }
    const auto giver = std::lower_bound(givers.begin(), givers.end(), job.id,
                                        [](const Giver& g, JobId id) { return g.job->id < id; });
    if (giver != givers.end() && giver->job == &job) add_part(giver->index, unit, milligpu);
  }
}

void Units::add_part(std::uint32_t index, std::uint32_t unit, MilliGpu milligpu) {
  std::vector<Part>& units = units_of_[index];
  std::vector<Part>& parts = units_[unit].parts;
  const auto same = [](std::uint32_t of) {
    return [of](const Part& part) { return part.of == of; };
  };
  const auto known = std::find_if(units.begin(), units.end(), same(unit));
  if (known == units.end()) {
    units.push_back({unit, milligpu});
    parts.push_back({index, milligpu});
    return;
  }
  known->milligpu += milligpu;
  const auto part = std::find_if(parts.begin(), parts.end(), same(index));
  must(part != parts.end(), "a job's unit has a part of the job");
  part->milligpu += milligpu;
}

// The figures of accounts. Each account is computed once.
struct Units::Accounts {
  struct Account {
    bool willing = false;
    // What the account holds beyond its quota. nullopt: the accounts above decide.
    std::optional<MilliGpu> excess;
    // The milli-GPU of the account's givers in the present unit.
    MilliGpu here = 0;
  };
  const State& s;
  const Givers& givers;
  std::map<AccountId, Account> known;
  // The accounts whose `here` is above 0.
  std::vector<Account*> summed;

  Account& of(AccountId id) {
    const auto [at, fresh] = known.try_emplace(id);
    if (fresh) at->second = {givers.is_willing(id), givers.beyond_quota(id), 0};
    return at->second;
  }
  void add(AccountId leaf, MilliGpu milligpu) {
    for (AccountId id = leaf; !givers.is_common(id); id = s.tree().node(id).parent) {
      Account& account = of(id);
      if (account.here == 0) summed.push_back(&account);
      account.here += milligpu;
    }
  }
  // Returns the least amount that an account in `summed` would still hold beyond its quota. Clears
  // the sums.
  MilliGpu take_least() {
    MilliGpu least = std::numeric_limits<MilliGpu>::max();
    for (Account* const account : summed) {
      if (account->excess) least = std::min(least, *account->excess - account->here);
      account->here = 0;
    }
    summed.clear();
    return least;
  }
};

bool Units::is_enough(const Unit& unit, MilliGpu gone, GangArea gang, MilliGpu need) {
  if (gang.exclusive && unit.allocated > unit.ending + gone) return false;
  return unit.free + unit.ending + gone >= need;
}

std::optional<Units::Rank> Units::rank_of(std::uint32_t unit, Accounts& accounts, GangArea gang,
                                          MilliGpu need) const {
  Rank rank{unit, false, 0, 0};
  MilliGpu gone = 0;
  for (const Part& part : units_[unit].parts) {
    const Giver& giver = candidates_.givers()[part.of];
    if (!candidates_.may_give(part.of) || !accounts.of(giver.job->leaf).willing) continue;
    accounts.add(giver.job->leaf, giver.milligpu);
    rank.slow = rank.slow || is_slow(s_, *giver.job);
    rank.loss += loss_of(s_, giver);
    gone += part.milligpu;
  }
  rank.excess = accounts.take_least();
  if (gone == 0 || (gang.one && !is_enough(units_[unit], gone, gang, need))) return std::nullopt;
  return rank;
}

std::vector<std::uint32_t> Units::in_order(const Givers& givers, GangArea gang,
                                           MilliGpu need) const {
  Accounts accounts{s_, givers, {}, {}};
  std::vector<Rank> ranks;
  for (std::uint32_t unit = 0; unit < units_.size(); ++unit) {
    if (const auto rank = rank_of(unit, accounts, gang, need)) ranks.push_back(*rank);
  }
  const auto key = [&](const Rank& r) {
    return std::tuple(r.slow, -r.excess, r.loss, units_[r.unit].lowest);
  };
  std::sort(ranks.begin(), ranks.end(),
            [&](const Rank& a, const Rank& b) { return key(a) < key(b); });
  std::vector<std::uint32_t> order;
  order.reserve(ranks.size());
  for (const Rank& rank : ranks) order.push_back(rank.unit);
  return order;
}

std::vector<Giver> Units::givers_in(std::uint32_t unit, const Givers& givers) const {
  std::vector<Giver> out;
  for (const Part& part : units_[unit].parts) {
    const Giver& giver = candidates_.givers()[part.of];
    if (candidates_.may_give(part.of) && givers.is_willing(giver.job->leaf)) out.push_back(giver);
  }
  return out;
}

bool Units::may_fit(const std::vector<Giver>& gone, GangArea gang, MilliGpu need) const {
  if (!gang.one) return true;
  std::map<std::uint32_t, MilliGpu> sums;
  for (const Giver& giver : gone) {
    for (const Part& part : units_of_[giver.index]) sums[part.of] += part.milligpu;
  }
  return std::any_of(sums.begin(), sums.end(), [&](const auto& sum) {
    return is_enough(units_[sum.first], sum.second, gang, need);
  });
}

}  // namespace subak::derive
