// Collects every reason why a gang has no placement (core/reason.h), for users who ask why a job
// waits. Search::explain() uses it after a search that found none. It reads all nodes several
// times, so callers explain each shape (the request of equal jobs) once, not each job.
// Threads: as the Search that uses it. Private to placement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/reason.h"
#include "placement/fleet/compute_domains.h"
#include "placement/search/search_impl.h"

namespace subak {

// Explains one failed search. Make one object for each explanation.
class Explainer {
 public:
  // Requires that the shape's filters (placement/trial/index.h) are up to date and that
  // Search::find() has just failed. All references must outlive the object. `drain`: the nodes
  // whose holds must end before the gang can start (Search::drain_set()). The jobs that hold GPUs
  // on these nodes are in the way.
  Explainer(Search::Impl& memory, const Shape& shape, const Sought& sought, const Scene& scene,
            JobId owner, bool fits_empty_fleet, const std::vector<NodeId>& drain);
  // Returns every reason, in the order of kReasonOrder. Call it once per Explainer.
  std::vector<Reason> run();

 private:
  // One group of equal pods of the gang, and the GPUs that are free for it or are in the way.
  struct Demand {
    // The group of pods, and the filter of the nodes for them.
    const Pods* pods = nullptr;
    const Filter* filter = nullptr;
    // The least cost of one pod on the matching nodes. nullopt: no node matches.
    std::optional<MilliGpu> least_per_pod;
    // The milli-GPU that all these pods need, at the cost of the cheapest matching node.
    MilliGpu need = 0;
    // The milli-GPU that are free for this job. If all pods must have one product, this counts only
    // the product with the most free milli-GPU.
    MilliGpu free = 0;
    // The number of slices that are free for this job.
    std::int64_t slices_free = 0;
    // Free milli-GPU that this job cannot use. `tainted`: the job does not tolerate the nodes'
    // taints. `closed`: the nodes are cordoned, drained or not ready. `kept`: the nodes are
    // reserved for other jobs.
    MilliGpu tainted = 0, closed = 0, kept = 0;
    // Free milli-GPU on spare nodes of gangs.
    MilliGpu spare = 0;
    // Free milli-GPU in NVLink domains that only large gangs may use (DomainRules::keep_whole).
    MilliGpu left = 0;
    // The domains with the milli-GPU of `left`.
    std::set<DomainIndex> left_on;
    // If the gang uses a ComputeDomain: free milli-GPU in domains where other gangs use one.
    MilliGpu computed = 0;
    // The first node in such a domain.
    std::optional<NodeIndex> computed_on;
    // The nodes that rejected these pods, ascending. nullptr: none.
    const std::vector<NodeIndex>* backed_off = nullptr;
  };

  // The functions below add reasons to `reasons_`. explain.cc: reasons in the fleet's structure and
  // in reservations. no_matching(): no node matches the pods at all. no_slices(): no node has
  // slices of their profile. exceeds_fleet(): even the empty fleet could not hold the gang.
  void no_matching(const Demand& d);
  void no_slices(const Pods& p);
  void exceeds_fleet();
  // Compares the pod with each matching node as if the node were empty. Reports each resource, and
  // the MIG slices, of which no such node has enough for the pod. GPUs are not compared here.
  // Returns false if it reports nothing.
  bool too_large(const Demand& d);
  // Reports if each matching node gives one container fewer GPUs or replicas than one container of
  // the pod asks for. Returns false if some matching node gives enough.
  bool too_much_for_a_container(const Demand& d);
  // conditions() reports nodes with room that are not ready, cordoned, drained, unfit or backed
  // off. reserved() reports GPUs reserved for other jobs or left to large gangs. computed() reports
  // other gangs with a ComputeDomain.
  void conditions(const Demand& d);
  void reserved();
  void computed();
  // Returns the reason with this token and subject. Appends it if there is none yet. The reference
  // is valid until the next call.
  Reason& add(ReasonToken token, std::string subject, std::int64_t need, std::int64_t have,
              std::string detail);

  // explain_capacity.cc: reasons about free GPUs, and the jobs and nodes in the way.
  // Fills in the amounts of the demand.
  void measure(Demand& d) const;
  // Reports if enough memory units are free, but in slices of other profiles.
  void wrong_slices(const Demand& d);
  // Returns the free slices of the pod's profile on the node.
  std::int64_t free_slices(const PodShape& pod, NodeIndex i) const;
  // Returns the end of a sentence: the free GPUs that this job cannot use, and why.
  std::string not_for_it(const Demand& d) const;
  // Names the domains of `left` in a text.
  static std::string left_text(const Demand& d);
  // Reports if fewer GPUs or slices are free than the pods need.
  void capacity(const Demand& d);
  // True if enough GPUs are free in total for each group of pods.
  bool enough_gpus() const;
  // Reports that enough GPUs are free, but not as close together as the gang asks.
  void together();
  // Adds a reason and returns true if the gang would fit on nodes of several RDMA fabrics, but not
  // on nodes of one. In all other cases returns false.
  bool in_one_fabric();
  // Adds the reason together() for a pod of several slices: no node has enough free slices.
  void slices_together(const Demand& d);
  // Returns the most slices of the pods' profile that one matching node has, used or free.
  std::int64_t largest_slices(const Demand& d) const;
  // Reports each resource other than GPUs that keeps the gang from starting. lacking() reports one
  // of them.
  void node_resources();
  void lacking(const std::string& resource);
  // Reports the extended resources that some pod asks for and that nodes with free GPUs lack.
  void lacking_extended();
  // True if the gang would fit without these constraints: works() in the snapshot without
  // reservations, works_in() in another scene. works_anywhere() ignores the topology too, and all
  // constraints except the GPUs.
  bool works(Ignore ignore) const;
  bool works_in(const Scene& scene, Ignore ignore) const;
  bool works_anywhere() const;
  // Adds up f(node) for each area of the gang's topology, such as an NVLink domain, and returns the
  // largest of these sums. f(node) is the milli-GPU that count for the node.
  template <class F>
  MilliGpu most_together(F&& f) const {
    std::vector<MilliGpu> sums;  // by place
    MilliGpu most = 0;
    for (NodeIndex i = 0; i < scene_.fleet.nodes.size(); ++i) {
      const MilliGpu here = f(i);
      if (here == 0) continue;
      const std::uint32_t place = place_of(i, scene_.node(i));
      if (place >= sums.size()) sums.resize(place + 1);
      MilliGpu& sum = sums[place];
      sum += here;
      most = std::max(most, sum);
    }
    return most;
  }
  // Returns the number of the node's area: its NVLink domain, its rack, or the node itself.
  std::uint32_t place_of(NodeIndex i, const NodeState& n) const;

