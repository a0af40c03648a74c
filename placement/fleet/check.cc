// Recomputes everything that the fleet updates incrementally, and compares. Each table checks
// itself. This file checks that the nodes and the tables agree.
#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "core/must.h"
#include "placement/fleet/fleet_impl.h"
#include "placement/fleet/replacement_nodes.h"

namespace subak {
namespace {

void check_load(const Load& load) {
  MilliGpu allocated = 0, on_gpus = 0, of_slices = 0;
  std::int64_t pods = 0;
  for (const Hold& h : load.holds) {
    allocated += h.slot.milligpu;
    ++pods;
    if (h.slot.gpu_mask == 0) of_slices += h.slot.milligpu;
  }
  for (const std::int32_t used : load.gpu_used) {
    must(used >= 0, "a GPU is used by no less than nothing");
    on_gpus += used;
  }
  must(allocated == load.allocated && pods == load.pods_used, "a node's load is that of its holds");
  must(load.loose >= 0 && load.cpu_used >= 0 && load.memory_used >= 0, "no load is below zero");
  must(on_gpus + of_slices >= allocated || load.loose > 0, "what has no GPU is loose");
  for (const MigUse& u : load.mig_used) must(u.slices >= 0, "no fewer than 0 slices are used");
}

void check_node(const NodeState& n) {
  check_load(n.load);
  const NodeLevels& l = n.levels;
  must(l.close(), "what a node has is allocated, idle, stranded or unusable");
  must(l.idle >= 0 && l.stranded >= 0 && l.unusable >= 0, "no level is below zero");
  must(l.overcommitted >= 0, "a node is overcommitted by no less than nothing");
  const NodeBooks& b = n.books;
  must(b.installed + b.overcommitted == b.allocated + b.idle + b.stranded + b.unusable,
       "what a node had was allocated, idle, stranded or unusable");
  must((n.room.whole & ~n.room.usable) == 0, "a whole GPU is usable");
  for (std::size_t i = 0; i < n.room.gpu_free.size(); ++i) {
    const bool whole = (n.room.whole >> i & 1) != 0;
    const std::int32_t free = n.room.gpu_free[i];
    must(free >= 0 && (!whole || free == kMilliPerGpu), "a whole GPU is all free");
    must((n.room.usable >> i & 1) != 0 || free == 0, "nothing is free on a GPU that is not usable");
  }
}

// Checks that each node's GPU state equals the room that is left on the node, whatever the numbers
// of its GPUs. Each stored state must have nodes.
void check_states(const Fleet::Impl& impl) {
  std::set<StateIndex> used;
  for (const auto& n : impl.nodes) {
    must(!n || n->present == (n->state != 0), "a present node has a state");
    if (!n || !n->present) continue;
    used.insert(n->state);
    const GpuState& s = impl.states[n->state];
    std::vector<std::int32_t> here = n->room.gpu_free, there = s.room.gpu_free;
    std::sort(here.begin(), here.end());
    std::sort(there.begin(), there.end());
    must(here == there && n->room.mig_free == s.room.mig_free, "a state has the node's free GPUs");
    must(std::popcount(n->room.whole) == std::popcount(s.room.whole), "a state has whole GPUs");
    must(n->product == s.product && s.split == n->split && s.linked == n->linked,
         "a state has the node's product and links");
    must(s.used == (n->load.allocated > 0), "a state says whether its nodes hold anything");
  }
  must(used.size() == impl.states.known(), "each state has a node");
}

void check_membership(const Fleet::Impl& impl) {
  for (NodeIndex i = 0; i < impl.nodes.size(); ++i) {
    if (!impl.nodes[i] || !impl.nodes[i]->present) continue;
    const NodeState& n = *impl.nodes[i];
    const Group& domain = *impl.domains[n.domain];
    must(std::binary_search(domain.members.begin(), domain.members.end(), i),
         "a domain has its nodes");
    must(domain.cluster == n.cluster, "a domain is within one cluster");
    impl.topology.check(i, n);
  }
}

// Checks that exclusive domains and spare nodes follow from the holds of their gangs.
void check_reserved(const Fleet::Impl& impl) {
  std::map<DomainIndex, std::uint32_t> kept;
  for (const auto& n : impl.nodes) {
    if (!n) continue;
    for (const Hold& h : n->load.holds) {
      const Fleet::Impl::Keep keep = impl.keep_of(h, *n);
      must(!n->present || (h.kept == keep.gpus && h.kept_domain == keep.domain),
           "a hold reserves what follows from its node");
      if (h.kept_domain != kNoArea) ++kept[h.kept_domain];
    }
    if (n->claims.domain != kNoArea) ++kept[n->claims.domain];
  }
  for (DomainIndex d = 1; d < impl.domains.size(); ++d) {
    const Group& g = *impl.domains[d];
    const auto load_of = [&](NodeIndex m) -> const Load& { return impl.nodes[m]->load; };
    const ReplacementNodes replacement_nodes = replacement_nodes_of(impl, d, load_of);
    const std::vector<NodeIndex>& spare = replacement_nodes.nodes;
    must(g.reserves_replacements == replacement_nodes.wanted, "a domain knows its replacements");
    for (const NodeIndex m : g.members) {
      must(impl.nodes[m]->spare == std::binary_search(spare.begin(), spare.end(), m),
           "a node knows whether it is reserved for replacements");
    }
    const auto it = kept.find(d);
    must(g.kept == (it == kept.end() ? 0 : it->second), "exclusive holds of a domain are counted");
  }
}

void check_figures(const Fleet::Impl& impl) {
  for (DomainIndex d = 1; d < impl.domains.size(); ++d) {
    const Group& g = *impl.domains[d];
    const DomainFigures now = measured(impl, d);
    must(g.held == now.held && g.whole.working == now.whole.working, "a domain's sums are exact");
    must(g.computing == now.computing, "a domain knows the gangs with a ComputeDomain");
    if (g.whole.working == 0) continue;
    must(g.product == now.product && g.whole.low == now.whole.low, "a domain has its first node");
  }
}

// Checks that the tables equal tables that are made from the nodes alone.
void check_sums(const Fleet::Impl& impl) {
  std::vector<ProductTotals> sums(impl.totals.size());
  LeastCosts costs;
  std::int64_t split = 0;
  std::size_t named = 0;
  for (ProductId::rep p = 1; p <= impl.products.size(); ++p) {
    costs.add_product(impl.products.name(ProductId(p)));
  }
  for (const auto& n : impl.nodes) {
    if (!n) continue;
    sums[n->totals].nodes += n->present ? 1 : 0;
    sums[n->totals].milligpu.add(n->levels, 1);
    if (!n->present) continue;
    split += inner_domains(n->spec) > 1 ? 1 : 0;
    named += n->spec.levels.empty() ? 0 : 1;
    if (n->spec.replicas > 1) {
      costs.add_shared_node(n->cluster, n->spec.product, n->spec.replicas);
    }
  }
  impl.totals.check(sums);
  must(costs == impl.costs, "least costs are those of the products and nodes");
  must(split == impl.domains.split_nodes(), "nodes with several domains inside are counted");
  must(named == impl.topology.named(), "nodes that name a group are counted");
}

}  // namespace

void Fleet::check_invariants() const {
  for (const auto& n : impl_->nodes) {
    if (n) check_node(*n);
  }
  check_membership(*impl_);
  check_reserved(*impl_);
  check_states(*impl_);
  check_figures(*impl_);
  check_sums(*impl_);
  impl_->domains.check();
  impl_->whole.check(impl_->domains);
  impl_->products.check();
  impl_->shapes.check();
  impl_->changes.check(impl_->nodes.size());
}

}  // namespace subak
