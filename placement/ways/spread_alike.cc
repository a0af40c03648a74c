// Spreads a run over as few domains and nodes as possible, as spread.cc does, but counts nodes in
// the same GPU state together. Until the code chooses a node, it counts the pods that fit by GPUs
// alone. If fewer pods fit on the chosen node, because of CPU or a port, the result is undecided.
// The caller then looks at each node.
#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "core/must.h"
#include "placement/trial/alike.h"
#include "placement/ways/spread.h"

namespace subak {
namespace {

// The nodes that have room for pods of the run: those with holds, or those without.
struct NodeClass {
  bool broken = false;       // with holds
  std::int64_t pods = 0;     // that fit, at most
  std::vector<Equals> lone;  // domains of one node; key: most pods, least weight
  // The domains of several nodes. In this list CapDomain::begin is the domain's index, and
  // CapDomain::end is the largest number of pods on one of its nodes.
  std::vector<CapDomain> joined;
};
using Classes = std::array<NodeClass, 2>;  // without holds, with holds

// Counts the pods of one run that fit on nodes, by the GPU states of the nodes.
class StateCounts {
 public:
  StateCounts(GangAttempt& a, const Bounds& bounds, const Run& run)
      : a_(a), q_(a.query()), bounds_(bounds), run_(run), x_(run.index) {}

  Classes classes() {
    Classes out;
    out[1].broken = true;
    std::vector<std::int64_t> caps(x_.numbers());
    bool joined = false;
    each_state([&](const GpuState& s, std::uint32_t number, std::int64_t pods) {
      caps[number] = pods;
      NodeClass& node_class = out[x_.fragment(s) ? 1 : 0];
      node_class.pods += pods * static_cast<std::int64_t>(x_.alike(number).size());
      joined = joined || joined_alike(number);
      if (!joined_alike(number)) {
        node_class.lone.push_back({{-pods, x_.weight(s)}, pods, &x_.alike(number), 0});
      }
    });
    const TrialRooms& tried = a_.trial().nodes();
    for (std::size_t k = 0; k < tried.touched(); ++k) {
      const NodeIndex i = tried.touched_node(k);
      const bool lone = x_.knows(i) && x_.alike_of(i) != kNotAlike && !joined_alike(x_.alike_of(i));
      const std::int64_t pods = lone ? a_.cap(bounds_, run_, i, kAllGpus, run_.count) : 0;
      if (pods == 0) continue;
      out[q_.fragment(x_, i) ? 1 : 0].lone.push_back({{-pods, q_.weight(x_, i)}, pods, nullptr, i});
    }
    if (joined) add_joined(caps, out);
    return out;
  }

  // Calls fn(state, number, pods) for each state within the bounds with room for pods by GPUs.
  template <class F>
  void each_state(F&& fn) const {
    for (const std::uint32_t number : x_.live()) {
      const GpuState& s = q_.fleet.states[state_of_alike(number)];
      if (!q_.within(bounds_, x_, s)) continue;
      const std::int64_t pods =
          pods_that_fit(s.spec, s.room, *run_.pods->shape, kAllGpus, run_.count, kOnlyGpus);
      if (pods > 0) fn(s, number, pods);
    }
  }

 private:
  // Adds the domains of several nodes. `caps` has the pods that fit on a node, by the number of the
  // node's state.
  void add_joined(const std::vector<std::int64_t>& caps, Classes& classes) {
    const bool some_not = x_.any_backed_off() || q_.scene.reserved != nullptr || q_.leaves_some ||
                          q_.uses_compute_domain;
    for (const DomainIndex d : x_.joined()) {
      std::array<CapDomain, 2> here{};
      for (const NodeIndex m : q_.members(d)) {
        if (!x_.knows(m) || x_.alike_of(m) == kNotAlike) continue;
        const std::uint32_t number = x_.alike_of(m);
        must(number < caps.size(), "what fits is known of each state");
        std::int64_t pods = caps[number];
        if (pods == 0 || (some_not && !a_.eligible(bounds_, x_, m))) continue;
        if (a_.differs(m)) pods = a_.cap(bounds_, run_, m, kAllGpus, run_.count);
        CapDomain& part = here[x_.fragment(q_.fleet.states[state_of_alike(number)]) ? 1 : 0];
        part.pods += pods;
        part.end = std::max(part.end, static_cast<std::size_t>(pods));
      }
      for (std::size_t k = 0; k < here.size(); ++k) {
        if (here[k].pods == 0) continue;
        here[k].key = q_.domain_key(x_, d);
        here[k].begin = d;
        classes[k].joined.push_back(here[k]);
      }
    }
  }

