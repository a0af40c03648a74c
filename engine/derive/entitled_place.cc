#include "engine/derive/entitled_place.h"

#include <map>

namespace subak::derive {
namespace {

ProductDemand least_demand(const State& s, const state::Job& job) {
  return {s.jobs().only_product(s.fleet().request(job.shape)), s.jobs().least_milligpu(job)};
}

}  // namespace

std::optional<Binding> stopped(const State& s, const state::Job& job, Asking asking) {
  const ProductDemand least = least_demand(s, job);
  return first_binding(s.tree(), {job.leaf, {&least, 1}}, asking);
}

bool is_within_quota(const State& s, const state::Job& job) {
  const ProductDemand least = least_demand(s, job);
  return within_quota(s.tree(), {job.leaf, {&least, 1}});
}

std::vector<ProductDemand> amounts_of(const State& s, const Placement& placement) {
  std::map<ProductId, MilliGpu> sums;
  for (const PodSlot& slot : placement.slots) {
    if (slot.milligpu > 0) sums[s.fleet().product_of(slot.node)] += slot.milligpu;
  }
  return {sums.begin(), sums.end()};
}

EntitledPlace find_entitled(const State& s, Search& search, const Picture& picture,
                            const state::Job& job) {
  EntitledPlace found;
  found.placement = search.find(picture, job.shape, job.id);
  std::vector<ProductId> barred;
  while (found.placement) {
    const std::vector<ProductDemand> amounts = amounts_of(s, *found.placement);
    const auto binding = first_binding(s.tree(), {job.leaf, amounts}, Asking::kAmounts);
    if (!binding) return {std::move(found.placement), std::nullopt};
    found.placement.reset();
    if (!found.barred) found.barred = binding;
    if (binding->any_product) return found;
    for (const auto& [product, amount] : amounts) {
      if (!binding->product || binding->product == product) barred.push_back(product);
    }
    found.placement = search.find(picture, job.shape, job.id, barred);
  }
  return found;
}

}  // namespace subak::derive
