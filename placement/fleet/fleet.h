// The fleet: nodes, their GPUs, NVLink domains and MIG slices, and the holds of jobs on them. In
// placement/, a *hold* of a pod lasts from the decision to place it until the pod has ended. The
// fleet decides nothing: the engine begins and ends holds. It also measures the GPU time of each
// node, separately from the ledger (NodeBooks). A search for a placement reads a snapshot of the
// fleet (placement/fleet/fleet_view.h, placement/search/search.h). Functions that need only a const
// Fleet& are in queries.h and views.h. One fleet holds all clusters; a request names its cluster.
//
// Units: milli-GPU (1000 = one GPU), milliseconds since the epoch, milli-GPU x ms for integrals.
// Errors: none are returned. The caller has checked the input. A wrong call (the release of a slot
// that is not held, time that goes backwards) is a bug in this program and is asserted. Threads:
// one thread at a time may change a fleet. const methods change no hidden state, so several threads
// may read it while no thread changes it. The engine owns one fleet on the loop thread, and the
// follower's engine owns another.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "model/node.h"
#include "model/request.h"
#include "placement/gpus/node_claim.h"
#include "placement/tables/least_costs.h"
#include "placement/tables/owned.h"
#include "placement/tables/products.h"
#include "placement/tables/shapes.h"
#include "placement/tables/totals.h"

namespace subak {

// Integrals of one node's capacity since it was first seen, in milli-GPU x ms. At any instant
//     installed + overcommitted = allocated + idle + stranded + unusable  (exact; a metric)
//
// installed: all GPUs of a node that is present. allocated: what the holds on the node take. idle:
// what is free and usable.
//
// stranded: on GPUs that are cut with MIG, memory units outside every configured slice. A GPU that
// is shared by up to R pods also strands 1000 mod R milli-GPU, because a replica costs 1000 / R,
// rounded down.
//
// unusable: free capacity of unhealthy GPUs, or of a node that is cordoned, drained, unfit or not
// ready.
//
// overcommitted: holds beyond the capacity of the node. The node shrank or is gone, or pods
// overcommit it. The held GPU time is charged, but no capacity backs it. Meanwhile idle and
// unusable are 0.
//
// No figure is below zero, with one exception: in books that an older version stored without
// `overcommitted`, holds beyond capacity make `unusable` negative.
struct NodeBooks {
  // Exact integrals; the comment of the struct explains them.
  GpuTime installed, allocated, idle, stranded, unusable, overcommitted;
  friend bool operator==(const NodeBooks&, const NodeBooks&) = default;
};

// An operator's rules for NVLink domains of several nodes (docs/design/0063, 0066).
struct DomainRules {
  // For each cluster and product: how many empty domains only large gangs may use, which are gangs
  // that need several nodes of one domain. The choice depends only on the nodes and their holds.
  // The domains with the most healthy GPUs come first. Among equal domains, the one whose lowest
  // node id is the highest comes first. 0: all gangs may use every domain.
  std::uint32_t keep_whole = 0;
  // The most gangs in one domain that use a ComputeDomain (multi-node NVLink,
  // GangTerms::compute_domain); 0: any number.
  std::uint32_t clique_gangs = 1;
  friend bool operator==(const DomainRules&, const DomainRules&) = default;
};

// All clusters, their nodes and the holds on them.
class Fleet {
 public:
  // Makes a fleet without nodes and shapes, with the default rules.
  Fleet();
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // --- nodes -------------------------------------------------------------------------------------
  // Adds the node or replaces its description. Slots held on it stay held. A node may shrink below
  // its holds. Then its free amount is 0, never negative, and over_allocated() is true. Before the
  // change, the call brings the node's integrals up to `now`, which must not be before their last
  // time. `drained` is Subak's own cordon (cluster drain). GPUs beyond limits::kMaxGpusPerNode are
  // ignored. O(nodes of its clique).
  void set_node(NodeId id, ClusterId cluster, const NodeSpec& spec, bool drained, TimeMs now);
  // Marks the node as gone: it is no longer installed. Its slots must still be released. Does
  // nothing if the node was never seen or is gone already.
  void remove_node(NodeId id, TimeMs now);
  // Returns nullptr if the node was never seen, or was removed. The pointer is valid until the node
  // is set or removed.
  const NodeSpec* node(NodeId id) const;
  // None if the node was never seen.
  ClusterId cluster_of(NodeId id) const;
  // False if the node was never seen.
  bool drained(NodeId id) const;
  // True if the node is there, ready and fit, and neither cordoned nor drained.
  bool takes_pods(NodeId id) const;
  // Returns the present nodes, by id. O(all nodes).
  std::vector<NodeId> nodes(ClusterId cluster) const;
  // Returns the node's product, even after the removal of the node, because the ledger still needs
  // it.
  ProductId product_of(NodeId id) const;

  // GPU products by number. The fleet interns the product of each node.
  ProductId intern_product(std::string_view product);
  const Products& products() const;

