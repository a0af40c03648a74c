// Computes the least cost of a request, for the time before its pods have nodes. The job order, the
// limits and the webhook all call this code.
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
// cost of each MIG profile over all products that were added. For replicas: the numbers of ways in
// which the nodes of each product share a GPU.
class LeastCosts {
 public:
  // Adds the MIG profiles of the product. The call may be repeated. O(profiles of the product).
  void add_product(std::string_view product);
  // Add or remove one node of the product that shares each GPU among `ways` replicas (at least 2).
  // Remove only a node that was added.
  void add_shared_node(ClusterId cluster, std::string_view product, std::int64_t ways);
  void remove_shared_node(ClusterId cluster, std::string_view product, std::int64_t ways);

  // Returns the least cost of one pod over the products that the pod allows. If the pod names no
  // product, all added products count. The result is exact for whole GPUs and fractions. `nodes` is
  // the cluster whose nodes share GPUs; nullopt if the caller does not know the cluster. Returns
  // nullopt if the pod asks for no GPU, for a profile that no product has, or for a replica for
  // which no node is known.
  std::optional<MilliGpu> of_pod(const PodShape& pod, std::optional<ClusterId> nodes) const;
  // Returns the least cost of a gang in its cluster. Pods of unknown cost count as 0. O(groups of
  // the gang).
  MilliGpu of_gang(const Shape& shape) const;
  // Returns of_gang() for a request that no job uses as a shape. O(size of the request).
  MilliGpu of_request(ClusterId cluster, const GangRequest& request) const;

  // Two objects are equal if the same products and shared nodes were added to them.
  friend bool operator==(const LeastCosts&, const LeastCosts&) = default;

 private:
  // For each number of replicas per GPU, how many nodes share their GPUs in so many ways.
  using Ways = std::map<std::int64_t, std::int64_t>;

  std::optional<MilliGpu> least_slice(const PodShape& pod) const;
  MilliGpu least_replica(const PodShape& pod, ClusterId cluster) const;

  // The shared nodes by cluster and base product. No entry is empty.
  std::map<std::pair<ClusterId, std::string>, Ways> shared_;
  // The cheapest cost of each profile. Each cost is above 0.
  std::map<std::string, MilliGpu, std::less<>> slices_;
};

}  // namespace subak
