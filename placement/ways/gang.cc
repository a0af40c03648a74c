// Places a gang segment by segment, or part by part. If the gang must be on one product, tries each
// product.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "placement/ways/ways.h"

namespace subak {
namespace {

// Returns the first rank after the segment, or the part, that begins with `first`. The larger parts
// of a balanced gang have the lower ranks.
std::uint32_t part_end(const Query& q, std::uint32_t parts, std::uint32_t first) {
  const std::uint32_t pods = q.pods();
  if (parts == 0) return q.segment > 0 ? std::min(first + q.segment, pods) : pods;
  const std::uint32_t unit = std::max(q.segment, 1u), units = q.segments();
  must(parts <= units, "each part of a balanced gang has a pod");
  const std::uint32_t each = units / parts, larger = units % parts * (each + 1) * unit;
  return std::min(pods, first + (first < larger ? each + 1 : each) * unit);
}

// Adds to `taken` the domain of the part with the ranks [first, last). The slot of its first pod
// with GPUs shows the domain.
void take_domain(GangAttempt& a, std::uint32_t first, std::uint32_t last, TakenDomains& taken) {
  for (std::uint32_t rank = first; rank < last; ++rank) {
    const PodSlot& slot = a.trial().slots()[rank];
    if (slot.milligpu == 0) continue;
    const NodeState& n = a.query().node(slot.node.value);
    GpuMask gpus = kAllGpus;
    for (std::int64_t d = 0; n.split && d < inner_domains(n.spec); ++d) {
      const GpuMask mask = inner_domain_mask(n.spec, d);
      if ((mask & slot.gpu_mask) != 0) gpus = mask;
    }
    taken.add(n.domain, gpus);
    return;
  }
}

// Sorts segments of equal size so that the segments of one block have consecutive ranks.
void sort_segments(GangAttempt& a) {
  const Query& q = a.query();
  if (q.fleet.topology.named() == 0 || q.segment == 0 || q.pods() % q.segment != 0) return;
  std::vector<std::uint32_t> order;
  for (std::uint32_t first = 0; first < q.pods(); first += q.segment) order.push_back(first);
  must(order.size() == q.segments(), "each segment of the gang is in the order");
  const std::vector<PodSlot>& slots = a.trial().slots();
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t l, std::uint32_t r) {
    return q.where(slots[l].node.value) < q.where(slots[r].node.value);
  });
  a.trial().reorder_segments(q.segment, order);
}

// Places all segments of the gang, or all parts of a balanced gang. If one of them does not fit, no
// pod stays on trial.
bool in_segments(GangAttempt& a, const Bounds& outer, const Runs& all, std::uint32_t parts) {
  const Query& q = a.query();
  const std::uint32_t pods = q.pods();
  if (pods > 0 && part_end(q, parts, 0) == pods) return segment(a, outer, all);
  TakenDomains taken;
  Bounds bounds = outer;
  if (parts > 0) bounds.taken = &taken;
  bool ok = true;
  const bool non_gpu_last = q.fleet.headroom.any() && q.topology != Topology::kNode;
  for (std::uint32_t first = 0; ok && first < pods;) {
    const std::uint32_t last = part_end(q, parts, first);
    must(first < last && last <= pods, "each segment has pods of the gang");
    Runs part = q.runs(first, last);
    if (non_gpu_last) std::erase_if(part, without_gpu);
    ok = segment(a, bounds, part);
    if (ok && parts > 0) take_domain(a, first, last, taken);
    first = last;
  }
  if (non_gpu_last) {
    ok = ok && std::all_of(all.begin(), all.end(), [&](const Run& r) {
           return !without_gpu(r) || anywhere(a, bounds, Runs{r});
         });
  }
  if (!ok) a.trial().undo_to(0);
  if (ok && parts == 0 && all.size() == 1) sort_segments(a);
  return ok;
}

// True if all GPUs of the gang on trial are of one product.
bool of_one_product(GangAttempt& a) {
  must(a.trial().mark() == a.query().pods(), "the product of a complete gang is asked for");
  ProductId product;
  for (const PodSlot& slot : a.trial().slots()) {
    if (slot.milligpu == 0) continue;
    const ProductId here = a.query().node(slot.node.value).product;
    if (here == product) continue;
    if (product) return false;
    product = here;
  }
  return true;
}

