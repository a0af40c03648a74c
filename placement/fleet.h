// The fleet: nodes, their GPUs, NVLink domains and MIG slices, and who holds what. It decides
// nothing, and it keeps the capacity side of the bill. Where a gang would go is asked of a picture
// of it (placement/picture.h, placement/search.h). One fleet holds all clusters; a request names
// its cluster.
//
// Units: milli-GPU (1000 = one GPU), milliseconds since the epoch, milli-GPU x ms for integrals.
// Errors: none are returned. Who calls it has judged the input; what it was told wrongly (a slot
// given back that was not taken, time that goes backwards) is a mistake in this program and
// asserted.
// Threads: none. The engine owns it on the loop thread; the follower's engine owns another. What is
// const changes nothing, also not behind the back: threads may read a fleet that nobody changes.
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
#include "placement/node.h"
#include "placement/owned.h"
#include "placement/request.h"

namespace subak {

// Integrals of one node's capacity since it was first seen, in milli-GPU x ms. At any instant
//     installed + overcommitted = allocated + idle + stranded + unusable     (exactly; a test and a metric)
// stranded: memory units outside every configured slice, and 1000 mod R of a GPU shared R ways.
// unusable: free beyond the healthy GPUs, or on a node that is cordoned, drained or not ready.
// overcommitted: what is held beyond what the node has (it shrank or is gone, or pods overcommit it): capacity that is
// charged but not there. Idle and unusable are 0 then. Nothing here is below zero but what was stored before
// overcommitted was a figure of its own: unusable has the excess there, negative.
struct NodeBooks {
  GpuTime installed, allocated, idle, stranded, unusable, overcommitted;
  friend bool operator==(const NodeBooks&, const NodeBooks&) = default;
};

// What of one node is in use now, in milli-GPU (and the same identity as NodeBooks).
struct NodeLevels {
  MilliGpu installed = 0, allocated = 0, idle = 0, stranded = 0, unusable = 0, overcommitted = 0;
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

// Work without GPUs on nodes with GPUs, ours and everybody's. A node is broken if some of its free GPUs are
// short because of it: without CPU or memory (kept for each of them, else half of what the node has for each of
// its GPUs) that they would have without it. A domain is broken if one of its nodes is.
struct LightWork {
  std::int64_t pods = 0, cpu_milli = 0, memory_bytes = 0;
  // Of nodes that take pods:
  std::int64_t broken_nodes = 0, broken_domains = 0;
  std::int64_t broken_free_gpus = 0;  // GPUs that are free on broken nodes, wholly or in part
  std::int64_t short_gpus = 0;        // of these, those that are short
  std::int64_t broken_pods = 0;       // pods without GPUs on broken nodes
  bool short_of_cpu = false, short_of_memory = false;
  std::string largest;  // the domain with most GPUs that are short: a clique's name, or a node's
  std::int64_t largest_short_gpus = 0;
};

// Slices of one profile on one node.
struct MigRow {
  NodeId node;
  std::string profile;
  std::int64_t configured = 0, used = 0;
};

// What an operator says of NVLink domains of several nodes (docs/design/0063, 0066).
struct DomainRules {
  // So many empty ones of each cluster and product are left to gangs that need several nodes of one. Which
  // they are follows from the nodes and what is held: those with the most working GPUs, then those whose
  // first node has the highest id. 0: none.
  std::uint32_t keep_whole = 0;
  // Of gangs with GangRequest::compute_domain so many have places in one; 0: any number.
  std::uint32_t clique_gangs = 1;
  friend bool operator==(const DomainRules&, const DomainRules&) = default;
};

class Fleet;

// One use of a shape. As long as any is left the shape has its number; with the last it is
// forgotten, and another may get the number. Move-only. The fleet must outlive it.
class ShapeUse {
 public:
  ShapeUse() = default;
  ShapeUse(ShapeUse&& from) noexcept;
  ShapeUse& operator=(ShapeUse&& from) noexcept;
  ~ShapeUse();

