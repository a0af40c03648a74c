#include "placement/explain/mig_plan.h"

#include <algorithm>
#include <bit>
#include <set>

#include "core/limits.h"
#include "core/must.h"
#include "model/mig.h"
#include "placement/fleet/fleet_impl.h"
#include "placement/gpus/mig_config.h"

namespace subak {
namespace {

// Amounts by profile. The empty profile stands for whole GPUs.
using Amounts = std::map<std::string, std::int64_t>;
const std::string kWhole;

std::int64_t amount_of(const Amounts& amounts, const std::string& profile) {
  const auto it = amounts.find(profile);
  return it == amounts.end() ? 0 : it->second;
}

// Returns the smallest profile of a card with this many compute slices; nullptr if there is none.
const MigProfile* smallest(const MigGeometry& card, int compute) {
  const MigProfile* best = nullptr;
  for (const MigProfile& p : card.profiles) {
    const bool plain = p.name.find_first_of(".-", p.name.find("gb")) == std::string_view::npos;
    if (!plain || p.compute != compute) continue;
    if (best == nullptr || p.units < best->units) best = &p;
  }
  return best;
}

// Returns the slices of a card with configuration kMigAllMixed.
Amounts mixed(const MigGeometry& card) {
  Amounts out;
  for (const auto& [compute, count] : {std::pair{1, 2}, {2, 1}, {3, 1}}) {
    const MigProfile* const p = smallest(card, compute);
    if (p != nullptr) out[std::string(p->name)] += count;
  }
  return out;
}

// Returns the slices and whole GPUs that one card offers with each configuration, by the
// configuration's name.
std::map<std::string, Amounts> configurations(const MigGeometry& card) {
  std::map<std::string, Amounts> out;
  out[std::string(kMigAllDisabled)] = {{kWhole, 1}};
  out[std::string(kMigAllMixed)] = mixed(card);
  for (const MigProfile& p : card.profiles) {
    out[std::string(kMigAll) + std::string(p.name)] = {{std::string(p.name), p.max_count}};
  }
  return out;
}

class Planner {
 public:
  Planner(const Fleet& fleet, ClusterId cluster, const MigDemand& waiting,
          const std::set<NodeId>& reserved) {
    for (const auto& [profile, count] : waiting.slices) waiting_[profile] = count;
    waiting_[kWhole] = waiting.gpus;
    for (const NodeId id : fleet.nodes(cluster)) look_at(id, fleet.impl().at(id), reserved);
  }

  MigPlan plan() const {
    MigPlan out;
    for (const auto& [profile, total] : totals_) {
      out.profiles.push_back(total);
      MigProfileTotals& row = out.profiles.back();
      row.profile = profile;
      row.waiting = amount_of(waiting_, profile);
      row.free = amount_of(free_, profile);
      row.possible = row.free + amount_of(could_gain_, profile);
    }
    for (const auto& [name, count] : waiting_) {
      if (name == kWhole || count == 0 || totals_.contains(name)) continue;
      out.profiles.push_back({name, 0, 0, 0, count, amount_of(could_gain_, name)});
    }
    std::sort(out.profiles.begin(), out.profiles.end(),
              [](const auto& a, const auto& b) { return a.profile < b.profile; });
    for (const std::string& config : configs_) consider(config, out.advice);
    return out;
  }

 private:
  // A node whose configuration may change.
  struct Idle {
    NodeId id;
    const NodeState* node = nullptr;
    Amounts free;
    const std::map<std::string, Amounts>* configs = nullptr;  // of one card
  };

