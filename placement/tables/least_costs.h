// Computes the least milli-GPU that a request can cost its account. The job order, the limits and
// the webhook use this amount before the pods have nodes, because the true cost depends on the
// nodes.
// Units: milli-GPU. Threads: as for the object that owns the LeastCosts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/ids.h"
#include "core/quantity.h"
#include "model/request.h"
#include "placement/tables/shapes.h"

namespace subak {

// Stores the figures on which the cost of slices and replicas depends. For slices: the cheapest
// cost of each MIG profile over all products that were added. For replicas: into how many replicas
// the nodes of each product divide a GPU.
class LeastCosts {
 public:
  // Adds the MIG profiles of the product. The call may be repeated. O(profiles of the product).
  void add_product(std::string_view product);
  // Add or remove one node of the product that divides each GPU into `ways` replicas (at least 2).
  // Remove only a node that was added.
  void add_shared_node(ClusterId cluster, std::string_view product, std::int64_t ways);
  void remove_shared_node(ClusterId cluster, std::string_view product, std::int64_t ways);

  // Returns the least cost of one pod over the products that the pod allows. If the pod names no
  // product, all added products count. The result is exact for whole GPUs and fractions, and a
  // lower bound for slices and replicas. `cluster`: where the pod will run; nullopt: not known. A
  // replica costs a whole GPU if the cluster has no shared node for it. Returns nullopt for a pod
  // without GPUs, for a profile that no product has, and for a replica in an unknown cluster.
  std::optional<MilliGpu> of_pod(const PodShape& pod, std::optional<ClusterId> cluster) const;
  // Returns the least cost of a gang in its cluster. Pods for which of_pod() returns nullopt count
  // as 0. O(groups of the gang).
  MilliGpu of_gang(const Shape& shape) const;
  // Does the same as of_gang() for a request for which the fleet has no Shape. O(size of the
  // request).
  MilliGpu of_request(ClusterId cluster, const GangRequest& request) const;

  // True if both have the same costs of profiles and the same shared nodes. The names of the added
  // products do not count.
  friend bool operator==(const LeastCosts&, const LeastCosts&) = default;

 private:
  // For each number of replicas per GPU: how many nodes have that number.
  using Ways = std::map<std::int64_t, std::int64_t>;

  std::optional<MilliGpu> least_slice(const PodShape& pod) const;
  MilliGpu least_replica(const PodShape& pod, ClusterId cluster) const;

  // The shared nodes by cluster and product, without suffixes (base_product()). No entry is empty.
  std::map<std::pair<ClusterId, std::string>, Ways> shared_;
  // The cheapest cost of each profile. Each cost is above 0.
  std::map<std::string, MilliGpu, std::less<>> slices_;
};

}  // namespace subak
