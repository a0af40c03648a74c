// The placement rules once more, as plain loops over nodes and GPUs: the judge of the real ones.
// Slow, keeps no index and no cache, shares only the static eligibility rules, which have their own
// tests.
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
  std::vector<std::uint64_t> kept;  // GPUs of this node that an exclusive gang keeps
  std::string kept_clique;
  bool computes = false;  // its gang uses a ComputeDomain
};

struct Node {
  NodeSpec spec;
  ClusterId cluster;
  bool present = false, drained = false;
  std::vector<Held> held;
  JobId reserved_for;
  bool kept_computes = false;        // for a gang that uses a ComputeDomain
  std::vector<PodShape> backed_off;  // pods that it turned away
  NodeBooks books;
  TimeMs as_of = 0;
};

// What is left on a node, recomputed from what is held.
struct Left {
  std::vector<MilliGpu> gpu;  // 0 where the GPU may not be given out
  std::map<std::string, std::int64_t> slices, extended;
  std::int64_t cpu = 0, memory = 0, pods = 0;
  std::vector<HostPort> ports;
  std::int64_t hidden = 0;  // GPUs that are free and kept for a gang
  bool empty = false;       // of the empty fleet, where nothing is kept beside GPUs
};

class Fleet {
 public:
  std::map<std::uint32_t, Node> nodes;  // by NodeId
  GpuHeadroom headroom;                 // kept from pods without GPUs for each free GPU
  std::uint32_t keep_whole = 0, clique_gangs = 1;

  NodeLevels levels(std::uint32_t id) const;
  void advance(TimeMs now);

  // `kept`: GPUs that exclusive gangs keep are left to nobody.
  Left left(std::uint32_t id, bool empty = false, bool kept = true) const;
  // Such a pod, which is there, takes nothing that is kept beside free GPUs.
  bool leaves_headroom(const NodeSpec& spec, const Left& left, const PodShape& pod) const;
  bool open(std::uint32_t id, const PodShape& pod, ClusterId cluster, JobId owner,
            bool backoffs = true) const;
  bool is_backed_off(std::uint32_t id, const PodShape& pod) const;
  // From now on pods are of this gang: as many empty cliques as `keep_whole` says are not for it if none of its
  // segments has more GPUs together than a node of them. Anew after each change.
  void ask(const GangRequest& request);
  // The clique is left to gangs now; of a lone node false.
  bool in_reserved_domain(std::uint32_t id) const { return left_.contains(home(id)); }
  void leave_nothing() { left_.clear(); }
  void compute_together() { computes_ = false; }
  // Others have a ComputeDomain there, and the gang, which is the owner's, may not be beside them.
  bool computed(std::uint32_t id, JobId owner) const;
  // Without the first of these rules, without the second.
  bool exists_but_for(bool left, bool computed, const GangRequest& request, ClusterId cluster,
                      JobId owner) const {
    Fleet other = *this;
    if (left) other.leave_nothing();
    if (computed) other.compute_together();
    return other.exists(request, cluster, owner);
  }
  // Takes one pod from what is left on the GPUs of `mask`; false if it does not fit. What is kept beside GPUs
  // is judged when the whole gang is there.
  bool put(const NodeSpec& spec, Left& left, const PodShape& pod, std::uint64_t mask) const;
  // How many such pods fit on the node, one after the other.
  std::int64_t cap(std::uint32_t id, const PodShape& pod, std::uint64_t mask,
                   bool empty = false) const;

  // Is there a place for this gang of one shape?
  bool exists(const GangRequest& request, ClusterId cluster, JobId owner) const;
  // The node that best fit chooses for a gang of one pod.
  std::uint32_t best(const GangRequest& request, ClusterId cluster, JobId owner) const;
  // Empty if the placement obeys every rule; else what it breaks.
  std::string broken(const GangRequest& request, ClusterId cluster, JobId owner,
                     const Placement& placement) const;

  std::string clique(std::uint32_t id) const;  // or a name of its own
  std::string home(std::uint32_t id) const;    // the clique to which it is wired, label or not
  // What the node stands in at a level, with all that is above; at the nearest at least itself.
  std::string group(std::uint32_t id, std::size_t level) const;
  static std::vector<std::uint64_t> inner(const NodeSpec& spec);
  // 0 = inner domain, 1 = node, 2 = clique
  int exclusive_level(const GangRequest& request, std::uint32_t id) const;
  std::vector<std::uint32_t> members(const std::string& clique) const;
  std::vector<std::uint32_t> wired(const std::string& home) const;
  // A gang of one shape, anywhere: could nodes that are broken into hold it, all of one product?
  bool fragments_hold(const GangRequest& request, ClusterId cluster, JobId owner) const;
  bool fragment(std::uint32_t id, const PodShape& pod) const;
  // The fleet in which the nodes of all other fabrics are drained.
  Fleet of_fabric(const std::string& fabric) const;
  std::string domain(const PodSlot& slot) const;
  // GPUs of the gang are of several products.
  bool several_products(const GangRequest& request, const Placement& placement) const;

 private:
  // The domains of a node that NVLink does not join as a whole; empty: it does.
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
  // GPUs on open nodes of the clique, quite free; 0 if fewer than two have any.
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
// The request as nodes offer what it asks for, where it names one product of slices or replicas.
GangRequest offered(GangRequest request);
bool asks_nvlink(const GangRequest& request);
// Cards of the random world that have it.
bool joined(const NodeSpec& spec);
MilliGpu cost(const NodeSpec& spec, const PodShape& pod);
constexpr std::uint64_t kAll = ~std::uint64_t{0};

}  // namespace subak::naive
