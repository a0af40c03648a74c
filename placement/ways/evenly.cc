// Places pods with topology spread constraints one by one, each in the domain with the fewest pods.
// For one constraint this is exact: no other placement has more pods in the emptiest domain, or
// fewer in the fullest. With several constraints, the domains of the constraint with the fewest
// domains come first, and the search may miss a placement.
#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "placement/ways/spread.h"
#include "placement/ways/ways.h"

namespace subak {
namespace {

// A node with room for a pod. The first node in this order gets the next pod of its domain.
struct Candidate {
  std::vector<std::int64_t> load;  // PodRules::load() when the candidate was listed
  std::int64_t weight = 0;         // Query::weight()
  NodeIndex node = 0;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

class EvenRun {
 public:
  EvenRun(GangAttempt& a, const Bounds& bounds, const Run& run)
      : a_(a), bounds_(bounds), run_(run), outer_(a.rules().spread(*run.pods).front()) {
    a.query().each_node(nullptr, [&](NodeIndex i) {
      if (a_.cap(bounds_, run_, i, kAllGpus, 1) > 0) list(i);
      return false;
    });
    for (const auto& [domain, nodes] : nodes_) order_.emplace(outer_.pods[domain], domain);
  }

  // Places all pods of the run, or those that have room. Returns true if all have.
  bool place() {
    Run one = run_;
    one.count = 1;
    for (; one.rank < run_.rank + run_.count; ++one.rank) {
      if (!place(one)) return false;
    }
    return true;
  }

 private:
  void list(NodeIndex i) {
    nodes_[outer_.domain_of[i]].push(
        {a_.rules().load(*run_.pods, i), a_.query().weight(run_.index, i), i});
  }

  bool place(const Run& one) {
    while (!order_.empty()) {
      const std::uint32_t domain = order_.begin()->second;
      order_.erase(order_.begin());
      const bool placed = place_in(nodes_[domain], one);
      if (!nodes_[domain].empty()) order_.emplace(outer_.pods[domain], domain);
      if (placed) return true;
    }
    return false;
  }

  using Nodes = std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>>;
  // Places a pod on the first node. Loads only grow, so a node whose load has grown goes back.
  bool place_in(Nodes& nodes, const Run& one) {
    while (!nodes.empty()) {
      const Candidate first = nodes.top();
      nodes.pop();
      if (a_.rules().load(*run_.pods, first.node) != first.load) {
        list(first.node);
        continue;
      }
      if (!a_.place(bounds_, one, first.node, kAllGpus)) continue;
      list(first.node);
      return true;
    }
    return false;
  }

  GangAttempt& a_;
  const Bounds& bounds_;
  const Run& run_;
  const SpreadRule& outer_;
  std::map<std::uint32_t, Nodes> nodes_;                    // by domain
  std::set<std::pair<std::int64_t, std::uint32_t>> order_;  // pods of the domain, domain
};

}  // namespace

bool evenly(GangAttempt& a, const Bounds& outer, const Runs& runs) {
  if (!a.rules().any()) return false;
  Bounds bounds = outer;
  bounds.any_skew = true;
  const std::size_t mark = a.trial().mark();
  const bool ok = std::all_of(runs.begin(), runs.end(), [&](const Run& run) {
    if (a.rules().spread(*run.pods).empty()) return anywhere(a, bounds, Runs{run});
    if (!EvenRun(a, bounds, run).place()) return false;
    sort_ranks(a, run);
    return true;
  });
  if (!ok) a.trial().undo_to(mark);
  must(a.trial().mark() == (ok ? mark + pods_of(runs) : mark), "an even spread is complete");
  return ok;
}

}  // namespace subak