// Returns the best-fit weight of the nodes that the run may use, by product or fabric. key_of()
// reads the key from a NodeState or a GpuState.
template <class Key, class F>
std::map<Key, std::int64_t> weights_by(GangAttempt& a, const Bounds& bounds, const Run& run,
                                       F&& key_of) {
  const Query& q = a.query();
  const Index& x = run.index;
  std::map<Key, std::int64_t> weights;
  const bool alike = q.by_state && q.scene.overlay == nullptr && q.scene.reserved == nullptr &&
                     !x.any_backed_off() && !q.leaves_some && !q.uses_compute_domain;
  if (!alike) {
    q.each_node(nullptr, [&](NodeIndex i) {
      if (a.eligible(bounds, x, i)) weights[key_of(q.node(i))] += q.weight(x, i);
      return false;
    });
    return weights;
  }
  for (const std::uint32_t number : x.live()) {
    const GpuState& s = q.fleet.states[state_of_alike(number)];
    if (!q.within(bounds, x, s)) continue;
    weights[key_of(s)] += x.weight(s) * static_cast<std::int64_t>(x.alike(number).size());
  }
  return weights;
}

// Returns the products with room for the first pods that need GPUs. The product with the least free
// GPUs comes first.
std::vector<ProductId> products(GangAttempt& a, const Bounds& bounds, const Runs& runs) {
  const auto first = std::find_if_not(runs.begin(), runs.end(), without_gpu);
  if (first == runs.end()) return {};
  std::vector<std::tuple<std::int64_t, std::string_view, ProductId>> order;
  const auto product_of = [](const auto& node) { return node.product; };
  for (const auto& [product, free] : weights_by<ProductId>(a, bounds, *first, product_of)) {
    order.emplace_back(free, a.query().fleet.products.name(product), product);
  }
  std::sort(order.begin(), order.end());
  std::vector<ProductId> out;
  out.reserve(order.size());
  for (const auto& [free, name, product] : order) out.push_back(product);
  return out;
}

// Places a gang that fits on several products together on one product. The code tries the fragments
// of each product first, unless the gang must be close together.
bool on_one_product(GangAttempt& a, const Bounds& bounds, const Runs& all, std::uint32_t parts) {
  const Query& q = a.query();
  must(a.trial().mark() == 0, "each product is tried with no pod on trial");
  const std::vector<ProductId> order = products(a, bounds, all);
  const auto of = [&](ProductId product) {
    Bounds one = bounds;
    one.product = product;
    return one;
  };
  const bool fragments_first = q.topology == Topology::kAny && !q.compact;
  const bool broken =
      fragments_first && std::any_of(order.begin(), order.end(), [&](ProductId product) {
        return on_fragments(a, of(product), all);
      });
  return broken || std::any_of(order.begin(), order.end(), [&](ProductId product) {
           return in_segments(a, of(product), all, parts);
         });
}

// Returns false if the index alone shows that the gang does not fit. Most failing searches end here
// and cost next to nothing.
bool enough(const Query& q, const Runs& runs) {
  if (q.scene.is_empty()) return true;
  for (const Run& run : runs) {
    if (!q.scene.all_open && run.index.open_nodes() == 0) return false;
    const std::int64_t each = run.pods->shape->gpus;
    if (!run.index.counts() || each <= 0) continue;
    if (run.index.times_free(each) < run.count) return false;
  }
  return true;
}

