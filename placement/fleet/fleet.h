// The fleet: nodes, their GPUs, NVLink domains and MIG slices, and the holds of jobs on them. It
// makes no decisions, and it keeps the capacity side of the bill. A search for a placement reads a
// snapshot of it (placement/fleet/fleet_view.h, placement/search/search.h). One fleet holds all
// clusters; a request names its cluster.
//
// Units: milli-GPU (1000 = one GPU), milliseconds since the epoch, milli-GPU x ms for integrals.
// Errors: none are returned. The caller has checked the input. A wrong call (the release of a slot
// that is not held, time that goes backwards) is a bug in this program and is asserted.
// Threads: none. The engine owns it on the loop thread; the follower's engine owns another. const
// methods have no hidden changes: threads may read a fleet while no thread changes it.
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
#include "model/node.h"
#include "model/request.h"
#include "placement/fleet/owned.h"

namespace subak {

// Integrals of one node's capacity since it was first seen, in milli-GPU x ms. At any instant
//     installed + overcommitted = allocated + idle + stranded + unusable  (exact; a metric)
// stranded: memory units outside every configured slice, and 1000 mod R of a GPU shared R ways.
//
// unusable: free beyond the healthy GPUs, or on a node that is cordoned, drained or not ready.
//
// overcommitted: holds beyond the capacity of the node. The node shrank or is gone, or pods
// overcommit it. This time is charged, but no capacity backs it. Idle and unusable are 0 then.
//
// No figure is below zero, with one exception: books stored before overcommitted was a figure of
// its own have the excess in unusable, negative.
struct NodeBooks {
  GpuTime installed, allocated, idle, stranded, unusable, overcommitted;
  friend bool operator==(const NodeBooks&, const NodeBooks&) = default;
};

// The use of one node now, in milli-GPU. The identity of NodeBooks holds here too.
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

// Non-GPU pods on nodes with GPUs, of jobs and of all others. A free GPU is short if it lacks CPU
// or memory that it would have without these pods. The amount is the one reserved for each free
// GPU, else half of the node's part for each of its GPUs. A node is broken if some of its free GPUs
// are short. A domain is broken if one of its nodes is.
struct NonGpuUse {
  std::int64_t pods = 0, cpu_milli = 0, memory_bytes = 0;
  // Of nodes that take pods:
  std::int64_t broken_nodes = 0, broken_domains = 0;
  std::int64_t broken_free_gpus = 0;  // GPUs that are free on broken nodes, wholly or in part
  std::int64_t short_gpus = 0;        // of these, the short ones
  std::int64_t broken_pods = 0;       // non-GPU pods on broken nodes
  bool short_of_cpu = false, short_of_memory = false;
  std::string largest;  // the domain with most short GPUs: a clique's name, or a node's
  std::int64_t largest_short_gpus = 0;
};

// Slices of one profile on one node.
struct MigRow {
  NodeId node;
  std::string profile;
  std::int64_t configured = 0, used = 0;
};

// An operator's rules for NVLink domains of several nodes (docs/design/0063, 0066).
struct DomainRules {
  // The number of empty domains of each cluster and product that are left to gangs which need
  // several nodes of one. The choice depends only on the nodes and their holds: the domains with
  // the most working GPUs, then those whose first node has the highest id. 0: none.
  std::uint32_t keep_whole = 0;
  // The most gangs with GangRequest::compute_domain that have placements in one domain; 0: any
  // number.
  std::uint32_t clique_gangs = 1;
  friend bool operator==(const DomainRules&, const DomainRules&) = default;
};

class Fleet;

// One use of a shape, as a reference count. The shape keeps its number while any use is left. The
// last one drops the shape, and another shape may get the number. Move-only. The fleet must outlive
// it.
class ShapeUse {
 public:
  ShapeUse() = default;
  ShapeUse(ShapeUse&& from) noexcept;
  ShapeUse& operator=(ShapeUse&& from) noexcept;
  ~ShapeUse();

  ShapeUse share() const;                   // one more use of the same shape
  ShapeId id() const { return id_; }        // none: no shape
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
  // Adds the node or replaces its description. Slots held on it stay held. A node may shrink below
  // its holds: then free is 0, never negative, and over_allocated() is true. `now` closes the
  // node's integrals first, and must not be before their last time. `drained` is Subak's own cordon
  // (cluster drain). GPUs beyond limits::kMaxGpusPerNode are ignored. O(nodes of its clique).
  void set_node(NodeId id, ClusterId cluster, const NodeSpec& spec, bool drained, TimeMs now);
  // Marks the node as gone: it is no longer installed. Its slots must still be released. Does
  // nothing if the node was never seen or is gone already.
  void remove_node(NodeId id, TimeMs now);
  // Returns nullptr if never seen or removed. Valid until the node is set or removed.
  const NodeSpec* node(NodeId id) const;
  ClusterId cluster_of(NodeId id) const;  // none if never seen
  bool drained(NodeId id) const;          // false if never seen
  bool takes_pods(NodeId id) const;       // there, ready and fit, neither cordoned nor drained
  std::vector<NodeId> nodes(ClusterId cluster) const;  // present nodes, by id; O(all nodes)
  ProductId product_of(NodeId id) const;               // stays after removal, for the ledger

  // Interned GPU products, for callers that key by them. Id 0 is kAnyProduct.
  ProductId intern_product(std::string_view product);
  std::string_view product_name(ProductId id) const;  // of an id that intern_product() returned
  ProductId find_product(std::string_view product) const;  // none if never interned
  std::size_t products() const;                            // how many were interned

