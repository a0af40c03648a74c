// A second, simple implementation of the placement rules, for tests: plain loops over nodes and
// GPUs, without index or cache. Tests compare the fleet and the search with it. It shares with them
// only the static rules of placement/gpus/eligibility.h. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "placement/search/search.h"

namespace subak::naive {

struct Held {
  ShapeId shape;
  std::uint32_t rank = 0;
  PodSlot slot;
  JobId owner;
  PodShape pod;
  std::vector<std::uint64_t> kept;  // masks of GPUs that an exclusive gang keeps
  std::string kept_clique;
  bool computes = false;  // true: the gang of the pod uses a ComputeDomain
};

struct Node {
  NodeSpec spec;
  ClusterId cluster;
  bool present = false, drained = false;
  std::vector<Held> held;
  JobId reserved_for;
  bool kept_computes = false;        // reserved_for uses a ComputeDomain
  std::vector<PodShape> backed_off;  // pods that the node rejected
  NodeBooks books;
  TimeMs as_of = 0;
};

// What is free on a node, computed from all its holds at each call.
struct Left {
  std::vector<MilliGpu> gpu;  // free milli-GPU; 0: no pod may get the GPU
  std::map<std::string, std::int64_t> slices, extended;
  std::int64_t cpu = 0, memory = 0, pods = 0;
  std::vector<HostPort> ports;
  std::int64_t hidden = 0;  // free GPUs that an exclusive gang keeps
  bool empty = false;       // computed as if no pod held anything
};

class Fleet {
 public:
  std::map<std::uint32_t, Node> nodes;  // by NodeId
  GpuHeadroom headroom;                 // what non-GPU pods leave per free GPU
  std::uint32_t keep_whole = 0, clique_gangs = 1;

  NodeLevels levels(std::uint32_t id) const;
  void advance(TimeMs now);

  // `empty`: as if no pod held anything. `kept`: leaves out GPUs that exclusive gangs keep.
  Left left(std::uint32_t id, bool empty = false, bool kept = true) const;
  // True unless this non-GPU pod, placed already, took CPU or memory that `headroom` reserves.
  bool leaves_headroom(const NodeSpec& spec, const Left& left, const PodShape& pod) const;
  bool open(std::uint32_t id, const PodShape& pod, ClusterId cluster, JobId owner,
            bool backoffs = true) const;
  bool is_backed_off(std::uint32_t id, const PodShape& pod) const;
  // Sets the gang of later calls. `keep_whole` empty cliques are left to larger gangs: it may not
  // use them if no segment of it has more GPUs than a node. Call it again after each change.
  void ask(const GangRequest& request);
  // True if the node's clique is left to larger gangs. False for a node without a clique.
  bool in_reserved_domain(std::uint32_t id) const { return left_.contains(home(id)); }
  void leave_nothing() { left_.clear(); }
  void compute_together() { computes_ = false; }
  // True if other gangs with a ComputeDomain in the node's clique keep the gang of `owner` out.
  bool computed(std::uint32_t id, JobId owner) const;
  // exists() without the rule of in_reserved_domain() (`left`) or that of computed().
  bool exists_but_for(bool left, bool computed, const GangRequest& request, ClusterId cluster,
                      JobId owner) const {
    Fleet other = *this;
    if (left) other.leave_nothing();
    if (computed) other.compute_together();
    return other.exists(request, cluster, owner);
  }
  // Takes the pod from `left`, on GPUs of `mask`. False: it does not fit. leaves_headroom() is a
  // check of its own, after all pods of the gang are placed.
  bool put(const NodeSpec& spec, Left& left, const PodShape& pod, std::uint64_t mask) const;
  // Returns how many such pods fit on the node, one after the other, on GPUs of `mask`.
  std::int64_t cap(std::uint32_t id, const PodShape& pod, std::uint64_t mask,
                   bool empty = false) const;