// Returns the RDMA fabrics with room for the first pods that need GPUs. The fabric with the least
// free GPUs comes first.
std::vector<std::string> fabrics(GangAttempt& a, const Bounds& bounds, const Runs& runs) {
  const auto first = std::find_if_not(runs.begin(), runs.end(), without_gpu);
  if (first == runs.end()) return {};
  std::vector<std::pair<std::int64_t, std::string>> order;
  const auto fabric_of = [](const auto& node) { return node.spec.fabric; };
  for (const auto& [fabric, free] : weights_by<std::string>(a, bounds, *first, fabric_of)) {
    order.emplace_back(free, fabric);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> out;
  out.reserve(order.size());
  for (auto& [free, fabric] : order) out.push_back(std::move(fabric));
  return out;
}

// Places all segments or parts on nodes that the bounds allow.
bool all_parts(GangAttempt& a, const Bounds& bounds, const Runs& all) {
  const bool in_parts = a.query().shape.request().terms.balanced;
  if (in_parts && a.query().topology == Topology::kNvlink) return balanced(a, bounds, all);
  return greedily(a, bounds, all, 0) || thoroughly(a, bounds, all);
}

// Returns the domains of the set that have room for all its pods, the one with the least free
// GPUs first.
std::vector<std::uint32_t> domains_for(GangAttempt& a, const Bounds& outer, const Runs& all,
                                       std::size_t set) {
  const Query& q = a.query();
  Bounds bounds = outer;
  bounds.any_skew = true;
  Ignore ignore = q.ignore;
  ignore.headroom = true;  // the rule counts less once the gang's own GPUs are taken
  const DomainOfNode& domain_of = a.rules().domains_of(set);
  std::map<std::uint32_t, std::int64_t> weights;
  bool first = true;
  for (const Run& run : all) {
    if (!a.rules().in_set(set, *run.pods)) continue;
    std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> here;  // pods, weight
    q.each_node(nullptr, [&](NodeIndex i) {
      const std::int64_t pods = a.cap(bounds, run, i, kAllGpus, run.count, ignore);
      if (pods == 0) return false;
      here[domain_of[i]].first += pods;
      here[domain_of[i]].second += q.weight(run.index, i);
      return false;
    });
    std::erase_if(here, [&](const auto& domain) { return domain.second.first < run.count; });
    std::erase_if(weights, [&](const auto& domain) { return !here.contains(domain.first); });
    for (const auto& [domain, sums] : here) {
      if (first || weights.contains(domain)) weights[domain] += sums.second;
    }
    first = false;
  }
  std::vector<std::pair<std::int64_t, std::uint32_t>> order;
  order.reserve(weights.size());
  for (const auto& [domain, weight] : weights) order.emplace_back(weight, domain);
  std::sort(order.begin(), order.end());
  std::vector<std::uint32_t> out;
  out.reserve(order.size());
  for (const auto& [weight, domain] : order) out.push_back(domain);
  return out;
}

// Does what all_parts() does, with the pods of each set (PodRules::sets()) in one domain. `near` has
// the domains of the first sets.
bool near_each_other(GangAttempt& a, Bounds bounds, const Runs& all,
                     std::vector<std::uint32_t>& near) {
  bounds.near = &near;
  if (near.size() == a.rules().sets()) return all_parts(a, bounds, all);
  must(a.trial().mark() == 0, "each domain is tried with no pod on trial");
  const std::vector<std::uint32_t> order = domains_for(a, bounds, all, near.size());
  return std::any_of(order.begin(), order.end(), [&](std::uint32_t domain) {
    near.push_back(domain);
    const bool ok = near_each_other(a, bounds, all, near);
    near.pop_back();
    return ok;
  });
}

// Does what near_each_other() does, in one RDMA fabric if the gang asks for RDMA.
bool in_one_fabric(GangAttempt& a, Bounds bounds, const Runs& all) {
  const Query& q = a.query();
  const bool any = !q.shape.one_fabric || q.ignore.fabric || q.fleet.states.with_fabric() == 0;
  std::vector<std::uint32_t> near;
  if (any) return near_each_other(a, bounds, all, near);
  const std::vector<std::string> order = fabrics(a, bounds, all);
  must(a.trial().mark() == 0, "each fabric is tried with no pod on trial");
  return std::any_of(order.begin(), order.end(), [&](const std::string& fabric) {
    bounds.fabric = &fabric;
    return near_each_other(a, bounds, all, near);
  });
}

// Does the complete search within these bounds. A gang that may mix products is tried on one
// product first.
bool within_bounds(GangAttempt& a, Bounds bounds, const Runs& all) {
  const GangRequest& asked = a.query().shape.request();
  const auto find = [&](bool one_product) {
    bounds.one_product = one_product;
    return in_one_fabric(a, bounds, all);
  };
  const bool may_mix = asked.terms.mixed_products;
  return find(a.query().shape.one_product || may_mix) || (may_mix && find(false));
}

// Places the runs on one node, within one NVLink domain.
bool on_one_joined_node(GangAttempt& a, const Bounds& bounds, const Runs& runs) {
  Bounds joined = bounds;
  joined.unsplit = !std::all_of(runs.begin(), runs.end(), of_slices);  // slices need no link
  return on_one_node(a, joined, runs, nullptr);
}

// Places the runs as close together as the topology says.
bool together(GangAttempt& a, const Bounds& bounds, const Runs& runs) {
  switch (a.query().topology) {
    case Topology::kAny:
      return anywhere(a, bounds, runs) || evenly(a, bounds, runs);
    case Topology::kNode:
      return on_one_node(a, bounds, runs, nullptr);
    case Topology::kNvlink:
      return in_inner_domain(a, bounds, runs) || on_one_joined_node(a, bounds, runs) ||
             in_clique(a, bounds, runs);
    case Topology::kNvlinkExclusive:
      return exclusively(a, bounds, runs);
    case Topology::kRack:
      return in_group(a, bounds, 0, runs);
  }
  return false;
}

}  // namespace

