// The fleet: nodes, their GPUs, NVLink domains and MIG slices, who holds what, and where a gang
// would go. It decides nothing about order, quota or time; it answers "where" and keeps the
// capacity side of the bill. One fleet holds all clusters; a request names its cluster.
//
// Threads: none. The engine owns it on the loop thread; the follower's engine owns another.
// Errors: find() returns nothing when a gang does not fit; explain() then says every reason why.
// Order: wherever two places are equally good the lower NodeId wins, so decisions are reproducible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/quantity.h"
#include "core/reason.h"
#include "placement/node.h"
#include "placement/request.h"

namespace subak {

// A whole gang, one slot per rank.
struct Placement {
  std::vector<PodSlot> slots;
};

// Integrals of one node's capacity since it was first seen, in milli-GPU x ms. At any instant
//     installed = allocated + idle + stranded + unusable     (exactly; a test and a metric)
// stranded: memory units outside every configured slice, and 1000 mod R of a GPU shared R ways.
// unusable: free beyond the healthy GPUs, or on a node that is cordoned, drained or not ready.
// Where more is held than the node has (it shrank or is gone, or pods overcommit it), idle is 0 and
// unusable is negative by exactly the excess: capacity that is charged but not there.
struct NodeBooks {
  GpuTime installed, allocated, idle, stranded, unusable;
  friend bool operator==(const NodeBooks&, const NodeBooks&) = default;
};

// What of one node is in use now, in milli-GPU (and the same identity as NodeBooks).
struct NodeLevels {
  MilliGpu installed = 0, allocated = 0, idle = 0, stranded = 0, unusable = 0;
};

// Totals of one product in one cluster, for views, metrics and static checks.
struct ProductTotals {
  ClusterId cluster;
  std::string product;
  std::int64_t nodes = 0;
  NodeLevels milligpu;
};

// One NVLink domain as `cluster domains` shows it.
struct DomainRow {
  ClusterId cluster;
  std::string kind;  // "half-node", "node", "clique"
  std::string name;  // node name, node name + "/0", or clique id
  std::vector<NodeId> nodes;
  MilliGpu installed = 0, free = 0;
};

// Slices of one profile on one node.
struct MigRow {
  NodeId node;
  std::string profile;
  std::int64_t configured = 0, used = 0;
};

class Fleet {
 public:
  Fleet();
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // --- nodes -------------------------------------------------------------------------------------
  // Adds the node or replaces its description; slots held on it stay held (the world may shrink
  // below what is held: then free is 0, never negative, and over_allocated() says so). `now` closes
  // the node's integrals first. `drained` is our own cordon (cluster drain).
  void set_node(NodeId id, ClusterId cluster, const NodeSpec& spec, bool drained, TimeMs now);
  // The node is gone: it is no longer installed. Slots on it are still to be given back.
  void remove_node(NodeId id, TimeMs now);
  const NodeSpec* node(NodeId id) const;  // nullptr if never seen or removed
  ClusterId cluster_of(NodeId id) const;
  bool drained(NodeId id) const;
  std::vector<NodeId> nodes(ClusterId cluster) const;  // by id
  ProductId product_of(NodeId id) const;               // kept after removal, for the ledger

  // Interned GPU products, for callers that key by them. Id 0 is kAnyProduct.
  ProductId intern_product(std::string_view product);
  std::string_view product_name(ProductId id) const;
  ProductId find_product(std::string_view product) const;  // none if never interned
  std::size_t products() const;                            // how many were interned

  // --- shapes ------------------------------------------------------------------------------------
  // Requests that are equal for placement share one ShapeId; ids are handed out in order of first
  // use and never reused. The compiled form caches which nodes are eligible.
  ShapeId intern(ClusterId cluster, const GangRequest& request);
  ShapeId find_shape(ClusterId cluster, const GangRequest& request) const;  // none if not interned
  const GangRequest& request(ShapeId shape) const;
  ClusterId cluster_of(ShapeId shape) const;
  std::size_t shapes() const;  // ids 1..shapes() are in use
  // The least that the gang can cost in milli-GPU over the products it allows (exact for whole
  // GPUs); what the order and limits use before a place is known.
  MilliGpu least_milligpu(ShapeId shape) const;
  // What slot `rank` of the request costs on `node`.
  MilliGpu slot_milligpu(ShapeId shape, std::uint32_t rank, NodeId node) const;

