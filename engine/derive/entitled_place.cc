#include "engine/derive/entitled_place.h"

#include <algorithm>
#include <map>

#include "core/must.h"

namespace subak::derive {
namespace {

ProductDemand least_demand(const State& s, const state::Job& job) {
  return {state::only_product(s.fleet(), s.fleet().request(job.shape)),
          state::least_milligpu(s.fleet(), job)};
}

}  // namespace

std::optional<Binding> stopped(const State& s, const state::Job& job, Asking asking) {
  must(job.leaf != kUnassigned, "a queued job has an account");
  const ProductDemand least = least_demand(s, job);
  return first_binding(s.tree(), {job.leaf, {&least, 1}}, asking);
}

bool is_within_quota(const State& s, const state::Job& job) {
  must(bool(job.shape), "a queued job has one request");
  const ProductDemand least = least_demand(s, job);
  return within_quota(s.tree(), {job.leaf, {&least, 1}});
}

std::vector<ProductDemand> amounts_of(const State& s, const Placement& placement) {
  std::map<ProductId, MilliGpu> sums;
  for (const PodSlot& slot : placement.slots) {
    must(s.fleet().node(slot.node) != nullptr, "a placement is on nodes of the fleet");
    if (slot.milligpu > 0) sums[s.fleet().product_of(slot.node)] += slot.milligpu;
  }
  return {sums.begin(), sums.end()};
}

namespace {

EntitledPlace find_in(const State& s, Search& search, const FleetView& fleet_view,
                      const state::Job& job) {
  EntitledPlace found;
  found.placement = search.find(fleet_view, job.shape, job.id);
  std::vector<ProductId> blocked_products;
  while (found.placement) {
    const std::vector<ProductDemand> amounts = amounts_of(s, *found.placement);
    const auto binding = first_binding(s.tree(), {job.leaf, amounts}, Asking::kAmounts);
    if (!binding) return {std::move(found.placement), std::nullopt};
    found.placement.reset();
    if (!found.blocked_by_rule) found.blocked_by_rule = binding;
    if (binding->any_product) return found;
    for (const auto& [product, amount] : amounts) {
      if (!binding->product || binding->product == product) blocked_products.push_back(product);
    }
    must(!blocked_products.empty(), "a rule of one product leaves others to try");
    found.placement = search.find(fleet_view, job.shape, job.id, blocked_products);
  }
  return found;
}

// Nodes that the job may not use before a certain time, and nodes that are tried last.
struct RefusedNodes {
  std::vector<NodeId> never, last;
};

RefusedNodes refused_nodes(const State& s, const state::Job& job) {
  RefusedNodes out;
  if (!s.node_backoff().any_of_jobs()) return out;
  for (const state::RefusedNode& refused : s.node_backoff().nodes_of(job.id)) {
    (refused.backed_off ? out.never : out.last).push_back(refused.node);
  }
  for (const PodGroup& group : s.fleet().request(job.shape).groups) {
    for (const NodeId node : s.node_backoff().refused_alike(group.shape)) {
      if (s.fleet().cluster_of(node) == job.id.cluster()) out.last.push_back(node);
    }
  }
  return out;
}

}  // namespace

EntitledPlace find_entitled(const State& s, Search& search, const ReservedNodes& reserved,
                            const state::Job& job) {
  must(job.shape && job.leaf != kUnassigned, "a job that looks for a placement is complete");
  const RefusedNodes refused = refused_nodes(s, job);
  if (refused.never.empty() && refused.last.empty()) {
    return find_in(s, search, FleetView(s.fleet(), reserved), job);
  }
  const JobId nobody(job.id.cluster(), 0);
  ReservedNodes without = reserved;
  without.reserve(refused.never, nobody);
  if (!refused.last.empty()) {
    ReservedNodes others = without;
    others.reserve(refused.last, nobody);
    EntitledPlace found = find_in(s, search, FleetView(s.fleet(), others), job);
    if (found.placement) return found;
  }
  EntitledPlace found = find_in(s, search, FleetView(s.fleet(), without), job);
  if (!found.placement && !found.blocked_by_rule && !refused.never.empty()) {
    found.refused = search.find(FleetView(s.fleet(), reserved), job.shape, job.id).has_value();
  }
  return found;
}

}  // namespace subak::derive
