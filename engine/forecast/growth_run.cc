#include "engine/forecast/growth_run.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/decide.h"
#include "engine/state/observed/observed.h"
#include "engine/state/state.h"
#include "placement/search/pools.h"
#include "placement/search/search.h"

namespace subak {
namespace decide {
namespace {

// True if the node is new and does not take pods yet. A node that leaves the pool is not new, and a
// node that is not ready for long has failed.
bool is_starting(const State& s, NodeId id) {
  const NodeSpec& node = *s.fleet().node(id);
  return !s.fleet().takes_pods(id) && !s.fleet().drained(id) && !node.unschedulable &&
         !node.contradicts && leaving_taint(node) == nullptr && s.allocations().on(id).empty() &&
         s.nodes().seen_since(id) + limits::kPoolNodeStartMs > s.now();
}

// The simulated passes, and the nodes that the simulation added.
class GrowthRun {
 public:
  explicit GrowthRun(const ForecastBasis& basis) : search_(state_.fleet()) {
    for (const Fact& fact : basis.facts) state_.apply(fact);
    state_.set_seq(basis.seq);
    state_.advance(basis.time_ms);
  }

  Growth run(const std::function<bool()>& go_on) {
    Growth out;
    out.seq = state_.seq();
    out.time_ms = state_.now();
    settle(go_on);
    add_nodes(out);
    starts_.clear();
    settle(go_on);
    count(out);
    return out;
  }

 private:
  // Runs passes until no more jobs start.
  void settle(const std::function<bool()>& go_on) {
    for (bool started = true; started && (!go_on || go_on());) {
      state_.advance_tick();
      decide(d_, in::Pass{}, memory_);
      started = false;
      for (Fact& fact : std::exchange(d_.out.facts, {})) {
        auto* const f = std::get_if<fact::AttemptStarted>(&fact.body);
        if (f == nullptr) continue;
        started = true;
        starts_.push_back(*std::move(f));
      }
    }
  }

  // Adds the nodes that may come, and lets starting nodes take pods.
  void add_nodes(Growth& out) {
    const FleetPools& pools = state_.clusters().pools();
    for (const PoolNodes& nodes : pool_nodes(state_.fleet(), pools)) {
      const FleetPool& of = pools.all[nodes.pool];
      Growth::Pool& pool = out.pools.emplace_back();
      pool.name = of.pool.name;
      pool.cluster = of.cluster;
      pool.least = of.pool.least;
      pool.most = of.pool.most;
      pool.present = static_cast<std::uint32_t>(nodes.present.size());
      for (const NodeId id : nodes.present) {
        if (!is_starting(state_, id)) continue;
        ++pool.starting;
        NodeSpec node = of.pool.node;
        node.name = state_.fleet().node(id)->name;
        add(id, of.cluster, std::move(node), nodes.pool, false);
      }
      for (std::uint32_t i = 0; i < nodes.to_come; ++i) {
        if (state_.nodes().last().value >= limits::kMaxNodeIds) break;  // no id is left
        const NodeId id(state_.nodes().last().value + 1);
        add(id, of.cluster, of.node_to_come(i), nodes.pool, true);
      }
    }
    d_.out.facts.clear();
  }

  void add(NodeId id, ClusterId cluster, NodeSpec node, std::size_t pool, bool fresh) {
    d_.emit(fact::NodeSet{id, cluster, std::move(node), false, {}});
    added_[id] = {pool, fresh};
    must(state_.fleet().takes_pods(id), "a node that is added takes pods");
  }

  void count(Growth& out) const {
    std::set<NodeId> used;
    for (const fact::AttemptStarted& start : starts_) {
      std::set<NodeId> nodes;
      for (const PodSlot& slot : start.slots) {
        if (added_.contains(slot.node)) nodes.insert(slot.node);
      }
      if (nodes.empty()) continue;
      used.insert(nodes.begin(), nodes.end());
      Growth::Job& job = out.jobs.emplace_back();
      job.job = start.id;
      std::map<std::size_t, std::uint32_t> parts;
      for (const NodeId id : nodes) ++parts[added_.at(id).pool];
      for (const auto& [pool, count] : parts) job.parts.push_back({pool, count});
    }
    std::sort(out.jobs.begin(), out.jobs.end(),
              [](const Growth::Job& a, const Growth::Job& b) { return a.job < b.job; });
    for (const NodeId id : used) {
      if (added_.at(id).fresh) ++out.pools[added_.at(id).pool].wanted;
    }
    for (Growth::Pool& pool : out.pools) {
      if (pool.present < pool.least) {
        pool.wanted = std::max(pool.wanted, pool.least - pool.present);
      }
      must(pool.wanted == 0 || pool.present + pool.wanted <= pool.most, "a pool keeps its maximum");
    }
  }

  // A node that the simulation added or changed.
  struct Added {
    std::size_t pool = 0;
    // True: the node may come, and does not exist yet.
    bool fresh = false;
  };

  State state_{Books::kLeftOut};
  Search search_;
  PassMemory memory_;
  Observed observed_;
  const Input input_{};
  Decision d_{state_, observed_, search_, input_};
  std::map<NodeId, Added> added_;
  std::vector<fact::AttemptStarted> starts_;
};

}  // namespace
}  // namespace decide

Growth plan_growth(const ForecastBasis& basis, const std::function<bool()>& go_on) {
  const bool any_pool = std::any_of(basis.facts.begin(), basis.facts.end(), [](const Fact& fact) {
    const auto* const set = std::get_if<fact::PolicySet>(&fact.body);
    return set != nullptr && !set->policy.queue.node_pools.empty();
  });
  if (any_pool) return decide::GrowthRun(basis).run(go_on);
  Growth none;
  none.seq = basis.seq;
  none.time_ms = basis.time_ms;
  return none;
}

}  // namespace subak
