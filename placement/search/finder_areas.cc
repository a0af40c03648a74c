// One function per topology: the areas that could hold the pods, in best-fit order, and the first
// that does.
#include <algorithm>
#include <bit>
#include <cassert>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>

#include "core/limits.h"
#include "placement/search/finder.h"

namespace subak {
namespace {

bool without_gpu(const Run& run) { return run.pods->shape->kind == GpuKind::kNone; }
bool of_slices(const Run& run) { return run.pods->shape->kind == GpuKind::kMig; }

// Returns the units of the first run's index that runs of the same filter need in total: a lower
// bound.
std::int64_t units_of(const Runs& runs) {
  std::int64_t units = 0;
  for (const Run& r : runs) {
    if (r.index.same_filter(runs[0].index)) units += r.count * r.pods->shape->gpus;
  }
  return units;
}

// Returns the ranks of [first, last), by their pods. `index_of(k)` is the index of the shape's k-th
// pods.
template <class F>
Runs runs_of(const Shape& shape, std::uint32_t first, std::uint32_t last, F&& index_of) {
  Runs runs;
  for (std::size_t k = 0; k < shape.pods.size(); ++k) {
    const Pods& p = shape.pods[k];
    const std::uint32_t from = std::max(first, p.first);
    const std::uint32_t to = std::min(last, p.first + p.count);
    if (from < to) runs.push_back({&p, index_of(k), from, to - from});
  }
  return runs;
}

}  // namespace

// If resources are reserved beside free GPUs, non-GPU pods come last: the rest that the gang's own
// GPUs leave counts.
Runs Finder::runs(std::uint32_t first, std::uint32_t last) const {
  Runs out = runs_of(shape_, first, last, [&](std::size_t k) { return index(k); });
  if (fleet_.headroom.any()) {
    std::stable_partition(out.begin(), out.end(), [](const Run& r) { return !without_gpu(r); });
  }
  return out;
}

bool Finder::attempt(Topology topology, std::uint32_t segment_size) {
  const std::uint32_t pods = shape_.request().pods();
  slots_.assign(pods, PodSlot{});
  const Runs all = runs(0, pods);
  if (!enough(all)) return false;
  // A segment is a set of pods that share an NVLink domain unless the topology says otherwise.
  if (segment_size > 0 && topology == Topology::kAny) topology = Topology::kNvlink;
  const bool wish = shape_.request().topology != Topology::kAny || shape_.request().segment > 0;
  compact_ = topology == Topology::kAny && wish;
  bounds_.linked = topology == Topology::kNvlink || topology == Topology::kNvlinkExclusive;
  const auto find = [&](bool one_product) {
    one_product_ = one_product;
    if (shape_.request().balanced && topology == Topology::kNvlink) {
      return balanced(topology, segment_size, all);
    }
    return greedily(topology, segment_size, all) || thoroughly(topology, segment_size, all);
  };
  const bool may_mix = shape_.request().mixed_products;
  const auto find_any = [&] {
    return find(shape_.one_product || may_mix) || (may_mix && find(false));
  };
  if (bounds_.linked) spare_ = shape_.request().spare;
  if (find_any()) return true;
  if (spare_ == 0) return false;
  spent_counts_ = true;
  return find_any();
}

bool Finder::greedily(Topology topology, std::uint32_t segment_size, const Runs& all) {
  bool ok = gang(topology, segment_size, all);
  if (ok && one_product_ && !of_one_product()) {
    undo_to(0);
    ok = gang_of_one_product(topology, segment_size, all);
  }
  if (ok && all_leave_headroom()) return true;
  undo_to(0);
  return false;
}

bool Finder::of_one_product() const {
  ProductId product;
  for (const PodSlot& slot : slots_) {
    const ProductId here = node(slot.node.value).product;
    if (slot.milligpu == 0 || here == product) continue;
    if (product) return false;
    product = here;
  }
  return true;
}

// Returns the products with room for the first pods, the one with the least free first.
std::vector<ProductId> Finder::products(const Runs& runs) {
  const auto first = std::find_if_not(runs.begin(), runs.end(), without_gpu);
  if (first == runs.end()) return {};
  const std::map<ProductId, std::int64_t> weights = product_weights(*first);
  std::vector<std::tuple<std::int64_t, std::string_view, ProductId>> order;
  order.reserve(weights.size());
  for (const auto& [product, free] : weights) {
    order.emplace_back(free, fleet_.products[product.value], product);
  }
  std::sort(order.begin(), order.end());
  std::vector<ProductId> out;
  out.reserve(order.size());
  for (const auto& [free, name, product] : order) out.push_back(product);
  return out;
}

// Called if the gang fits on several products together. On each product alone it again tries
// fragments first, unless the gang must be close together.
bool Finder::gang_of_one_product(Topology topology, std::uint32_t segment_size, const Runs& all) {
  const std::vector<ProductId> order = products(all);
  const auto on = [&](ProductId product, auto&& place_it) {
    bounds_.product = product;
    const bool ok = place_it();
    bounds_.product = ProductId();
    return ok;
  };
  const bool fragments_first = topology == Topology::kAny && !compact_;
  const bool broken =
      fragments_first && std::any_of(order.begin(), order.end(), [&](ProductId product) {
        return on(product, [&] { return on_fragments(all); });
      });
  return broken || std::any_of(order.begin(), order.end(), [&](ProductId product) {
           return on(product, [&] { return gang(topology, segment_size, all); });
         });
}

// Places all segments, or parts; if it fails, none of them stays on trial.
bool Finder::gang(Topology topology, std::uint32_t segment_size, const Runs& all) {
  const auto pods = static_cast<std::uint32_t>(slots_.size());
  if (pods > 0 && part_end(0, segment_size) == pods) return segment(topology, all);
  bool ok = true;
  const bool non_gpu_last = fleet_.headroom.any() && topology != Topology::kNode;
  for (std::uint32_t first = 0; ok && first < pods;) {
    const std::uint32_t last = part_end(first, segment_size);
    Runs part = runs(first, last);
    if (non_gpu_last) std::erase_if(part, without_gpu);
    ok = segment(topology, part);
    if (ok && parts_ > 0) take_domain(first, last);
    first = last;
  }
  if (non_gpu_last) {
    ok = ok && std::all_of(all.begin(), all.end(),
                           [&](const Run& r) { return !without_gpu(r) || anywhere(Runs{r}); });
  }
  taken_.clear();
  if (!ok) undo_to(0);
  if (ok && parts_ == 0 && all.size() == 1) sort_segments(segment_size);
  return ok;
}

// Topology is about GPUs: pods without GPUs go anywhere, except if all must be on one node.
bool Finder::segment(Topology topology, const Runs& runs) {
  if (topology == Topology::kAny || topology == Topology::kNode) return together(topology, runs);
  Runs with, without;
  for (const Run& r : runs) (without_gpu(r) ? without : with).push_back(r);
  const std::size_t mark = placed_.size();
  if (!with.empty() && !together(topology, with)) return false;
  const bool all =
      std::all_of(without.begin(), without.end(), [&](const Run& r) { return anywhere(Runs{r}); });
  if (!all) undo_to(mark);
  return all;
}

bool Finder::together(Topology topology, const Runs& runs) {
  switch (topology) {
    case Topology::kAny:
      return anywhere(runs);
    case Topology::kNode:
      return on_one_node(runs, nullptr);
    case Topology::kNvlink:
      return in_inner_domain(runs) || on_one_joined_node(runs) || in_clique(runs);
    case Topology::kNvlinkExclusive:
      return exclusively(runs);
    case Topology::kRack:
      return in_group(0, runs);
  }
  return false;
}

// Places the gang only if all of it fits on nodes with holds, so that it uses no other node.
bool Finder::on_fragments(const Runs& runs) {
  if (scene_.nothing_held) return false;
  std::int64_t pods = 0;
  for (const Run& r : runs) {
    if (without_gpu(r)) continue;
    const std::int64_t each = r.pods->shape->gpus;
    pods += r.count;
    const bool bounded = r.index.counts() && each > 0;
    if (bounded && r.index.times_on_fragments(each) < r.count) return false;
  }
  if (pods <= 1) return false;
  const std::size_t mark = placed_.size();
  bounds_.fragments = true;
  const bool ok =
      on_one_node(runs, nullptr) || std::all_of(runs.begin(), runs.end(), [&](const Run& r) {
        return on_one_node(Runs{r}, nullptr) || spread(r, nullptr);
      });
  bounds_.fragments = false;
  if (!ok) undo_to(mark);
  return ok;
}

bool Finder::on_one_joined_node(const Runs& runs) {
  // Slices need no link.
  bounds_.unsplit = !std::all_of(runs.begin(), runs.end(), of_slices);
  const bool ok = on_one_node(runs, nullptr);
  bounds_.unsplit = false;
  return ok;
}

bool Finder::anywhere(const Runs& runs) {
  if (compact_ && (on_one_node(runs, nullptr) || compactly(runs))) return true;
  if (on_fragments(runs)) return true;
  if (on_one_node(runs, nullptr)) return true;
  if (!compact_ && fills_nodes(runs) && compactly(runs)) return true;
  if (runs.size() == 1) return runs[0].count > 1 && spread(runs[0], nullptr);
  return in_clique(runs) || each_of(runs, [&](const Run& r) { return anywhere(Runs{r}); });
}

// Also a lower bound: that of the pods that units_of() counts.
CpuAsk Finder::cpu_ask(const Runs& runs) const {
  if (ignore_.cpu || scene_.nothing_held) return {};
  std::int64_t milli = 0;
  for (const Run& r : runs) {
    if (r.index.same_filter(runs[0].index)) milli += r.count * r.pods->shape->cpu_milli;
  }
  return {std::min(milli, limits::kMaxCpuMilli), std::max<std::int64_t>(1, units_of(runs))};
}

bool Finder::on_one_node_indexed(const Runs& runs, std::int64_t units) {
  const Index& x = runs[0].index;
  if (bounds_.fragments && units > 0 && x.times_on_fragments(units) == 0) return false;
  const CpuAsk ask = cpu_ask(runs);
  std::vector<DomainKey> order;
  return x.visit(units, units, ask, [&](const DomainKey& d) {
    order.clear();
    for (const NodeIndex m : members(d.domain)) {
      if (x.free(m) < units) continue;
      const std::int64_t cpu = scene_.nothing_held ? 0 : cpu_left(scene_.room(m));
      order.push_back({weight(x, m), cpu, m, 0});
    }
    std::sort(order.begin(), order.end(),
              [&](const DomainKey& a, const DomainKey& b) { return ask.before(a, b); });
    return std::any_of(order.begin(), order.end(), [&](const DomainKey& node) {
      return fits_all(runs, node.low, kAllGpus) && place_all(runs, node.low, kAllGpus);
    });
  });
}

bool Finder::on_one_node(const Runs& runs, Area area) {
  const std::int64_t units = units_of(runs);
  if (indexed(runs[0], area)) return on_one_node_indexed(runs, units);
  if (area == nullptr && by_state()) return on_one_node_alike(runs);
  NodeIndex best = 0;
  FitKey best_key{};
  each_node(area, [&](NodeIndex i) {
    if (!eligible(runs[0].index, i) || !fits_all(runs, i, kAllGpus)) return false;
    const FitKey key = node_key(runs[0], i);
    if (best == 0 || key < best_key) best = i, best_key = key;
    return scene_.all_open;  // any node will do
  });
  return best != 0 && place_all(runs, best, kAllGpus);
}

bool Finder::in_inner_domain(const Runs& runs) {
  if (fleet_.split_nodes == 0 || std::any_of(runs.begin(), runs.end(), of_slices)) return false;
  if (by_state()) return in_inner_domain_alike(runs);
  NodeIndex best = 0;
  GpuMask best_mask = 0;
  FitKey best_key{};
  each_node(nullptr, [&](NodeIndex i) {
    const NodeSpec& spec = node(i).spec;
    if (inner_domains(spec) <= 1 || !eligible(runs[0].index, i)) return false;
    for (std::int64_t d = 0; d < inner_domains(spec); ++d) {
      const GpuMask mask = inner_domain_mask(spec, d);
      const FitKey key{weight_inside(runs[0].index, i, mask), weight(runs[0].index, i), i, d, 0};
      if (taken(i, mask) || (best != 0 && best_key <= key)) continue;
      if (fits_all(runs, i, mask)) best = i, best_mask = mask, best_key = key;
    }
    return best != 0 && scene_.all_open;
  });
  return best != 0 && place_all(runs, best, best_mask);
}

bool Finder::inside(Area area, const Runs& runs) {
  if (runs.size() == 1) return spread(runs[0], area);
  return on_one_node(runs, area) || each_of(runs, [&](const Run& r) { return spread(r, area); });
}

bool Finder::in_clique(const Runs& runs) {
  const auto try_domain = [&](DomainIndex d) {
    return members(d).size() > 1 && inside(&members(d), runs);
  };
  if (indexed(runs[0], nullptr)) {
    return runs[0].index.visit(runs[0].pods->shape->gpus, units_of(runs), cpu_ask(runs),
                               [&](const DomainKey& d) { return try_domain(d.domain); });
  }
  std::vector<FitKey> order;
  for (const DomainIndex d : runs[0].index.joined()) {
    order.push_back(domain_key(runs[0].index, d));
  }
  std::sort(order.begin(), order.end());
  return std::any_of(order.begin(), order.end(), [&](const FitKey& key) {
    return try_domain(static_cast<DomainIndex>(key[2]));
  });
}

bool Finder::unused(NodeIndex i, GpuMask gpus) const {
  if (scene_.nothing_held) return true;
  const Load& load = scene_.load(i);
  if ((load.gpus() & gpus) != 0 || load.loose != 0) return false;
  // Own pods of an earlier segment, and domains that are reserved for another gang.
  if ((scene_.room(i).whole & gpus) != (room(i).whole & gpus)) return false;
  for (const Hold& h : load.holds) {
    if ((h.kept & gpus) != 0 || (gpus == kAllGpus && h.slot.milligpu > 0)) return false;
  }
  return scene_.kept_holds(node(i).home()) == 0;
}

// True if a job waits for it. Nodes that are reserved for no particular job are simply not used.
bool Finder::promised_to_other(NodeIndex i) const {
  const JobId keeper = scene_.owner_of(i);
  return keeper && keeper != owner_ && keeper.sequence() != 0;
}

void Finder::exclusive_candidates(const Run& run, NodeIndex i, std::vector<Exclusive>& out) const {
  const NodeState& n = node(i);
  if (n.former != kNoArea) return;  // by its wires it is in a domain with others
  switch (fleet_.exclusive_level(shape_, run.rank, n)) {
    case Fleet::Impl::Level::kInner:
      for (std::int64_t d = 0; d < inner_domains(n.spec); ++d) {
        const GpuMask mask = inner_domain_mask(n.spec, d);
        if (unused(i, mask)) out.push_back({{std::popcount(mask), i, d, 0, 0}, i, mask});
      }
      break;
    case Fleet::Impl::Level::kNode:
      if (n.split && !of_slices(run)) break;
      if (unused(i, kAllGpus)) out.push_back({{n.spec.gpus, i, 0, 0, 0}, i, kAllGpus});
      break;
    case Fleet::Impl::Level::kClique: {
      std::int64_t gpus = 0;
      bool all_unused = true;
      fleet_.domains[n.domain]->each_wired([&](NodeIndex m) {
        all_unused = all_unused && unused(m, kAllGpus) && !promised_to_other(m);
        gpus += node(m).spec.gpus;
      });
      if (!all_unused) return;
      out.push_back({{gpus, members(n.domain).front(), n.domain, 0, 0}, i, 0});
    }
  }
}

bool Finder::exclusively(const Runs& runs) {
  std::vector<Exclusive> order;
  each_node(nullptr, [&](NodeIndex i) {
    if (taken_alike(runs[0].index, i) || !eligible(runs[0].index, i)) return false;
    const bool clique_seen = !order.empty() && order.back().mask == 0 &&
                             node(order.back().node).domain == node(i).domain;
    if (!clique_seen) exclusive_candidates(runs[0], i, order);
    return false;
  });
  std::sort(order.begin(), order.end(),
            [](const Exclusive& a, const Exclusive& b) { return a.key < b.key; });
  return std::any_of(order.begin(), order.end(), [&](const Exclusive& c) {
    if (c.mask != 0) return fits_all(runs, c.node, c.mask) && place_all(runs, c.node, c.mask);
    return inside(&members(node(c.node).domain), runs);
  });
}

bool Finder::could_start_at(NodeIndex i, Topology topology) {
  const std::uint32_t pods = shape_.request().pods();
  slots_.assign(pods, PodSlot{});
  Runs all = runs(0, pods);
  if (all.size() > 1) {  // then it is placed pod by pod in the end
    return std::any_of(all.begin(), all.end(),
                       [&](const Run& run) { return cap(run, i, kAllGpus, 1) > 0; });
  }
  if (topology == Topology::kNode || pods == 1) {
    if (topology != Topology::kNvlinkExclusive) return fits_all(all, i, kAllGpus);
  }
  if (topology != Topology::kNvlink) return true;
  std::erase_if(all, without_gpu);
  if (all.empty() || fits_all(all, i, kAllGpus)) return true;
  if (node(i).domain == kNoArea) return false;
  const auto& around = members(node(i).domain);
  return around.size() > 1 && inside(&around, all);
}

// Compares the GPU pods of rank's segment with the empty node.
Fleet::Impl::Level Fleet::Impl::exclusive_level(const Shape& s, std::uint32_t rank,
                                                const NodeState& n) const {
  const std::uint32_t size = s.request().segment > 0 ? s.request().segment : s.request().pods();
  const std::uint32_t first = rank / size * size;
  Runs runs = runs_of(s, first, std::min(first + size, s.request().pods()),
                      [](std::size_t) { return Index(); });
  std::erase_if(runs, without_gpu);
  const auto holds_all = [&](GpuMask allowed) {
    if (runs.size() == 1) {
      const auto count = std::int64_t{runs[0].count};
      return pods_that_fit(n.spec, n.empty, *runs[0].pods->shape, allowed, count) >= count;
    }
    Room room = n.empty;
    for (const Run& r : runs) {
      for (std::uint32_t k = 0; k < r.count; ++k) {
        const auto slot = choose(NodeId(1), n.spec, room, *r.pods->shape, allowed);
        if (!slot) return false;
        consume(n.spec, room, *r.pods->shape, *slot);
      }
    }
    return true;
  };
  if (inner_domains(n.spec) > 1 && holds_all(inner_domain_mask(n.spec, 0))) return Level::kInner;
  const DomainIndex home = n.home();
  const bool alone =
      home == kNoArea || domains[home]->members.size() + domains[home]->strays.size() <= 1;
  return alone || holds_all(kAllGpus) ? Level::kNode : Level::kClique;
}

}  // namespace subak