  // --- where -------------------------------------------------------------------------------------
  // The best place for the whole gang now, each pod on exactly one node, in rank order; best fit
  // that keeps whole domains whole: the clique (or lone node) with the least free that still fits,
  // then its node with the least free, then id. Pods that use part of a GPU go to the tightest GPU;
  // pods without GPU to nodes without GPUs, then to the fullest. Honours selectors, affinity,
  // taints, host ports, CPU, memory, pod slots, extended resources, topology, segments. Topology is
  // about GPUs: except for kNode, pods without GPU may be anywhere. Nodes earmarked for another
  // owner are skipped. Exact for one pod and for gangs of one shape: nothing is returned only if
  // there is no place. Gangs of several shapes (and pods of several replicas of shared GPUs) are
  // placed shape by shape without backtracking, which may miss a place. A failing call is cheap:
  // summaries first, and after a failure only nodes that changed since are looked at.
  // kNvlinkExclusive takes the smallest domain that could hold the pods when empty, unused by
  // anybody, and keeps it until all its slots are given back; with `prefer` it keeps nobody out.
  std::optional<Placement> find(ShapeId shape, JobId owner = JobId()) const;
  // Ranks of an exclusive shape may use GPUs that are kept. One rank of a gang on this very node
  // (adopting running pods, replacing a lost member).
  std::optional<PodSlot> find_on(ShapeId shape, std::uint32_t rank, NodeId node) const;
  // The slot of a pod that already runs on `node`, whatever the fleet thinks of it: free GPUs as
  // far as there are any, never refused. take() of it may overcommit.
  PodSlot adopt_slot(ShapeId shape, std::uint32_t rank, NodeId node) const;
  // Every reason why find() fails, structural ones first. Empty if it would succeed.
  std::vector<Reason> explain(ShapeId shape, JobId owner = JobId()) const;
  // Could the fleet hold it if nothing were held and every node were healthy?
  bool fits_empty_fleet(ShapeId shape) const;
  // The nodes on which the gang would sit if all that is held were given back, choosing those with
  // the least to wait for. Empty if it could never fit.
  std::vector<NodeId> drain_set(ShapeId shape) const;

  // --- hold and give back ------------------------------------------------------------------------
  // Takes or returns exactly what slot `rank` of `shape` occupies. A slot whose mask names fewer
  // GPUs than it costs withholds as many of the node's free ones. Foreign pods are taken the same
  // way and may overcommit. `owner` is named as a blocker in reasons.
  void take(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner, TimeMs now);
  // An end that is reported late: give() may name a time before the node's last change; its books
  // are then what they would have been.
  void give(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner, TimeMs now);
  bool over_allocated(NodeId id) const;
  // Bumped whenever something became free or a node changed so that a shape that did not fit may
  // fit.
  std::uint64_t freed_version() const;

  // Nodes that only `owner` may use during this pass. Transient: not part of the state or its
  // digest.
  void earmark(std::span<const NodeId> nodes, JobId owner);
  void clear_earmarks();

  // --- books and views ---------------------------------------------------------------------------
  NodeBooks books(NodeId id, TimeMs now) const;
  // Continues integrals from a checkpoint; the node must be set right after, at the same `as_of`.
  void restore_books(NodeId id, const NodeBooks& books, TimeMs as_of);
  NodeLevels levels(NodeId id) const;
  std::vector<ProductTotals> totals() const;  // by cluster, then product
  std::vector<DomainRow> domains(ClusterId cluster) const;
  std::vector<MigRow> mig(ClusterId cluster) const;
  // FGD's fragmentation of a cluster's free GPUs over the given shapes (all of that cluster) and
  // their popularity: sum over nodes of F_n / sum of free (Weng et al., ATC'23). 0 when nothing is
  // free.
  double fragmentation(std::span<const std::pair<ShapeId, double>> mix) const;
  // The largest amount of one GPU kind a single node could hold when empty, for static checks.
  std::int64_t largest_node_gpus(ClusterId cluster, std::string_view product) const;

  // Asserts every identity above; tests and simulation call it after each input.
  void check_invariants() const;

  struct Impl;  // placement/fleet_impl.h, for this folder alone

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace subak