  GangAttempt& a_;
  const Query& q_;
  const Bounds& bounds_;
  const Run& run_;
  const Index& x_;
};

// Places pods of a run on nodes of one class. The code takes the nodes and domains with room for
// the most pods first, until one of them is enough for the rest. It fails as soon as a node has
// room for fewer pods than its class says.
class FillClass {
 public:
  FillClass(GangAttempt& a, const Bounds& bounds, const Run& run, NodeClass& node_class,
            std::uint32_t pods)
      : a_(a),
        bounds_(bounds),
        run_(run),
        class_(node_class),
        left_{run.pods, run.index, run.rank, pods},
        touched_(a.trial().nodes().touched()) {}

  bool fill() {
    std::vector<CapDomain>& domains = class_.joined;
    std::sort(domains.begin(), domains.end(), [](const CapDomain& a, const CapDomain& b) {
      return a.pods != b.pods ? a.pods > b.pods : a.key < b.key;
    });
    auto joined = domains.begin();
    BestFirst lone(class_.lone);
    bool more = next_single_node(lone);
    while (left_.count > 0) {
      if (!more && joined == domains.end()) return false;
      const std::int64_t here = more ? lone.of().pods : 0;
      const std::int64_t there = joined == domains.end() ? 0 : joined->pods;
      if (std::max(here, there) >= left_.count) {
        domains.erase(domains.begin(), joined);
        return finish();
      }
      const FitKey key{more ? lone.of().key[1] : 0, lone.node(), 0, 0, 0};
      if (here > there || (here == there && key < joined->key)) {
        if (!take_single_node(lone.node(), here)) return false;
        more = next_single_node(lone);
      } else {
        if (!take_joined(*joined)) return false;
        ++joined;
      }
    }
    return true;
  }

 private:
  // True if the node is in the set of a state that does not describe it, because the snapshot
  // differs, or because the trial had touched the node before this fill began. Such a node has an
  // entry of its own. A node that this fill has touched is taken already.
  bool apart(const BestFirst& nodes) const {
    return nodes.of().alike != nullptr && a_.differs(nodes.node(), touched_);
  }

  bool next_single_node(BestFirst& lone) {
    while (lone.next()) {
      if (!apart(lone) && a_.eligible(bounds_, run_.index, lone.node())) return true;
    }
    return false;
  }

  // Places the rest in a single domain. Domains with a single node that has room for the rest come
  // first, then the tightest domains.
  bool finish() {
    must(left_.count > 0, "a spread ends where some pods are left");
    std::vector<Equals> enough;
    for (const Equals& e : class_.lone) {
      if (e.pods < left_.count) continue;
      enough.push_back(e);
      enough.back().key = {e.key[1], 0};
    }
    BestFirst lone(std::move(enough));
    bool found = false;
    while (!found && lone.next()) {
      const NodeIndex i = lone.node();
      const TrialRooms& tried = a_.trial().nodes();
      const bool taken = tried.find(i) != nullptr && !tried.among_first(i, touched_);
      found = !taken && !apart(lone) && a_.eligible(bounds_, run_.index, i);
    }
    const CapDomain* best = nullptr;
    const auto order = [&](const CapDomain& d) {
      return std::pair(static_cast<std::int64_t>(d.end) < left_.count, d.key);
    };
    for (const CapDomain& d : class_.joined) {
      if (d.pods >= left_.count && (best == nullptr || order(d) < order(*best))) best = &d;
    }
    if (found) {
      const FitKey key{lone.of().key[0], lone.node(), 0, 0, 0};
      if (best == nullptr || std::pair(false, key) < order(*best)) {
        return take_single_node(lone.node(), lone.of().pods);
      }
    }
    return best != nullptr && take_joined(*best);
  }

  bool take_single_node(NodeIndex i, std::int64_t pods) {
    const auto take = static_cast<std::uint32_t>(std::min<std::int64_t>(pods, left_.count));
    const std::int64_t fits = a_.cap(bounds_, run_, i, kAllGpus, run_.count);
    if (fits < take || (take < left_.count && fits != pods)) return false;
    const Run here{left_.pods, left_.index, left_.rank, take};
    if (!a_.place(bounds_, here, i, kAllGpus)) return false;
    drop_first(left_, take);
    return true;
  }

