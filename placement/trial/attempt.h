// One search for a placement of a gang. (Elsewhere in the code, an attempt is the try of a job to
// start.) A GangAttempt knows which nodes the gang's pods may use and how many pods fit there, and
// it places pods on trial. The ways of looking for a placement (placement/ways) are functions that
// take a GangAttempt.
// Private to placement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "placement/trial/query.h"
#include "placement/trial/spare_nodes.h"
#include "placement/trial/trial.h"

namespace subak {

// How many pods of a run fit on a node, and the node's best-fit weight (Query::weight()). A run is
// a sequence of pods of the gang that are alike (run.h).
struct Cap {
  // The node and its NVLink domain.
  NodeIndex node = 0;
  DomainIndex domain = 0;
  // How many pods fit. Caps (placement/ways/spread.h) says whether this number is exact.
  std::int64_t pods = 0;
  std::int64_t weight = 0;
};
// The same figures for an NVLink domain. Its nodes are the part [begin, end) of a list of Caps that
// is sorted by domain.
struct CapDomain {
  // The best-fit key of the domain.
  FitKey key{};
  std::int64_t pods = 0;
  // The part of the list with the domain's nodes.
  std::size_t begin = 0, end = 0;
};

// Working memory of attempts, whose size grows with the fleet. A Search owns the memory and lends
// it to one attempt at a time.
struct Workspace {
  // The rooms of the trial that runs.
  TrialRooms rooms;
  // Lists for one spread at a time (placement/ways/spread.cc). `caps`: nodes with room for pods.
  // `wholes`: the nodes without holds, if the spread separates them from the others.
  std::vector<Cap> caps, wholes;
  // The NVLink domains of the nodes in one of these lists.
  std::vector<CapDomain> domains;
};

// Combines the input of an attempt (Query), the pods that it has placed (Trial), and its cached
// results about nodes. A way of looking (placement/ways) needs only this object.
//
// Invariant: each pod on trial is on a node that the bounds allow and that was eligible when the
// pod was placed. An attempt finds one placement. Begin another attempt for another placement.
// Threads: as the Search that owns the workspace.
class GangAttempt {
 public:
  // `memory` must outlive the attempt, and no other attempt may use it meanwhile. The other
  // arguments are those of the constructor of Query.
  GangAttempt(Workspace& memory, const Shape& shape, const std::vector<Filter*>& filters,
              const Scene& scene, const Terms& terms, bool by_state);

  // The input of the attempt. It does not change.
  const Query& query() const { return query_; }
  // The trial, for reading, undoing and sorting. Place pods only with place() below, because
  // Trial::place() does not check whether the node is eligible.
  Trial& trial() { return trial_; }
  // The workspace, for steps that need lists as long as the fleet.
  Workspace& memory() { return memory_; }
  // The gang's rules about the domains of other pods, with the pods on trial.
  const PodRules& rules() const { return rules_; }
  // The room that the gang's own pods on trial leave on the node.
  const Room& room(NodeIndex i) const { return trial_.room(i); }
  // True if some node was skipped because it is reserved for another job.
  bool saw_reserved() const { return saw_reserved_; }

  // True if pods may use the node; the node may still be full. `x`: the index of nodes for these
  // pods. The node must match the pods, be open and be within the bounds. It must not have rejected
  // such pods, nor be reserved for another job. The rules on spare nodes, on other gangs'
  // ComputeDomains and on domains for large gangs (keep_whole) must also allow the node.
  bool eligible(const Bounds& bounds, const Index& x, NodeIndex i);
  // Returns how many pods of the run fit on these GPUs of the node, `limit` at most; 0 if the node
  // is not eligible. `ignore`: the constraints that the function does not check; by default those
  // of the query. The pods must fit into the room that the gang's own pods on trial leave.
  std::int64_t cap(const Bounds& bounds, const Run& run, NodeIndex i, GpuMask allowed,
                   std::int64_t limit) {
    return cap(bounds, run, i, allowed, limit, query_.ignore);
  }
  std::int64_t cap(const Bounds& bounds, const Run& run, NodeIndex i, GpuMask allowed,
                   std::int64_t limit, const Ignore& ignore);
  // True if place_all() would succeed. The trial does not change.
  bool fits_all(const Bounds& bounds, const Runs& runs, NodeIndex i, GpuMask allowed);
  // place() places all pods of the run, and place_all() those of all runs, on these GPUs of the
  // node. If the node is not eligible or has no room for all these pods, they return false and
  // place none.
  bool place(const Bounds& bounds, const Run& run, NodeIndex i, GpuMask allowed);
  bool place_all(const Bounds& bounds, const Runs& runs, NodeIndex i, GpuMask allowed);
  // Places each of the runs with place_one(run), or places none and returns false. If a run does
  // not fit after earlier runs, the function starts again with this run first. It tries at most
  // kOrders orders. So the result may be false although another order would succeed.
  template <class F>
  bool each_of(const Runs& runs, F&& place_one) {
    constexpr int kOrders = 4;  // the number of orders that it tries
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

  // True if this attempt may see another state of the node than the live fleet has. This is so for
  // two kinds of nodes: the first `touched` nodes that the trial has touched (TrialRooms), and the
  // nodes of the snapshot's overlay. Without `touched`, the function looks at all nodes that the
  // trial has touched.
  bool differs(NodeIndex i, std::size_t touched) const {
    return trial_.nodes().among_first(i, touched) ||
           (query_.scene.overlay != nullptr && query_.scene.overlay->find(i) != nullptr);
  }
  bool differs(NodeIndex i) const { return differs(i, trial_.nodes().touched()); }

 private:
  // True if the gang uses a ComputeDomain and other gangs in the node's domain leave no room for
  // one. Sets saw_reserved() if the domain may be reserved for those gangs.
  bool computed_by_others(NodeIndex i);

  const Query query_;
  Workspace& memory_;
  PodRules rules_;
  Trial trial_;
  SpareNodes spare_nodes_;
  std::map<NodeIndex, bool>
      computed_;  // for nodes queried so far: true if others have a ComputeDomain there
  bool saw_reserved_ = false;
};

}  // namespace subak