bool segment(GangAttempt& a, const Bounds& bounds, const Runs& runs) {
  const Topology topology = a.query().topology;
  if (topology == Topology::kAny || topology == Topology::kNode) return together(a, bounds, runs);
  const bool all_with = std::none_of(runs.begin(), runs.end(), without_gpu);
  if (all_with && !runs.empty()) return together(a, bounds, runs);
  Runs with, without;
  for (const Run& r : runs) (without_gpu(r) ? without : with).push_back(r);
  const std::size_t mark = a.trial().mark();
  if (!with.empty() && !together(a, bounds, with)) return false;
  const bool all = std::all_of(without.begin(), without.end(),
                               [&](const Run& r) { return anywhere(a, bounds, Runs{r}); });
  if (!all) a.trial().undo_to(mark);
  must(a.trial().mark() == (all ? mark + pods_of(runs) : mark), "a segment is placed complete");
  return all;
}

bool greedily(GangAttempt& a, const Bounds& bounds, const Runs& all, std::uint32_t parts) {
  must(a.trial().mark() == 0, "a greedy search begins with no pod on trial");
  bool ok = in_segments(a, bounds, all, parts);
  if (ok && bounds.one_product && !of_one_product(a)) {
    a.trial().undo_to(0);
    ok = on_one_product(a, bounds, all, parts);
  }
  must(a.trial().mark() == (ok ? a.query().pods() : 0), "segments are placed all, or none");
  if (ok && a.trial().leaves_headroom(a.query().ignore) && a.rules().hold()) return true;
  a.trial().undo_to(0);
  return false;
}

bool place_gang(GangAttempt& a) {
  const Query& q = a.query();
  must(a.trial().mark() == 0, "a search begins with no pod on trial");
  const Runs all = q.runs(0, q.pods());
  if (!enough(q, all)) return false;
  Bounds bounds;
  bounds.without = q.without;
  bounds.linked = q.topology == Topology::kNvlink || q.topology == Topology::kNvlinkExclusive;
  if (bounds.linked) bounds.spare = q.shape.request().terms.spare;
  bool ok = within_bounds(a, bounds, all);
  if (!ok && bounds.spare > 0) {
    bounds.spent_counts = true;
    ok = within_bounds(a, bounds, all);
  }
  must(a.trial().mark() == (ok ? q.pods() : 0), "a gang is placed complete, or not at all");
  return ok;
}

bool could_start_at(GangAttempt& a, NodeIndex i) {
  const Query& q = a.query();
  must(a.trial().mark() == 0, "a node is asked for with no pod on trial");
  const Bounds bounds;
  Runs all = q.runs(0, q.pods());
  if (all.size() > 1) {  // it may be placed pod by pod, so room for one pod is enough
    return std::any_of(all.begin(), all.end(),
                       [&](const Run& run) { return a.cap(bounds, run, i, kAllGpus, 1) > 0; });
  }
  if (q.topology == Topology::kNode || q.pods() == 1) {
    if (q.topology != Topology::kNvlinkExclusive) return a.fits_all(bounds, all, i, kAllGpus);
  }
  if (q.topology != Topology::kNvlink) return true;
  std::erase_if(all, without_gpu);
  if (all.empty() || a.fits_all(bounds, all, i, kAllGpus)) return true;
  if (q.node(i).domain == kNoArea) return false;
  const auto& around = q.members(q.node(i).domain);
  return around.size() > 1 && inside(a, bounds, all, &around);
}

}  // namespace subak
