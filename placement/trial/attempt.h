// One attempt at placing a gang: which nodes its pods may use, how many fit there, and the pods put
// on trial. The ways of looking (placement/ways) are functions over a GangAttempt. Private to
// placement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "placement/trial/query.h"
#include "placement/trial/spare_nodes.h"
#include "placement/trial/trial.h"

namespace subak {

// How many pods of a run fit on a node, and its best-fit weight (Query::weight()).
struct Cap {
  // The node and its NVLink domain.
  NodeIndex node = 0;
  DomainIndex domain = 0;
  // How many pods fit; Caps (placement/ways/spread.h) says how sure that is.
  std::int64_t pods = 0;
  std::int64_t weight = 0;
};
// The same of an NVLink domain, whose nodes are [begin, end) of a list of Caps sorted by domain.
struct CapDomain {
  // The best-fit key of the domain.
  FitKey key{};
  std::int64_t pods = 0;
  // Its part of that list.
  std::size_t begin = 0, end = 0;
};

// Memory that is as long as the fleet. A Search owns it and lends it to one attempt at a time.
struct Workspace {
  // Of the trial that runs.
  TrialRooms rooms;
  // Of one spread at a time (placement/ways/spread.cc).
  std::vector<Cap> caps, wholes;
  std::vector<CapDomain> domains;
};

// Puts together what an attempt reads (Query), what it changes (Trial), and what it finds out about
// nodes on the way. A way of looking needs nothing else.
//
// Invariant: each pod on trial is on a node that its bounds allow and that was eligible when the
// pod came. An attempt finds one placement: begin another attempt for the next.
// Threads: as the Search that owns the workspace.
class GangAttempt {
 public:
  // As Query; the workspace outlives the attempt and serves no other one meanwhile.
  GangAttempt(Workspace& memory, const Shape& shape, const std::vector<Filter*>& filters,
              const Scene& scene, const Terms& terms, bool by_state);

  // What the attempt looks for. It does not change.
  const Query& query() const { return query_; }
  // To look at, to undo and to sort. Pods come there by place() below alone: Trial::place() does
  // not ask whether the node is eligible.
  Trial& trial() { return trial_; }
  // For the steps that need lists as long as the fleet.
  Workspace& memory() { return memory_; }
  // What the gang's own pods on trial leave free on the node.
  const Room& room(NodeIndex i) const { return trial_.room(i); }
  // True if some node was skipped because it is reserved for another owner.
  bool saw_reserved() const { return saw_reserved_; }

  // True if pods of this index may use the node: it matches and is open, is within the bounds, is
  // not reserved for others, and leaves enough nodes to spare. Says nothing of what is free there.
  bool eligible(const Bounds& bounds, const Index& x, NodeIndex i);
  // Returns how many pods of the run fit on these GPUs of the node, `limit` at most; 0 if it is not
  // eligible. `ignore`: constraints that do not count; as in the query if it is left out. It counts
  // what the gang's own pods on trial leave.
  std::int64_t cap(const Bounds& bounds, const Run& run, NodeIndex i, GpuMask allowed,
                   std::int64_t limit) {
    return cap(bounds, run, i, allowed, limit, query_.ignore);
  }
  std::int64_t cap(const Bounds& bounds, const Run& run, NodeIndex i, GpuMask allowed,
                   std::int64_t limit, const Ignore& ignore);
  // True if place_all() would succeed. Leaves the trial as it is.
  bool fits_all(const Bounds& bounds, const Runs& runs, NodeIndex i, GpuMask allowed);
  // Places all pods of the run, or of all runs, on these GPUs of the node. False: the node is not
  // eligible or has no room for all of them, and none is placed.
  bool place(const Bounds& bounds, const Run& run, NodeIndex i, GpuMask allowed);
  bool place_all(const Bounds& bounds, const Runs& runs, NodeIndex i, GpuMask allowed);
  // Places each of the runs by place_one(run), or none. If a run does not fit beside earlier ones,
  // it moves before them. Exact if the nodes that some runs may use are a subset of those of the
  // others.
  template <class F>
  bool each_of(const Runs& runs, F&& place_one) {
    constexpr int kOrders = 4;  // the orders tried in all
    const std::size_t mark = trial_.mark();
    Runs order = runs;
    for (int i = 0; i < kOrders; ++i) {
      const auto stuck = std::find_if_not(order.begin(), order.end(), place_one);
      if (stuck == order.end()) return true;
      trial_.undo_to(mark);
      if (stuck == order.begin()) return false;
      std::rotate(order.begin(), stuck, stuck + 1);
    }
    return false;
  }

  // True if the live fleet's state of the node does not describe it: it is one of the first
  // `touched` nodes of the trial, or the snapshot overlays it.
  bool differs(NodeIndex i, std::size_t touched) const {
    return trial_.nodes().among_first(i, touched) ||
           (query_.scene.overlay != nullptr && query_.scene.overlay->find(i) != nullptr);
  }
  bool differs(NodeIndex i) const { return differs(i, trial_.nodes().touched()); }

 private:
  // True if the gang uses a ComputeDomain and others have one there. Notes it if the domain may be
  // reserved for them.
  bool computed_by_others(NodeIndex i);

  const Query query_;
  Workspace& memory_;
  Trial trial_;
  SpareNodes spare_nodes_;
  std::map<NodeIndex, bool>
      computed_;  // of nodes queried so far: others have a ComputeDomain there
  bool saw_reserved_ = false;
};

}  // namespace subak