  // --- shapes ------------------------------------------------------------------------------------
  // Requests that are equal for placement share one ShapeId while any use exists. The fleet reuses
  // numbers, but never serials: a cache of results for a shape must store the serial. No fact and
  // no order depends on either.
  ShapeUse use(ClusterId cluster, const GangRequest& request);
  ShapeId find_shape(ClusterId cluster, const GangRequest& request) const;  // none: not in use
  // Returns the shape's request. The shape must be in use; the reference is valid while it is.
  const GangRequest& request(ShapeId shape) const;
  // The same, for callers that keep it beyond the shape's life.
  std::shared_ptr<const GangRequest> shared_request(ShapeId shape) const;
  ClusterId cluster_of(ShapeId shape) const;  // the cluster of its request
  std::uint64_t serial(ShapeId shape) const;  // no two shapes ever have the same
  std::uint64_t hash(ShapeId shape) const;    // depends on the cluster and the request alone
  std::size_t shapes() const;                 // how many are in use
  std::size_t shape_numbers() const;          // their numbers are 1 to this
  // Returns the least that the gang can cost, in milli-GPU, over the products that it allows and
  // that the fleet has seen (exact for whole GPUs). The order and limits use it before a placement
  // is known.
  MilliGpu least_milligpu(ShapeId shape) const;
  // Returns the cost of slot `rank` of the request on `node`; 0 if the node was never seen. The
  // request must have the rank.
  MilliGpu slot_milligpu(ShapeId shape, std::uint32_t rank, NodeId node) const;

  // --- hold and release --------------------------------------------------------------------------
  // Returns the slot of a pod that already runs on `node`, and never refuses. It uses free GPUs as
  // far as there are any, including those that an exclusive gang reserves. take() of it may
  // overcommit.
  PodSlot adopt_slot(ShapeId shape, std::uint32_t rank, NodeId node) const;
  // Holds or releases exactly what slot `rank` of `shape` occupies. A slot whose mask names fewer
  // GPUs than it costs withholds as many of the node's free ones. Foreign pods are taken the same
  // way and may overcommit. Reasons name `owner` as a blocker.
  //
  // Late reports: take() and give() accept a time before the node's last change, but not before it
  // was first set. The node's books are then corrected as if the report had been on time.
  void take(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner, TimeMs now);
  void give(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner, TimeMs now);
  bool over_allocated(NodeId id) const;

  // Sets the usage of non-GPU pods on the node that have no hold and are not in the bill. Replaces
  // the last value; dropped when the node goes. The node must be present.
  void set_others(NodeId id, const NodeUse& use);
  const NodeUse& others(NodeId id) const;  // of a node that was seen

  // From now on, non-GPU pods leave this much on a node for each GPU that is free, wholly or in
  // part (docs/design/0064). Does not apply to the empty fleet, which says what could ever fit.
  // O(nodes) if the value changed.
  void set_gpu_headroom(const GpuHeadroom& each);
  const GpuHeadroom& gpu_headroom() const;
  // Returns what non-GPU pods take of nodes with GPUs, and the effect. O(nodes and what they hold).
  NonGpuUse non_gpu_use(ClusterId cluster) const;

  // --- rules about NVLink domains ----------------------------------------------------------------
  // Sets the rules from now on; current holds stay. O(nodes) if the rules change.
  void set_domain_rules(const DomainRules& rules);
  // Returns the idle milli-GPU on domains that are left to gangs. O(their nodes).
  MilliGpu reserved_domains_milligpu(ClusterId cluster) const;
  // Returns the number of the NVLink domain that the node is wired to; a node by itself is one too.
  // 0: the node is not present.
  std::uint32_t wired_domain(NodeId node) const;
  // Returns the gangs that use a ComputeDomain and have GPUs in the node's domain. Ascending.
  std::vector<JobId> computing_beside(NodeId node) const;
  // Returns the gangs that reserve the node, or would reserve it once it holds nothing. These are
  // gangs with exclusive use of its domain, and gangs that leave nodes of it for replacements.
  // Ascending. O(what the domain holds) if there are any.
  std::vector<JobId> keepers(NodeId node) const;

  // --- nodes that rejected a pod (node back-off)
  // --------------------------------------------------
  // Backs off: no search puts pods of this shape on the node until end_backoff(). Pods are compared
  // in every field. Both calls may be repeated.
  void back_off(NodeId id, const PodShape& pod);
  void end_backoff(NodeId id, const PodShape& pod);
  bool is_backed_off(NodeId id, const PodShape& pod) const;
  // Increases after every release or node change that may let some shape fit which did not fit
  // before. With a shape: while the version of the shape is unchanged, a failed search for it would
  // fail again.
  std::uint64_t freed_version() const;
  std::uint64_t freed_version(ShapeId shape) const;

  // Differs after every change of a node's description, and when one comes or goes.
  std::uint64_t description_version() const;
  // Differs after every change of a node or of a hold. A snapshot uses it to tell whether it is
  // stale.
  std::uint64_t version() const;

  // --- books and views ---------------------------------------------------------------------------
  // Returns the integrals up to `now`, which must not be before the node's last change. Zeros if
  // never seen.
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
  // Returns the largest amount of one GPU kind that a single empty node could hold, in GPUs, for
  // static checks. An empty product or kAnyProduct: of any product. O(nodes).
  std::int64_t largest_node_gpus(ClusterId cluster, std::string_view product) const;

  // Asserts every identity above. Tests and simulation call it after each input.
  void check_invariants() const;

  struct Impl;  // placement/fleet/fleet_impl.h, for this folder alone
  const Impl& impl() const { return *impl_; }

 private:
  friend class ShapeUse;
  void add_use(ShapeId shape);
  void drop_use(ShapeId shape);

  Owned<Impl> impl_;
};

}  // namespace subak