  ShapeUse share() const;                   // one more of the same
  ShapeId id() const { return id_; }        // none: of no shape
  operator ShapeId() const { return id_; }  // NOLINT: it stands for its number
  explicit operator bool() const { return static_cast<bool>(id_); }

 private:
  friend class Fleet;
  ShapeUse(Fleet* fleet, ShapeId id) : fleet_(fleet), id_(id) {}

  Fleet* fleet_ = nullptr;
  ShapeId id_;
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
  // the node's integrals first, and is not before their last time. `drained` is our own cordon
  // (cluster drain). More GPUs than limits::kMaxGpusPerNode are cut. O(nodes of its clique).
  void set_node(NodeId id, ClusterId cluster, const NodeSpec& spec, bool drained, TimeMs now);
  // The node is gone: it is no longer installed. Slots on it are still to be given back. Nothing if
  // it was never seen or is gone already.
  void remove_node(NodeId id, TimeMs now);
  // nullptr if never seen or removed. Valid until the node is set or removed.
  const NodeSpec* node(NodeId id) const;
  ClusterId cluster_of(NodeId id) const;  // none if never seen
  bool drained(NodeId id) const;          // false if never seen
  bool takes_pods(NodeId id) const;       // there, ready and fit, neither cordoned nor drained
  std::vector<NodeId> nodes(ClusterId cluster) const;  // those that are there, by id; O(all nodes)
  ProductId product_of(NodeId id) const;               // kept after removal, for the ledger

  // Interned GPU products, for callers that key by them. Id 0 is kAnyProduct.
  ProductId intern_product(std::string_view product);
  std::string_view product_name(ProductId id) const;       // of an id that was given
  ProductId find_product(std::string_view product) const;  // none if never interned
  std::size_t products() const;                            // how many were interned

  // --- shapes ------------------------------------------------------------------------------------
  // Requests that are equal for placement share one ShapeId while anybody uses it. Numbers are used
  // again, serials never: who remembers something of a shape remembers its serial. No fact and no
  // order depends on either.
  ShapeUse use(ClusterId cluster, const GangRequest& request);
  ShapeId find_shape(ClusterId cluster, const GangRequest& request) const;  // none: not in use
  // What the shape is of. It is in use, and the reference holds as long as it is.
  const GangRequest& request(ShapeId shape) const;
  // The same, for who keeps it beyond the shape's life.
  std::shared_ptr<const GangRequest> shared_request(ShapeId shape) const;
  ClusterId cluster_of(ShapeId shape) const;  // where its request is to be placed
  std::uint64_t serial(ShapeId shape) const;  // different for any two that there ever were
  std::uint64_t hash(ShapeId shape) const;    // follows from the cluster and the request alone
  std::size_t shapes() const;                 // how many are in use
  std::size_t shape_numbers() const;          // their numbers are 1 to this
  // The least that the gang can cost in milli-GPU over the products it allows and the fleet has
  // heard of (exact for whole GPUs); what the order and limits use before a place is known.
  MilliGpu least_milligpu(ShapeId shape) const;
  // What slot `rank` of the request costs on `node`; 0 if the node was never seen. The rank is one
  // of the request's.
  MilliGpu slot_milligpu(ShapeId shape, std::uint32_t rank, NodeId node) const;

  // --- hold and give back ------------------------------------------------------------------------
  // The slot of a pod that already runs on `node`, whatever the fleet thinks of it: free GPUs as
  // far as there are any, also those that an exclusive gang keeps; never refused. take() of it may
  // overcommit.
  PodSlot adopt_slot(ShapeId shape, std::uint32_t rank, NodeId node) const;
  // Takes or returns exactly what slot `rank` of `shape` occupies. A slot whose mask names fewer
  // GPUs than it costs withholds as many of the node's free ones. Foreign pods are taken the same
  // way and may overcommit. `owner` is named as a blocker in reasons.
  // Reported late: take() and give() may name a time before the node's last change (but not before
  // it was first set); its books are then what they would have been.
  void take(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner, TimeMs now);
  void give(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner, TimeMs now);
  bool over_allocated(NodeId id) const;

