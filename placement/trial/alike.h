// Finds the best nodes for a run, which is a sequence of equal pods of a gang, without a look at
// each node. Nodes with equal free GPUs and slices are in one GPU state
// (placement/fleet/gpu_state.h). A fleet has far fewer states than nodes, so the functions rate
// each state once. The steps of a search (placement/ways) call these functions.
// A node *differs* (GangAttempt::differs()) if the attempt sees it in another state than the live
// fleet. Examples: the search assumes that jobs there have ended, or it placed pods there on trial.
// The functions rate such nodes one by one.
// Threads: as the GangAttempt. Private to placement.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "placement/trial/attempt.h"

namespace subak {

// Nodes that serve a run (placement/trial/run.h) equally well by their GPUs, so that only their ids
// decide between them. These are the nodes of the live fleet in one state, or one node that
// differs.
struct Equals {
  // The key that `rank` of equals() offered. A smaller key is better.
  std::array<std::int64_t, 2> key{};
  // How many pods fit on each of these nodes by GPUs alone, as `rank` offered.
  std::int64_t pods = 0;
  // The nodes of the state, with those that differ. nullptr: `one` is the only node.
  const BlockSet<NodeIndex>* alike = nullptr;
  NodeIndex one = 0;
};

// Iterates over the nodes of all Equals, by key, then by id: from the best node to the worst. It
// opens the nodes of a key only when it reaches the key. The sets of nodes must not change
// meanwhile.
class BestFirst {
 public:
  // Stores the sources as a heap. So an iteration that ends early costs O(sources).
  explicit BestFirst(std::vector<Equals> of);
  // Moves to the next node; the first call moves to the first node. Returns false at the end.
  bool next();
  // The current node, and its Equals. Call next() before the first of these calls.
  NodeIndex node() const { return node_; }
  const Equals& of() const {
    must(of_ != nullptr, "next() comes before the first node");
    return *of_;
  }

 private:
  struct Cursor {
    const Equals* of;
    BlockSet<NodeIndex>::const_iterator at;
    NodeIndex node() const { return of->alike == nullptr ? of->one : *at; }
  };
  void open_next_group();

  std::vector<Equals> sources_;
  // How many of sources_ are not open yet. These are the first elements of sources_, as a heap.
  std::size_t unopened_ = 0;
  // The open sources. All have the same key.
  std::vector<Cursor> group_;
  NodeIndex node_ = 0;
  const Equals* of_ = nullptr;
};

// Calls rank(spec, room, weight, offer) for each state of the live fleet within the bounds, and
// for each node that differs. `room`: the free resources. `weight`: Query::weight(). `rank` calls
// offer(key, pods) once for each way in which the state or the node can serve the run. Returns all
// offers, in O(states + nodes that differ). An offer for a state also lists nodes that differ. The
// caller must skip these. It must also check that a node is eligible: a state does not show
// reservations or backoffs.
template <class Rank>
std::vector<Equals> equals(GangAttempt& a, const Bounds& bounds, const Index& x, Rank&& rank) {
  const Query& q = a.query();
  std::vector<Equals> out;
  for (const std::uint32_t number : x.live()) {
    const GpuState& s = q.fleet.states[state_of_alike(number)];
    if (!q.within(bounds, x, s)) continue;
    rank(s.spec, s.room, x.weight(s), [&](std::array<std::int64_t, 2> key, std::int64_t pods) {
      out.push_back({key, pods, &x.alike(number), 0});
    });
  }
  const auto consider = [&](NodeIndex i) {
    if (!x.knows(i) || !x.open(i) || (bounds.any() && !q.within(bounds, x, i))) return;
    rank(q.node(i).spec, a.room(i), q.weight(x, i),
         [&](std::array<std::int64_t, 2> key, std::int64_t pods) {
           out.push_back({key, pods, nullptr, i});
         });
  };
  const TrialRooms& tried = a.trial().nodes();
  for (std::size_t k = 0; k < tried.touched(); ++k) consider(tried.touched_node(k));
  if (q.scene.overlay == nullptr) return out;
  for (const Overlay::Node& n : q.scene.overlay->nodes) {
    if (tried.find(n.node) == nullptr) consider(n.node);
  }
  return out;
}

// Calls fn(node, key) for the eligible nodes of equals(), the best first, until fn returns true.
// Returns false if fn never does. If `rank` offers a node several times, fn gets the node once for
// each key. fn may place pods only if it then returns true.
template <class Rank, class F>
bool visit_alike(GangAttempt& a, const Bounds& bounds, const Index& x, Rank&& rank, F&& fn) {
  const std::size_t touched = a.trial().nodes().touched(), mark = a.trial().mark();
  BestFirst nodes(equals(a, bounds, x, rank));
  while (nodes.next()) {
    const NodeIndex i = nodes.node();
    if (nodes.of().alike != nullptr && a.differs(i, touched)) continue;
    if (a.eligible(bounds, x, i) && fn(i, nodes.of().key)) return true;
  }
  must(a.trial().mark() == mark, "a node that would not do has no pod");
  return false;
}

}  // namespace subak
