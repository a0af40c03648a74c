// Routes of pods to MIG slices and shared GPUs.
#include <algorithm>

#include "admission/policy_parts.h"
#include "core/names.h"
#include "model/product.h"

namespace subak::policy {
namespace {

// True if the pod names products, or if its kind of GPUs follows from the pool that it selects.
bool names_product(const Pod& pod) {
  const auto of_product = [](const auto& of) { return of.key == names::kLabelProduct; };
  const PodShape& shape = pod.shape;
  return !shape.products.empty() || as_offered(shape).kind != GpuKind::kWhole ||
         std::any_of(shape.node_selector.begin(), shape.node_selector.end(), of_product) ||
         std::any_of(shape.affinity.begin(), shape.affinity.end(), [&](const AffinityTerm& term) {
           return std::any_of(term.requirements.begin(), term.requirements.end(), of_product);
         });
}

}  // namespace

std::string route_pod(const Context& c, Pod& pod) {
  if (pod.shape.kind != GpuKind::kWhole || pod.shape.gpus != 1) return {};
  const auto& routes = c.config.routes;
  const auto route = std::find_if(routes.begin(), routes.end(), [&](const GpuRoute& r) {
    if (!r.ns.empty()) return matches_namespace(r.ns, c.review.ns);
    return pod.keys.priority.set && pod.keys.priority.value == r.priority_class;
  });
  if (route == routes.end() || needs_links(pod) || names_product(pod)) return {};
  std::vector<Label>& selector = pod.shape.node_selector;
  selector.push_back({std::string(names::kLabelProduct), route->product});
  std::sort(selector.begin(), selector.end());
  pod.shape.products = {std::string(base_product(route->product))};
  return route->product;
}

}  // namespace subak::policy
