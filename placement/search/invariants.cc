// Recomputes everything that the fleet updates incrementally, and compares.
#include <algorithm>
#include <bit>
#include <cassert>
#include <map>
#include <set>

#include "model/mig.h"
#include "model/product.h"
#include "placement/fleet/replacement_nodes.h"
#include "placement/fleet/whole_domains.h"
#include "placement/gpus/eligibility.h"
#include "placement/search/search_impl.h"

namespace subak {
namespace {

void check_node(const NodeState& n) {
  MilliGpu allocated = 0, on_gpus = 0, of_slices = 0;
  std::int64_t pods = 0;
  for (const Hold& h : n.load.holds) {
    allocated += h.slot.milligpu;
    ++pods;
    if (h.slot.gpu_mask == 0) of_slices += h.slot.milligpu;
  }
  for (const std::int32_t used : n.load.gpu_used) {
    assert(used >= 0);
    on_gpus += used;
  }
  assert(allocated == n.load.allocated && pods == n.load.pods_used);
  assert(n.load.loose >= 0 && n.load.cpu_used >= 0 && n.load.memory_used >= 0);
  assert(on_gpus + of_slices >= allocated || n.load.loose > 0);
  for (const MigUse& u : n.load.mig_used) assert(u.slices >= 0);

  const NodeLevels& l = n.levels;
  assert(l.installed + l.overcommitted == l.allocated + l.idle + l.stranded + l.unusable);
  assert(l.idle >= 0 && l.stranded >= 0 && l.unusable >= 0 && l.overcommitted >= 0);
  const NodeBooks& b = n.books;
  assert(b.installed + b.overcommitted == b.allocated + b.idle + b.stranded + b.unusable);

  assert((n.room.whole & ~n.room.usable) == 0);
  for (std::size_t i = 0; i < n.room.gpu_free.size(); ++i) {
    const bool whole = (n.room.whole >> i & 1) != 0;
    assert(n.room.gpu_free[i] >= 0 && (!whole || n.room.gpu_free[i] == kMilliPerGpu));
    assert((n.room.usable >> i & 1) != 0 || n.room.gpu_free[i] == 0);
  }
}

// Each node's state equals what is left there, whichever GPU it is on; no state is stored without
// nodes.
void check_states(const Fleet::Impl& impl) {
  std::set<StateIndex> used;
  for (const auto& n : impl.nodes) {
    assert(!n || n->present == (n->state != 0));
    if (!n || !n->present) continue;
    used.insert(n->state);
    const GpuState& s = impl.states[n->state];
    std::vector<std::int32_t> here = n->room.gpu_free, there = s.room.gpu_free;
    std::sort(here.begin(), here.end());
    std::sort(there.begin(), there.end());
    assert(here == there && n->room.mig_free == s.room.mig_free && n->product == s.product);
    assert(std::popcount(n->room.whole) == std::popcount(s.room.whole));
    assert(s.used == (n->load.allocated > 0) && s.split == n->split && s.linked == n->linked);
  }
  assert(used.size() == impl.states.known());
}

void check_groups(const Fleet::Impl& impl) {
  for (NodeIndex i = 0; i < impl.nodes.size(); ++i) {
    if (!impl.nodes[i] || !impl.nodes[i]->present) continue;
    const NodeState& n = *impl.nodes[i];
    const auto holds = [&](const Group& g) {
      assert(std::binary_search(g.members.begin(), g.members.end(), i));
      assert(g.cluster == n.cluster);
    };
    holds(*impl.domains[n.domain]);
    assert(impl.rack_of[i] == n.groups[0]);
    for (std::size_t k = 0; k < impl.depth; ++k) {
      holds(*impl.levels[k].groups[n.groups[k]]);
      const std::uint32_t above = k + 1 < impl.depth ? n.groups[k + 1] : kNoArea;
      assert(impl.levels[k].groups[n.groups[k]]->parent == above);
    }
  }
  std::map<DomainIndex, std::uint32_t> kept;
  std::size_t keeping = 0;
  for (const auto& n : impl.nodes) {
    if (!n) continue;
    for (const Hold& h : n->load.holds) {
      const Fleet::Impl::Keep keep = impl.keep_of(h, *n);
      assert(!n->present || (h.kept == keep.gpus && h.kept_domain == keep.domain));
      if (h.kept_domain != kNoArea) ++kept[h.kept_domain];
    }
  }
  for (DomainIndex d = 1; d < impl.domains.size(); ++d) {
    const auto load_of = [&](NodeIndex m) -> const Load& { return impl.nodes[m]->load; };
    const ReplacementNodes replacement_nodes = replacement_nodes_of(impl, d, load_of);
    assert(impl.domains[d]->reserves_replacements == replacement_nodes.wanted);
    for (const NodeIndex m : impl.domains[d]->members) {
      assert(impl.nodes[m]->spare ==
             std::binary_search(replacement_nodes.nodes.begin(), replacement_nodes.nodes.end(), m));
    }
    assert(std::is_sorted(impl.domains[d]->members.begin(), impl.domains[d]->members.end()));
    const auto it = kept.find(d);
    assert(impl.domains[d]->kept == (it == kept.end() ? 0 : it->second));
    keeping += impl.domains[d]->keeps() ? 1 : 0;
  }
  assert(impl.keeping == keeping);
}

void check_whole(const Fleet::Impl& impl) {
  std::map<std::pair<ClusterId, ProductId>, std::vector<std::pair<WholeKey, bool>>> kinds;
  for (DomainIndex d = 1; d < impl.domains.size(); ++d) {
    const Group& g = *impl.domains[d];
    const Group now = measured(impl, d);
    assert(g.held == now.held && g.whole.working == now.whole.working);
    assert(g.computing == now.computing);
    if (g.whole.working == 0 || impl.rules.keep_whole == 0) {
      assert(!g.left);
      continue;
    }
    assert(g.product == now.product && g.whole.low == now.whole.low && g.whole.domain == d);
    kinds[{g.cluster, g.product}].push_back({g.whole, g.held == 0});
  }
  for (auto& [kind, domains] : kinds) {
    std::sort(domains.begin(), domains.end());
    std::uint32_t empty = 0;
    for (const auto& [key, is_empty] : domains) {
      const Group& g = *impl.domains[key.domain];
      assert(g.left == (is_empty && empty < impl.rules.keep_whole));
      empty += is_empty ? 1 : 0;
    }
  }
}

void check_totals(const Fleet::Impl& impl) {
  std::vector<ProductTotals> sums(impl.totals.size());
  for (const auto& n : impl.nodes) {
    if (!n) continue;
    ProductTotals& t = sums[n->totals];
    t.nodes += n->present ? 1 : 0;
    t.milligpu.installed += n->levels.installed;
    t.milligpu.allocated += n->levels.allocated;
    t.milligpu.idle += n->levels.idle;
    t.milligpu.stranded += n->levels.stranded;
    t.milligpu.unusable += n->levels.unusable;
    t.milligpu.overcommitted += n->levels.overcommitted;
  }
  for (std::size_t i = 1; i < sums.size(); ++i) {
    const NodeLevels &a = sums[i].milligpu, &b = impl.totals[i].milligpu;
    assert(sums[i].nodes == impl.totals[i].nodes);
    assert(a.installed == b.installed && a.allocated == b.allocated && a.idle == b.idle);
    assert(a.stranded == b.stranded && a.unusable == b.unusable);
    assert(a.overcommitted == b.overcommitted);
  }
}

void check_costs(const Fleet::Impl& impl) {
  std::map<std::pair<ClusterId, std::string>, Fleet::Impl::Ways> ways;
  for (const auto& n : impl.nodes) {
    if (!n || !n->present || n->spec.replicas <= 1) continue;
    ++ways[{n->cluster, std::string(base_product(n->spec.product))}][n->spec.replicas];
  }
  assert(ways == impl.shared_ways);
  std::map<std::string, MilliGpu, std::less<>> slices;
  for (const std::string& product : impl.products) {
    const MigGeometry* geometry = mig_geometry(product);
    if (geometry == nullptr) continue;
    for (const MigProfile& p : geometry->profiles) {
      const MilliGpu cost = kMilliPerGpu * p.units / geometry->card_units;
      const auto [it, added] = slices.try_emplace(std::string(p.name), cost);
      if (!added) it->second = std::min(it->second, cost);
    }
  }
  assert(slices == impl.least_slices);
}

void check_alike(const Fleet::Impl& impl, const Filter& f, std::size_t open) {
  std::size_t nodes = 0;
  for (std::uint32_t place = 0; place < f.live.size(); ++place) {
    const std::uint32_t number = f.live[place];
    const Filter::Alike& alike = f.alike[number];
    assert(alike.place == place && !alike.nodes.empty());
    nodes += alike.nodes.size();
    for (const NodeIndex i : alike.nodes) {
      const NodeState& n = *impl.nodes[i];
      const bool joined = impl.domains[n.domain]->members.size() > 1;
      assert(f.free[i] >= 0 && f.alike_of[i] == number);
      assert(state_of_alike(number) == n.state && joined_alike(number) == joined);
    }
  }
  assert(f.drained || nodes == open);
}

void check_filter(const Fleet::Impl& impl, const Filter& f) {
  std::vector<std::int64_t> histogram(f.histogram.size()), wholes(f.wholes.size());
  std::size_t open = 0, matching = 0;
  for (NodeIndex i = 0; i < impl.nodes.size(); ++i) {
    if (!impl.nodes[i]) continue;
    const NodeState& n = *impl.nodes[i];
    const bool matches = n.present && n.cluster == f.cluster && eligibility::matches(f.pod, n.spec);
    const bool usable = matches && n.open_for(f.tolerates_cordon);
    assert(f.matches[i] == matches);
    assert(!f.tainted[i] || (!matches && !n.spec.taints.empty()));
    assert(f.free[i] == (usable ? free_count(f, n.spec, f.drained ? n.works : n.room) : -1));
    assert(!f.drained || f.held[i] == n.load.allocated);
    matching += matches ? 1 : 0;
    assert(f.domain_of[i] == n.domain);
    if (f.free[i] < 0) continue;
    ++open;
    ++histogram[static_cast<std::size_t>(f.free[i])];
    assert(f.all[i] == free_count(f, n.spec, n.empty));
    if (f.free[i] >= f.all[i]) ++wholes[static_cast<std::size_t>(f.free[i])];
  }
  check_alike(impl, f, open);
  assert(open == f.open_nodes && matching == f.matching);
  assert(histogram == f.histogram && wholes == f.wholes);
  for (DomainIndex d = 1; d < impl.domains.size(); ++d) {
    std::int64_t sum = 0, cpu = 0, most = -1;
    for (const NodeIndex m : impl.domains[d]->members) {
      if (f.free[m] < 0) continue;
      const MilliGpu milli = impl.states[impl.nodes[m]->state].free;
      sum += f.drained ? f.held[m] : f.counts ? f.free[m] : milli;
      cpu += f.drained ? 0 : cpu_left(impl.nodes[m]->room);
      most = std::max(most, f.free[m]);
    }
    assert(f.domains[d].key.weight == sum && f.domains[d].most == most);
    assert(f.domains[d].key.cpu_milli == cpu);
    if (!f.counts || most < 0) continue;
    assert(f.buckets[static_cast<std::size_t>(most)].contains(f.domains[d].key));
  }
}

}  // namespace

void Fleet::check_invariants() const {
  for (const auto& n : impl_->nodes) {
    if (n) check_node(*n);
  }
  check_groups(*impl_);
  check_states(*impl_);
  check_whole(*impl_);
  check_totals(*impl_);
  check_costs(*impl_);
}

void Search::check_invariants() {
  for (const auto& [key, filter] : impl_->filters) {
    if (filter->position == 0) continue;
    catch_up(*filter, impl_->state);
    check_filter(impl_->state, *filter);
    if (!filter->when_drained) continue;
    catch_up_drained(*filter, impl_->state);
    check_filter(impl_->state, *filter->when_drained);
  }
}

}  // namespace subak