  // Calls fn(node, state) for the nodes of the gang's cluster.
  template <class F>
  void each(F&& fn) const {
    for (NodeIndex i = 0; i < scene_.fleet.nodes.size(); ++i) {
      const auto& n = scene_.fleet.nodes[i];
      if (n && n->present && n->cluster == shape_.cluster) fn(i, *n);
    }
  }
  // Calls fn(node) for the nodes that match. A node record is large, so check the filter's arrays
  // before you read one.
  template <class F>
  void each_matching(const Demand& d, F&& fn) const {
    for (NodeIndex i = 0; i < d.filter->matches.size(); ++i) {
      if (matches(d, i)) fn(i);
    }
  }
  // Holds do not decide whether a node matches. So the filter's answer is valid in every snapshot.
  bool matches(const Demand& d, NodeIndex i) const {
    return d.filter->matches[i] && linked_enough(d, i);
  }
  bool linked_enough(const Demand& d, NodeIndex i) const {
    return !shape_.linked || d.pods->shape->kind == GpuKind::kNone || scene_.node(i).linked;
  }
  bool open(const Demand& d, NodeIndex i) const {
    return d.filter->free[i] >= 0 && !is_backed_off(d, i);
  }
  // True if the filter shows that the node has no free GPUs or slices for these pods. The node must
  // be open. False if the filter cannot tell.
  bool nothing_free(const Demand& d, NodeIndex i) const {
    return d.filter->counts && scene_.overlay == nullptr && d.filter->free[i] == 0;
  }
  bool is_backed_off(const Demand& d, NodeIndex i) const {
    return d.backed_off != nullptr &&
           std::binary_search(d.backed_off->begin(), d.backed_off->end(), i);
  }
  bool kept_for_other(NodeIndex i) const {
    const JobId keeper = scene_.owner_of(i);
    return keeper && keeper != owner_;
  }
  // True if the rule cliqueGangs forbids the node, because others use a ComputeDomain there.
  bool computed_by_others(NodeIndex i) const {
    return shape_.request().terms.compute_domain && is_computed(scene_, i, owner_);
  }
  // True if the rule keepWhole leaves the node's domain to other gangs.
  bool left_to_others(NodeIndex i) const {
    return scene_.in_reserved_domain(i) && !scene_.owner_of(i) &&
           !needs_several(shape_, scene_.node(i));
  }
  // Returns the node's free milli-GPU for these pods. The node may lack other resources.
  MilliGpu free_for(const PodShape& pod, NodeIndex i) const;
  // Returns free_for(). If the pod needs one NVLink domain inside the node, returns the free
  // milli-GPU of the best such domain instead.
  MilliGpu free_together(const PodShape& pod, NodeIndex i) const;

  Search::Impl& memory_;
  const Shape& shape_;
  const Sought& sought_;
  const Scene& scene_;
  JobId owner_;
  bool fits_empty_;
  // The jobs for which nodes are reserved.
  std::vector<std::string> keepers_;
  // The jobs in the way, those with most GPUs first.
  std::vector<std::string> holders_;
  // One demand for each group of pods, by rank.
  std::vector<Demand> demands_;
  // The reasons found so far.
  std::vector<Reason> reasons_;
};

// Formats milli-GPU as GPUs: "2", "0.125".
std::string gpus_text(MilliGpu milli);
// The names that Kubernetes gives these resources.
inline constexpr const char* kCpuResource = "cpu";
inline constexpr const char* kMemoryResource = "memory";
// Formats thousandths of a CPU, bytes, or a count: "1.5 CPUs", "64 GiB of memory", "1 rdma/ib0".
std::string amount_text(const std::string& resource, std::int64_t amount);
// Formats a number of slices: "2 slices of 1g.10gb".
std::string slices_text(const PodShape& pod, std::int64_t slices);
// Returns how many slices of the pod's profile the node has, used or free.
std::int64_t configured_slices(const NodeSpec& node, const PodShape& pod);
// Says what the pod's rules about the domains of other pods want.
std::string rules_text(const PodShape& pod);
// Returns the product, or the profile, that the pod asks for.
std::string kind_text(const PodShape& pod);

}  // namespace subak
