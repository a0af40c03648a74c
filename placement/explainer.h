// Collects every reason why a gang has no place, as data. It walks the nodes several times: slow
// beside a search, so callers ask it for a shape, not for each job. Private to placement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/reason.h"
#include "placement/compute_domains.h"
#include "placement/finder.h"

namespace subak {

class Explainer {
 public:
  // Filters of the shape are up to date, and find() has just failed. `drain` is where the gang
  // would sit with the least to wait for: who holds GPUs there is in the way.
  Explainer(Search::Impl& memory, const Shape& shape, const Sought& sought, const Scene& scene,
            JobId owner, bool fits_empty_fleet, const std::vector<NodeId>& drain);
  // Every reason, in the order of kReasonOrder. Once for an Explainer.
  std::vector<Reason> run();

 private:
  struct Demand {
    const Pods* pods = nullptr;
    const Filter* filter = nullptr;
    std::optional<MilliGpu> least_per_pod;  // of the matching nodes; none: no node matches
    MilliGpu need = 0;                      // of all these pods, at the cheapest matching node
    MilliGpu free = 0;             // for this job; where one product must do, of the one with most
    std::int64_t slices_free = 0;  // the same of slices
    // Free, and not for this job: taints it does not tolerate; not ready, cordoned or drained; kept
    // for other jobs.
    MilliGpu tainted = 0, closed = 0, kept = 0;
    MilliGpu spare = 0;  // on nodes that a gang keeps for its replacements
    MilliGpu left = 0;   // on NVLink domains that are left to gangs
    std::set<DomainIndex> left_on;
    MilliGpu computed = 0;                 // where others have a ComputeDomain, and it wants one
    std::optional<NodeIndex> computed_on;  // the first such node
    const std::vector<NodeIndex>* barred = nullptr;  // nodes that turned such pods away
  };

  // explain.cc: structural reasons.
  void no_matching(const Demand& d);
  void no_slices(const Pods& p);
  void exceeds_fleet();
  // What a pod asks for beside its GPUs, and no node that matches has when it is empty. False: there is nothing.
  bool too_large(const Demand& d);
  void conditions(const Demand& d);
  void reserved();
  void computed();
  Reason& add(ReasonToken token, std::string subject, std::int64_t need, std::int64_t have,
              std::string detail);

  // explain_capacity.cc: what is free, and what is in the way.
  void measure(Demand& d) const;
  void wrong_slices(const Demand& d);
  std::int64_t free_slices(const PodShape& pod, NodeIndex i) const;
  std::string not_for_it(const Demand& d) const;
  static std::string left_text(const Demand& d);  // where it is free and left to gangs
  void capacity(const Demand& d);
  bool enough_gpus() const;
  void together();
  void node_resources();
  void lacking(const std::string& resource);
  // The same of an extended resource of some pod: of those that nodes with free GPUs lack.
  void lacking_extended();
  bool works(Ignore ignore) const;
  bool works_in(const Scene& scene, Ignore ignore) const;
  bool works_anywhere() const;
  // The most milli-GPU in one place as the topology wants it; f(node) is what counts of a node.
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
  std::uint32_t place_of(NodeIndex i, const NodeState& n) const;

  // Calls fn(node, state) over the nodes of the gang's cluster.
  template <class F>
  void each(F&& fn) const {
    for (NodeIndex i = 0; i < scene_.fleet.nodes.size(); ++i) {
      const auto& n = scene_.fleet.nodes[i];
      if (n && n->present && n->cluster == shape_.cluster) fn(i, *n);
    }
  }
  // Calls fn(node) over those that match. A fleet has many nodes, and one is large: who looks at
  // what the filter knows of it first is done sooner.
  template <class F>
  void each_matching(const Demand& d, F&& fn) const {
    for (NodeIndex i = 0; i < d.filter->matches.size(); ++i) {
      if (matches(d, i)) fn(i);
    }
  }
  // Neither depends on what is held, so the filter's word holds in every picture.
  bool matches(const Demand& d, NodeIndex i) const {
    return d.filter->matches[i] && linked_enough(d, i);
  }
  bool linked_enough(const Demand& d, NodeIndex i) const {
    return !shape_.linked || d.pods->shape->kind == GpuKind::kNone || scene_.node(i).linked;
  }
  bool open(const Demand& d, NodeIndex i) const { return d.filter->free[i] >= 0 && !barred(d, i); }
  // The filter knows that nothing of what such pods ask for is free on the node, which is open.
  bool nothing_free(const Demand& d, NodeIndex i) const {
    return d.filter->counts && scene_.overlay == nullptr && d.filter->free[i] == 0;
  }
  bool barred(const Demand& d, NodeIndex i) const {
    return d.barred != nullptr && std::binary_search(d.barred->begin(), d.barred->end(), i);
  }
  bool kept_for_other(NodeIndex i) const {
    const JobId keeper = scene_.owner_of(i);
    return keeper && keeper != owner_;
  }
  // By cliqueGangs.
  bool computed_by_others(NodeIndex i) const {
    return shape_.request().compute_domain && is_computed(scene_, i, owner_);
  }
  // By keepWhole.
  bool left_to_others(NodeIndex i) const {
    return scene_.left_to_gangs(i) && !scene_.owner_of(i) && !needs_several(shape_, scene_.node(i));
  }
  // What the node has free for such pods, whatever else it lacks.
  MilliGpu free_for(const PodShape& pod, NodeIndex i) const;
  // The same in one domain inside it, where the topology needs one.
  MilliGpu free_together(const PodShape& pod, NodeIndex i) const;

  Search::Impl& memory_;
  const Shape& shape_;
  const Sought& sought_;
  const Scene& scene_;
  JobId owner_;
  bool fits_empty_;
  std::vector<std::string> keepers_;  // jobs that nodes are kept for
  std::vector<std::string> holders_;  // jobs that are in the way, those with most GPUs first
  std::vector<Demand> demands_;
  std::vector<Reason> reasons_;
};

// "2", "0.125": milli-GPU for a person.
std::string gpus_text(MilliGpu milli);
// How Kubernetes calls them.
inline constexpr const char* kCpuResource = "cpu";
inline constexpr const char* kMemoryResource = "memory";
// "1.5 CPUs", "64 GiB of memory", "1 rdma/ib0": thousandths of a CPU, bytes, or a count.
std::string amount_text(const std::string& resource, std::int64_t amount);
// "2 slices of 1g.10gb".
std::string slices_text(const PodShape& pod, std::int64_t slices);
// The product, or the profile, that the pod asks for.
std::string kind_text(const PodShape& pod);

}  // namespace subak