  void look_at(NodeId id, const NodeState& n, const std::set<NodeId>& reserved) {
    for (const MigSlices& m : n.spec.mig) totals_[m.profile].configured += m.count;
    for (const MigUse& u : n.load.mig_used) {
      if (u.slices > 0) totals_[u.profile].used += u.slices;
    }
    if (!n.open()) return;
    Amounts free;
    for (std::size_t i = 0; i < n.spec.mig.size(); ++i) {
      free[n.spec.mig[i].profile] += n.room.mig_free[i];
    }
    free[kWhole] = std::popcount(n.room.whole);
    for (const auto& [profile, count] : free) free_[profile] += count;
    const MigGeometry* const card = mig_geometry(n.spec.product);
    const bool idle = n.load.holds.empty() && n.claims.all.empty() && !reserved.contains(id);
    if (card == nullptr || !idle || n.spec.gpus == 0 || n.spec.replicas > 1) return;
    if (n.spec.unhealthy_gpus > 0) return;
    auto [configs, is_new] = by_card_.try_emplace(card);
    if (is_new) configs->second = configurations(*card);
    for (const auto& [name, offer] : configs->second) configs_.insert(name);
    for (const MigProfile& p : card->profiles) {
      const std::string profile(p.name);
      const MilliGpu cost = mig_slice_milligpu(n.spec.product, profile).value_or(0);
      const auto [known, first] = cost_.try_emplace(profile, cost);
      if (!first) known->second = std::min(known->second, cost);
      const std::int64_t more = p.max_count * n.spec.gpus - amount_of(free, profile);
      if (more > 0) could_gain_[profile] += more;
    }
    idle_.push_back({id, &n, std::move(free), &configs->second});
  }

  std::int64_t served(const std::string& profile, std::int64_t free) const {
    return std::min(amount_of(waiting_, profile), free);
  }

  // Applies the configuration to each idle node where this serves more, and replaces `best` if the
  // gain is larger.
  void consider(const std::string& config, MigAdvice& best) const {
    MigAdvice advice{config, {}, {}, 0, 0};
    Amounts free = free_;
    for (const Idle& idle : idle_) {
      const auto offer = idle.configs->find(config);
      if (offer == idle.configs->end()) continue;
      if (std::ssize(advice.nodes) == limits::kDefaultPageSize) break;
      Amounts change;
      for (const auto& [profile, count] : offer->second) {
        change[profile] += count * idle.node->spec.gpus;
      }
      for (const auto& [profile, count] : idle.free) change[profile] -= count;
      const MilliGpu gain = gain_of(free, change);
      if (gain <= 0) continue;
      for (const auto& [profile, count] : change) free[profile] += count;
      advice.gain += gain;
      advice.nodes.push_back(idle.id);
    }
    const bool better = advice.gain > best.gain ||
                        (advice.gain == best.gain && advice.nodes.size() < best.nodes.size());
    if (advice.gain == 0 || !better) return;
    for (const auto& [profile, count] : free) {
      const std::int64_t more = served(profile, count) - served(profile, amount_of(free_, profile));
      must(more >= 0, "advice takes nothing from what could start now");
      if (profile == kWhole) {
        advice.gpus = more;
      } else if (more > 0) {
        advice.slices.push_back({profile, more});
      }
    }
    best = std::move(advice);
  }

  // Returns how much more of the demand can start after a change of the free amounts, in milli-GPU.
  // Returns 0 if less of the demand for some profile could start.
  MilliGpu gain_of(const Amounts& free, const Amounts& change) const {
    MilliGpu gain = 0;
    for (const auto& [profile, count] : change) {
      const std::int64_t now = amount_of(free, profile);
      const std::int64_t more = served(profile, now + count) - served(profile, now);
      if (more < 0) return 0;
      const auto cost = cost_.find(profile);
      gain += more * (profile == kWhole ? kMilliPerGpu : cost == cost_.end() ? 0 : cost->second);
    }
    return gain;
  }

  Amounts waiting_, free_;
  // For each profile, the slices that idle nodes could offer in addition to their free slices.
  Amounts could_gain_;
  std::map<std::string, MilliGpu> cost_;
  std::map<std::string, MigProfileTotals> totals_;
  std::map<const MigGeometry*, std::map<std::string, Amounts>> by_card_;
  std::set<std::string> configs_;
  std::vector<Idle> idle_;
};

}  // namespace

MigPlan mig_plan(const Fleet& fleet, ClusterId cluster, const MigDemand& waiting,
                 const std::set<NodeId>& reserved) {
  return Planner(fleet, cluster, waiting, reserved).plan();
}

}  // namespace subak
