// Finds a placement for a gang (pods that start together) in a snapshot of the fleet, or every
// reason why there is none. The engine uses it for decisions, explanations and forecasts.
//
// A Search has these caches, which make queries cheap:
//   - the nodes that each kind of pod may use, in best-fit order
//   - the searches that failed; only a later entry of the fleet's change log can make them succeed
//   - working memory for one attempt to place a gang
// Each query first brings the caches up to date from the fleet's change log. The caller owns the
// Search. A Search only reads the fleet, and several searches may use one fleet. They all give the
// same answers, because no answer depends on earlier queries.
//
// Lifetime: the fleet must outlive the Search.
// Threads: a Search belongs to one thread. Searches of several threads may read one fleet while no
// thread changes it.
// Errors: find() returns nothing if a gang does not fit; explain() then returns every reason.
// Order: if two placements are equally good, the one with the lower NodeId wins. So decisions are
// reproducible.
//
// Rules for the nodes of one gang (docs/design/0027), in every snapshot:
//   NVLink     if NVLink is required, the GPUs of the gang or of each segment are in one half of a
//              split node, one node or one clique with NVLink. Segments of kAny require it too
//   fragments  a gang of several pods goes to nodes with holds if all its pods fit there; else it
//              uses as few nodes without holds as possible, and fills them
//   products   one product for all GPUs of the gang, unless its pods name products that exclude
//              each other. A gang that may mix products gets one product if one is enough
//   balanced   the gang is divided into even parts, each in its own NVLink domain, and into as few
//              parts as possible; the larger parts have the lower ranks
//   spare      a gang leaves as many whole nodes of its clique free as it asks for; no other job
//              gets these nodes while the gang is in the clique
//   back-off   a gang never gets a node that rejected this kind of pod (Fleet::back_off)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "core/reason.h"
#include "placement/fleet/fleet.h"
#include "placement/fleet/fleet_view.h"
#include "placement/search/pools.h"

namespace subak {

// A placement of a complete gang, one slot per rank.
struct Placement {
  // The slots, by rank.
  std::vector<PodSlot> slots;
  friend bool operator==(const Placement&, const Placement&) = default;
};

// How a search judges nodes that are alike: once for all of them, or each node by itself. The
// answers are the same. kJudgedEach is slow, and serves tests that compare it with kJudgedOnce.
enum class AlikeNodes { kJudgedOnce, kJudgedEach };

// How close together the GPUs of a gang must be if one node is too small for the gang.
struct GangArea {
  // The groups of nodes: single nodes if the gang may be anywhere, NVLink domains, or racks.
  enum class Group : std::uint8_t { kNode, kDomain, kRack };
  Group group = Group::kNode;
  // True: all GPUs of the gang are in one group. False: they may be in several groups.
  bool one = false;
  // True: no other job may use the group.
  bool exclusive = false;
};
// Returns the area of a request. A topology that the gang only prefers counts as kAny.
GangArea area_of(const GangRequest& request);

// A search with its caches.
class Search {
 public:
  // The new search has empty caches. O(1).
  explicit Search(const Fleet& fleet, AlikeNodes alike = AlikeNodes::kJudgedOnce);
  ~Search();
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // All functions assert that the snapshot is of this search's fleet and up to date.

  // Returns the best placement for the complete gang, in rank order, each pod on exactly one node.
  // nullopt if none was found.
  //   - best fit leaves large domains whole. It chooses the clique (or single node) with the fewest
  //     free GPUs in which the pods fit. Inside the clique it chooses the node with the fewest free
  //     GPUs, then the lowest id
  //   - pods that use part of a GPU go to the tightest GPU
  //   - pods without GPUs go to nodes without GPUs, then to the fullest nodes
  // It honours selectors, affinity, taints, host ports, CPU, memory, pod slots, extended resources,
  // topology and segments. Topology is about GPUs: except with kNode, pods without GPUs may be on
  // any node. It skips nodes that the snapshot reserves for a job other than `owner`, the job of
  // the gang.
  //
  // The search is exact for one pod and for gangs of one shape: nullopt means that there is no
  // placement. It places gangs of several shapes shape by shape. If that fails, it places them pod
  // by pod, within limits::kPlaceTries, which is exact for small gangs. If a pod needs several
  // replicas of shared GPUs, the search picks them one after the other, and may miss a placement.
  //
  // A call that fails on the live fleet is cheap. It reads summaries first, and after a failure the
  // next call looks only at nodes that have changed since.
  //
  // kNvlinkExclusive takes the smallest domain that no pod uses and that could hold the gang's
  // pods. No other job may use the domain until all the gang's slots are released. With `prefer`,
  // other jobs may use the domain.
  // `without`: GPU products that the gang must not use, whatever its request says.
  std::optional<Placement> find(const FleetView& fleet_view, ShapeId shape, JobId owner = JobId(),
                                std::span<const ProductId> without = {});
  // Returns every reason why find() fails, structural reasons first. Returns none if find() would
  // succeed. Asserts that the snapshot is neither empty() nor drained().
  std::vector<Reason> explain(const FleetView& fleet_view, ShapeId shape, JobId owner = JobId());
  // True if the fleet could hold the gang without any holds and with every node open and healthy.
  // It uses nodes even if they rejected the gang's pods. The result is cached until a node's
  // description changes.
  bool fits_empty_fleet(ShapeId shape);
  // Returns the GPUs of the largest node of all clusters. The result is cached in the same way.
  std::int64_t largest_node_gpus();
  // Returns the names of the pools that could hold the gang together with the present nodes, if
  // nothing were held and each pool had all its nodes. Empty if fits_empty_fleet() is true, or if
  // not even such a fleet could hold the gang. The result is cached until a node's description or
  // a pool changes.
  std::vector<std::string> pools_for(ShapeId shape, const FleetPools& pools);
  // Returns the nodes, ascending, of the placement that the gang would get after the release of all
  // holds (FleetView::drained()). It prefers nodes with the fewest held GPUs. It uses only nodes
  // that could serve the gang now: nodes that take pods, have healthy GPUs and did not reject the
  // gang's pods. It skips reserved nodes. The result includes the nodes that the gang must leave
  // free as spares (GangTerms::spare). For an nvlink-exclusive gang, it also includes the other
  // nodes of the gang's clique. The result is empty if there is no placement.
  std::vector<NodeId> drain_set(const FleetView& fleet_view, ShapeId shape);

  // Returns the fragmentation of a cluster's free GPUs, from 0 to 1, as FGD defines it. This is the
  // sum over nodes of F_n, the free GPUs that a random job cannot use, divided by all free GPUs.
  // `mix` has shapes of that cluster and their popularity. The function reads the live fleet.
  // Returns 0 if no GPU is free or if `mix` is empty.
  // Source: Weng et al., ATC'23.
  double fragmentation(std::span<const std::pair<ShapeId, double>> mix);

  // Returns the number of kinds of pods for which the search caches nodes. These are the pods of
  // shapes that were queried and are still in use.
  std::size_t filters();

  // Asserts that the caches agree with the fleet; for tests and simulation.
  void check_invariants();

  struct Impl;  // placement/search/search_impl.h, for this folder alone

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