  // What pods without GPUs take of the node that are held by nobody: no hold, no part of the bill.
  // Replaces what was said before; forgotten when the node goes. The node is there.
  void set_others(NodeId id, const NodeUse& use);
  const NodeUse& others(NodeId id) const;  // of a node that was seen

  // From now on, pods without GPUs leave so much on a node for each of its GPUs that is free, wholly or in
  // part (docs/design/0064). Not in the empty fleet, which says what could ever fit. O(nodes) if it is new.
  void keep_beside_gpus(const BesideGpu& each);
  const BesideGpu& beside_gpus() const;
  // What pods without GPUs take of nodes with GPUs, and what that does. O(nodes and what they hold).
  LightWork light_work(ClusterId cluster) const;

  // --- rules about NVLink domains ----------------------------------------------------------------
  // Hold from now on; what is held already stays where it is. O(nodes) where they change.
  void set_domain_rules(const DomainRules& rules);
  // Idle on domains that are left to gangs. O(their nodes).
  MilliGpu left_to_gangs_milligpu(ClusterId cluster) const;
  // The NVLink domain that the node is wired to, as a number; a node by itself is one too. 0: the node is not there.
  std::uint32_t wired_domain(NodeId node) const;
  // Gangs that use a ComputeDomain and have GPUs in the node's domain. Ascending.
  std::vector<JobId> computing_beside(NodeId node) const;
  // Gangs that keep the node, or would keep it once it holds nothing: those that have its domain for themselves, and
  // those that leave nodes of it for replacements. Ascending. O(what the domain holds) where there are any.
  std::vector<JobId> keepers(NodeId node) const;

  // --- nodes that turned a pod away --------------------------------------------------------------
  // No search puts pods of this shape on the node until the bar is lifted. The pods are compared in
  // every field. Both may be said twice.
  void bar(NodeId id, const PodShape& pod);
  void lift_bar(NodeId id, const PodShape& pod);
  bool barred(NodeId id, const PodShape& pod) const;
  // Bumped whenever something became free or a node changed so that some shape that did not fit may fit;
  // and the same of one shape: as long as that stays, what had no place has none.
  std::uint64_t freed_version() const;
  std::uint64_t freed_version(ShapeId shape) const;

  // Differs after every change of a node's description, and when one comes or goes.
  std::uint64_t description_version() const;
  // Differs after every change of a node or of what is held there: what says how old a picture is.
  std::uint64_t version() const;

  // --- books and views ---------------------------------------------------------------------------
  // Up to `now`, which is not before the node's last change. Zeros if it was never seen.
  NodeBooks books(NodeId id, TimeMs now) const;
  // Continues integrals from a checkpoint; the node must be set right after, at the same `as_of`.
  void restore_books(NodeId id, const NodeBooks& books, TimeMs as_of);
  NodeLevels levels(NodeId id) const;         // as of its last change; zeros if never seen
  std::vector<ProductTotals> totals() const;  // by cluster, then product
  // Differs after every change of totals(), and of largest_node_gpus().
  std::uint64_t totals_version() const;
  // Cliques by first use, then lone nodes (halves where they are split) by id. O(nodes).
  std::vector<DomainRow> domains(ClusterId cluster) const;
  std::vector<MigRow> mig(ClusterId cluster) const;  // by node; O(nodes)
  // The largest amount of one GPU kind a single node could hold when empty, for static checks: in
  // GPUs; an empty product or kAnyProduct: of any. O(nodes).
  std::int64_t largest_node_gpus(ClusterId cluster, std::string_view product) const;

  // Asserts every identity above; tests and simulation call it after each input.
  void check_invariants() const;

  struct Impl;  // placement/fleet_impl.h, for this folder alone
  const Impl& impl() const { return *impl_; }

 private:
  friend class ShapeUse;
  void add_use(ShapeId shape);
  void drop_use(ShapeId shape);

  Owned<Impl> impl_;
};

}  // namespace subak
