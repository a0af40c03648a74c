#include "placement/tables/least_costs.h"

#include <algorithm>

#include "core/must.h"
#include "model/mig.h"
#include "model/product.h"

namespace subak {
namespace {

// Returns the profile as the geometries list it.
std::string listed(std::string profile) {
  std::replace_if(
      profile.begin(), profile.end(), [](char c) { return c == '+' || c == ','; }, '.');
  return profile;
}

}  // namespace

void LeastCosts::add_product(std::string_view product) {
  const MigGeometry* geometry = mig_geometry(product);
  if (geometry == nullptr) return;
  for (const MigProfile& p : geometry->profiles) {
    const MilliGpu cost = *mig_slice_milligpu(product, p.name);
    must(cost > 0 && cost <= kMilliPerGpu, "a slice is a part of its card");
    const auto [it, added] = slices_.try_emplace(std::string(p.name), cost);
    if (!added) it->second = std::min(it->second, cost);
  }
}

void LeastCosts::add_shared_node(ClusterId cluster, std::string_view product, std::int64_t ways) {
  must(ways > 1, "a shared GPU has several replicas");
  ++shared_[{cluster, std::string(base_product(product))}][ways];
}

void LeastCosts::remove_shared_node(ClusterId cluster, std::string_view product,
                                    std::int64_t ways) {
  const auto of = shared_.find({cluster, std::string(base_product(product))});
  must(of != shared_.end(), "a node that no longer shares GPUs was counted");
  const auto nodes = of->second.find(ways);
  must(nodes != of->second.end() && nodes->second > 0, "a node is counted with its replicas");
  if (--nodes->second == 0) of->second.erase(nodes);
  if (of->second.empty()) shared_.erase(of);
}

std::optional<MilliGpu> LeastCosts::least_slice(const PodShape& pod) const {
  if (pod.products.empty()) {
    const auto it = slices_.find(listed(pod.profile));
    return it == slices_.end() ? std::nullopt : std::optional(it->second);
  }
  std::optional<MilliGpu> least;
  for (const std::string& product : pod.products) {
    const auto cost = mig_slice_milligpu(product, pod.profile);
    if (cost && (!least || *cost < *least)) least = cost;
  }
  return least;
}

MilliGpu LeastCosts::least_replica(const PodShape& pod, ClusterId cluster) const {
  MilliGpu least = kMilliPerGpu;
  for (auto it = shared_.lower_bound({cluster, ""});
       it != shared_.end() && it->first.first == cluster; ++it) {
    const bool allowed =
        pod.products.empty() ||
        std::any_of(pod.products.begin(), pod.products.end(),
                    [&](const std::string& p) { return base_product(p) == it->first.second; });
    const std::int64_t most_ways = it->second.rbegin()->first;
    must(most_ways > 1, "a product that shares its GPUs has replicas");
    if (allowed) least = std::min(least, kMilliPerGpu / most_ways);
  }
  return least;
}

std::optional<MilliGpu> LeastCosts::of_pod(const PodShape& pod,
                                           std::optional<ClusterId> cluster) const {
  switch (pod.kind) {
    case GpuKind::kWhole:
    case GpuKind::kFraction:
      return fixed_milligpu(pod);
    case GpuKind::kShared:
      if (!cluster) return std::nullopt;
      return least_replica(pod, *cluster) * pod.gpus;
    case GpuKind::kMig:
      if (const auto each = least_slice(pod)) return *each * pod.gpus;
      return std::nullopt;
    case GpuKind::kNone:
      break;
  }
  return std::nullopt;
}

MilliGpu LeastCosts::of_gang(const Shape& s) const {
  if (!s.cost_by_place) return s.least;
  MilliGpu least = 0;
  for (const Pods& p : s.pods) least += of_pod(*p.shape, s.cluster).value_or(0) * p.count;
  must(least >= s.least, "a gang costs at least what its whole GPUs cost");
  return least;
}

MilliGpu LeastCosts::of_request(ClusterId cluster, const GangRequest& request) const {
  return of_gang(*make_shape(cluster, request));
}

}  // namespace subak