  // --- shapes ------------------------------------------------------------------------------------
  // Returns a use of the request's shape (class ShapeUse).
  ShapeUse use(ClusterId cluster, const GangRequest& request);
  // The shapes in use: numbers, serials, hashes.
  const ShapeTable& shapes() const;
  // Returns the shape's request. The shape must be in use. The reference is valid while the shape
  // is in use.
  const GangRequest& request(ShapeId shape) const;
  // Returns the same request, for callers that need it after the shape is gone.
  std::shared_ptr<const GangRequest> shared_request(ShapeId shape) const;
  // Returns the cluster of the shape's request.
  ClusterId cluster_of(ShapeId shape) const;
  // The least that requests can cost, over the products and nodes that the fleet has seen. The
  // order and limits use this cost before a placement is known.
  const LeastCosts& costs() const;
  // Returns the least cost of the shape's request: costs().of_gang().
  MilliGpu least_milligpu(ShapeId shape) const;

  // --- hold and release --------------------------------------------------------------------------
  // take() begins a hold of the pod `rank` of `shape`, and give() ends it. The pod holds `slot` and
  // its other resources, such as CPU. If a slot's mask has fewer GPUs than its cost requires, the
  // slot also takes the missing number of free GPUs from the node, whatever their indexes. Foreign
  // pods, which Subak never admitted, hold slots in the same way and may overcommit the node.
  // Reasons name `owner` as a blocker.
  //
  // Late reports: take() and give() accept a time before the node's last change, but not before it
  // was first set. The node's books are then corrected as if the report had been on time.
  void take(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner, TimeMs now);
  void give(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner, TimeMs now);

  // Sets the claims on the node, and replaces its former claims. A claim sets GPUs aside for a
  // waiting job (placement/gpus/node_claim.h). The shapes of the claimants must be in use. No
  // search returns GPUs that a claim sets aside, not even for the claimant. When claim_state()
  // (placement/fleet/queries.h) says that all slots of a claim are free, the caller drops the claim
  // and calls take() for these slots.
  void set_claims(NodeId id, std::vector<NodeClaim> claims);

  // Sets the resources that non-GPU pods without a hold use on the node. The call replaces the last
  // value. The fleet drops the value when the node goes. The node must be present.
  void set_others(NodeId id, const NodeUse& use);
  // Returns the value of the last set_others(). The node must have been seen.
  const NodeUse& others(NodeId id) const;

  // From now on, non-GPU pods leave this CPU and memory on a node for each GPU that is free, wholly
  // or in part (docs/design/0064). The rule does not apply to the empty fleet, which shows what
  // could ever fit. O(nodes) if the value changed.
  void set_gpu_headroom(const GpuHeadroom& each);
  const GpuHeadroom& gpu_headroom() const;

  // --- rules about NVLink domains ----------------------------------------------------------------
  // Sets the rules that apply from now on. Current holds stay. O(nodes) if the rules change.
  void set_domain_rules(const DomainRules& rules);

  // --- nodes that rejected a pod (node back-off) -------------------------------------------------
  // After back_off(), no search puts pods of this shape on the node until end_backoff(). Two pods
  // have the same shape if all fields are equal. Both calls may be repeated.
  void back_off(NodeId id, const PodShape& pod);
  void end_backoff(NodeId id, const PodShape& pod);
  bool is_backed_off(NodeId id, const PodShape& pod) const;
  // Both versions rise with every release or node change that may make room for a shape that did
  // not fit before. With a shape, only changes that matter to it count: while its version is
  // unchanged, a failed search for the shape would fail again.
  std::uint64_t freed_version() const;
  std::uint64_t freed_version(ShapeId shape) const;

  // Returns a number that changes with every change of a node's description, and when a node comes
  // or goes.
  std::uint64_t description_version() const;
  // Returns a number that changes with every change of a node or of a hold. A snapshot stores the
  // number to find out whether it is stale.
  std::uint64_t version() const;

  // --- books and views ---------------------------------------------------------------------------
  // Returns the integrals up to `now`, which must not be before the node's last change. Returns
  // zeros if the node was never seen.
  NodeBooks books(NodeId id, TimeMs now) const;
  // Continues the integrals from a checkpoint. Right after this call, the caller must set the node,
  // at the time `as_of`.
  void restore_books(NodeId id, const NodeBooks& books, TimeMs as_of);
  // Returns the node's levels since its last change; zeros if it was never seen.
  NodeLevels levels(NodeId id) const;
  // Returns one row for each cluster and product, by cluster, then product.
  std::vector<ProductTotals> totals() const;
  // Returns a number that changes with every change of totals(), and of largest_node_gpus()
  // (placement/fleet/views.h).
  std::uint64_t totals_version() const;

  // Asserts that the figures and tables of the fleet agree. Tests and simulation call it after each
  // input.
  void check_invariants() const;

  struct Impl;  // placement/fleet/fleet_impl.h, for this folder alone
  const Impl& impl() const { return *impl_; }

 private:
  Owned<Impl> impl_;
};

// Returns the sum of one product's totals in all clusters. Without a product, returns the sum of
// all products. O(rows of Fleet::totals()).
NodeLevels totals_of(const Fleet& fleet, ProductId product);

}  // namespace subak