  // True if there is a placement for this gang, whose pods all have one shape.
  bool exists(const GangRequest& request, ClusterId cluster, JobId owner) const;
  // Returns the node that the rule "best fit" chooses for a gang of one pod.
  std::uint32_t best(const GangRequest& request, ClusterId cluster, JobId owner) const;
  // Returns which rule the placement breaks; empty: none.
  std::string broken(const GangRequest& request, ClusterId cluster, JobId owner,
                     const Placement& placement) const;

  std::string clique(std::uint32_t id) const;  // its clique, or a name of the node alone
  std::string home(std::uint32_t id) const;    // as clique(), but also if the label is lost
  // Returns the node's group at a level (0: rack) with the groups around it, as a path.
  std::string group(std::uint32_t id, std::size_t level) const;
  static std::vector<std::uint64_t> inner(const NodeSpec& spec);
  // The kind of domain that an exclusive gang keeps: 0 = inner domain, 1 = node, 2 = clique.
  int exclusive_level(const GangRequest& request, std::uint32_t id) const;
  std::vector<std::uint32_t> members(const std::string& clique) const;
  std::vector<std::uint32_t> wired(const std::string& home) const;
  // True if nodes with GPUs in use could hold this gang on one product, whatever its topology.
  bool fragments_hold(const GangRequest& request, ClusterId cluster, JobId owner) const;
  bool fragment(std::uint32_t id, const PodShape& pod) const;
  // Returns a copy of the fleet in which the nodes of all other fabrics are drained.
  Fleet of_fabric(const std::string& fabric) const;
  std::string domain(const PodSlot& slot) const;
  // True if the placement has GPUs of several products.
  bool several_products(const GangRequest& request, const Placement& placement) const;

 private:
  // Returns the NVLink domains inside a node, as masks; empty: NVLink joins the complete node.
  std::vector<std::uint64_t> halves(std::uint32_t id, const PodShape& pod) const;
  bool exists_as(const GangRequest& request, Topology topology, std::uint32_t segment,
                 ClusterId cluster, JobId owner) const;
  bool exists_in(const GangRequest& request, Topology topology, std::uint32_t segment,
                 ClusterId cluster, JobId owner) const;
  std::int64_t segments_in(const NodeSpec& spec, Left room, const PodShape& pod,
                           const std::vector<std::uint64_t>& parts, std::int64_t size) const;
  bool exists_exclusive(const GangRequest& request, ClusterId cluster, JobId owner) const;
  bool unused(std::uint32_t id, std::uint64_t mask) const;
  std::uint64_t kept(std::uint32_t id) const;
  // Returns the usable GPUs of the clique if it were empty; 0: fewer than two nodes have some.
  std::int64_t working(const std::string& clique) const;
  std::set<std::string> left_;
  MilliGpu together_ = 0;
  bool computes_ = false;
  std::string broken_slot(const PodShape& pod, ClusterId cluster, JobId owner, const PodSlot& slot,
                          std::map<std::uint32_t, Left>& rooms) const;
  std::string broken_topology(const GangRequest& request, Topology topology, std::uint32_t segment,
                              const Placement& placement) const;
  bool close_together(const GangRequest& request, ClusterId cluster, JobId owner) const;
  std::string scattered(const GangRequest& request, ClusterId cluster, JobId owner,
                        const Placement& placement) const;
  std::string scattered_in(const GangRequest& request, ClusterId cluster, JobId owner,
                           const Placement& placement) const;
  std::string broken_balance(const GangRequest& request, const Placement& placement) const;
};

const PodShape& pod_of(const GangRequest& request, std::uint32_t rank);
// Returns the request with MIG slices or replicas where its product names them ("...-SHARED").
GangRequest offered(GangRequest request);
bool asks_nvlink(const GangRequest& request);
// True if NVLink joins GPUs of this node, in the random world.
bool joined(const NodeSpec& spec);
MilliGpu cost(const NodeSpec& spec, const PodShape& pod);
constexpr std::uint64_t kAll = ~std::uint64_t{0};

}  // namespace subak::naive