  bool take_joined(const CapDomain& domain) {
    const Query& q = a_.query();
    const auto d = static_cast<DomainIndex>(domain.begin);
    std::vector<Cap> caps;
    std::int64_t pods = 0;
    for (const NodeIndex m : q.members(d)) {
      const std::int64_t here = a_.cap(bounds_, run_, m, kAllGpus, run_.count);
      if (here == 0 || q.fragment(run_.index, m) != class_.broken) continue;
      pods += here;
      caps.push_back({m, d, here, q.weight(run_.index, m)});
    }
    if (pods != domain.pods) return false;
    std::sort(caps.begin(), caps.end(), [](const Cap& a, const Cap& b) {
      if (a.pods != b.pods) return a.pods > b.pods;
      return a.weight != b.weight ? a.weight < b.weight : a.node < b.node;
    });
    return fill_domain(a_, bounds_, left_, caps, {domain.key, domain.pods, 0, caps.size()});
  }

  GangAttempt& a_;
  const Bounds& bounds_;
  const Run& run_;    // a node's room is counted for all its pods
  NodeClass& class_;  // sorted and used up
  Run left_;          // pods that are not placed yet
  const std::size_t touched_;
};

// Places a run that may need nodes of both classes. It uses nodes without holds only if the nodes
// with holds do not have room for all pods, so it first counts the pods that fit on nodes with
// holds. nullopt: undecided; the caller undoes what is on trial.
std::optional<bool> spread_mixed(GangAttempt& a, const Bounds& bounds, const Run& run,
                                 const StateCounts& counts, Classes& all) {
  auto& [whole, broken] = all;
  must(!whole.broken && broken.broken, "the first class is of nodes without holds");
  const Query& q = a.query();
  const Index& x = run.index;
  const bool exact =
      !x.any_backed_off() && q.scene.reserved == nullptr && a.trial().nodes().touched() == 0;
  if (!exact || broken.pods >= run.count) return std::nullopt;
  std::vector<Cap> fragments;
  // The pods that fit on a node, and the number of the node's state.
  std::vector<std::pair<std::int64_t, std::uint32_t>> wholes;
  counts.each_state([&](const GpuState& s, std::uint32_t number, std::int64_t pods) {
    if (!x.fragment(s)) {
      wholes.emplace_back(pods, number);
      return;
    }
    for (const NodeIndex i : x.alike(number)) {
      const std::int64_t here = a.cap(bounds, run, i, kAllGpus, run.count);
      if (here > 0) fragments.push_back({i, q.node(i).domain, here, x.weight(s)});
    }
  });
  std::int64_t missing = run.count;
  for (const Cap& c : fragments) missing -= c.pods;
  std::sort(wholes.begin(), wholes.end(), std::greater<>());
  std::int64_t filled = 0;
  for (const auto& [pods, number] : wholes) {
    for (const NodeIndex i : x.alike(number)) {
      if (filled >= missing) break;
      if (a.cap(bounds, run, i, kAllGpus, run.count) != pods) return std::nullopt;
      filled += pods;
    }
  }
  if (filled < missing) return std::nullopt;
  const auto first = static_cast<std::uint32_t>(std::min<std::int64_t>(filled, run.count));
  Run rest = run;
  drop_first(rest, first);
  const bool ok =
      FillClass(a, bounds, run, whole, first).fill() && spread_caps(a, bounds, rest, fragments);
  return ok ? std::optional(true) : std::nullopt;
}

}  // namespace

std::optional<bool> spread_alike(GangAttempt& a, const Bounds& bounds, const Run& run) {
  const Query& q = a.query();
  if (!q.by_state || q.scene.overlay != nullptr) return std::nullopt;
  StateCounts counts(a, bounds, run);
  Classes all = counts.classes();
  auto& [whole, broken] = all;
  if (whole.pods + broken.pods < run.count) return false;
  const std::size_t mark = a.trial().mark();
  std::optional<bool> decided;
  if (whole.pods > 0 && broken.pods > 0) {
    decided = spread_mixed(a, bounds, run, counts, all);
  } else if (FillClass(a, bounds, run, whole.pods > 0 ? whole : broken, run.count).fill()) {
    decided = true;
  }
  if (decided) {
    must(a.trial().mark() == mark + run.count, "a spread by states places all its pods");
    sort_ranks(a, run);
  } else {
    a.trial().undo_to(mark);
  }
  return decided;
}

}  // namespace subak
