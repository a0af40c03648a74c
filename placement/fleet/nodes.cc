// set_node, remove_node, and the effects of any change of a node.
#include <algorithm>
#include <bit>
#include <cassert>

#include "core/limits.h"
#include "model/mig.h"
#include "model/product.h"
#include "placement/fleet/fleet_impl.h"

namespace subak {
namespace {

MilliGpu stranded_of(const NodeSpec& spec) {
  MilliGpu cut = 0;
  for (const MigSlices& m : spec.mig) {
    cut += m.count * mig_slice_milligpu(spec.product, m.profile).value_or(0);
  }
  const MilliGpu outside = std::max<MilliGpu>(0, spec.mig_gpus * kMilliPerGpu - cut);
  return outside + uncut_gpus(spec) * (kMilliPerGpu - gpu_capacity(spec));
}

void insert(std::vector<NodeIndex>& nodes, NodeIndex node) {
  nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), node), node);
}

std::uint32_t join(std::vector<Owned<Group>>& groups, ClusterId cluster, const std::string& name,
                   NodeIndex node, std::uint32_t index) {
  if (index == kNoArea) {
    index = static_cast<std::uint32_t>(groups.size());
    groups.push_back(std::make_unique<Group>());
  }
  groups[index]->cluster = cluster;
  groups[index]->name = name;
  insert(groups[index]->members, node);
  return index;
}

void leave(std::vector<NodeIndex>& nodes, NodeIndex node) {
  const auto it = std::lower_bound(nodes.begin(), nodes.end(), node);
  assert(it != nodes.end() && *it == node);
  nodes.erase(it);
}

std::size_t depth_of(const NodeSpec& spec) {
  return std::clamp<std::size_t>(spec.levels.size(), 1, limits::kTopologyLevels);
}

// Decisions depend only on present nodes, so a level that none of them names does not exist.
std::size_t deepest(const Fleet::Impl& impl) {
  std::size_t most = 1;
  for (const auto& n : impl.nodes) {
    if (most == impl.depth) break;
    if (n && n->present) most = std::max(most, depth_of(n->spec));
  }
  return most;
}

GpuMask kept_gpus(const Fleet::Impl& impl, const NodeState& node) {
  const DomainIndex home = node.home();
  if (home != kNoArea && impl.domains[home]->kept > 0) return kAllGpus;
  return node.spare ? kAllGpus : node.load.kept();
}

}  // namespace

NodeState* Fleet::Impl::find(NodeId id) {
  return id.value < nodes.size() ? nodes[id.value].get() : nullptr;
}

const NodeState* Fleet::Impl::find(NodeId id) const {
  return id.value < nodes.size() ? nodes[id.value].get() : nullptr;
}

NodeState& Fleet::Impl::ensure(NodeId id) {
  assert(id.value != 0 && id.value <= limits::kMaxNodeIds);
  if (id.value >= nodes.size()) nodes.resize(id.value + 1);
  if (!nodes[id.value]) nodes[id.value] = std::make_unique<NodeState>();
  return *nodes[id.value];
}

void Fleet::Impl::changed(NodeIndex node) {
  log.push_back(node);
  const std::size_t keep = std::max<std::size_t>(2048, nodes.size());
  if (log.size() > 2 * keep) {
    log.erase(log.begin(), log.begin() + static_cast<std::ptrdiff_t>(keep));
    log_base += keep;
  }
}

void Fleet::Impl::changed_statically(NodeIndex node) {
  ++static_version;
  nodes[node]->static_position = log_end();
  changed(node);
}

void Fleet::Impl::nodes_changed(DomainIndex domain) {
  keep_anew(domain);
  choose_replacements(domain);
  survey(domain);
}

void Fleet::Impl::move_to_groups(NodeId id, bool present) {
  NodeState& n = at(id);
  const auto touch = [&](const Group& g) { g.each_wired([&](NodeIndex m) { changed(m); }); };
  if (n.domain != kNoArea) {
    leave(domains[n.domain]->members, id.value);
    touch(*domains[n.domain]);
    n.domain = kNoArea;
  }
  if (n.former != kNoArea) {
    leave(domains[n.former]->strays, id.value);
    touch(*domains[n.former]);
    n.former = kNoArea;
  }
  move_to_levels(id.value, present);
  if (!present) return;
  const std::string& clique = n.spec.clique;
  auto& domain = clique.empty() ? n.own_domain : cliques_by_name[{n.cluster, clique}];
  n.domain = domain = join(domains, n.cluster, clique, id.value, domain);
  touch(*domains[n.domain]);
  if (n.spec.former_clique.empty()) return;
  auto& former = cliques_by_name[{n.cluster, n.spec.former_clique}];
  if (former == kNoArea) {
    former = static_cast<DomainIndex>(domains.size());
    domains.push_back(std::make_unique<Group>());
    domains.back()->cluster = n.cluster;
    domains.back()->name = n.spec.former_clique;
  }
  n.former = former;
  insert(domains[former]->strays, id.value);
  touch(*domains[former]);
}

void Fleet::Impl::move_to_levels(NodeIndex i, bool present) {
  NodeState& n = *nodes[i];
  rack_of.resize(nodes.size());
  for (std::size_t k = 0; k < depth; ++k) {
    if (n.groups[k] != kNoArea) leave(levels[k].groups[n.groups[k]]->members, i);
    n.groups[k] = kNoArea;
  }
  std::uint32_t parent = kNoArea;
  for (std::size_t k = depth; present && k-- > 0;) {
    std::size_t of = k;
    while (of > 0 && n.spec.level(of).empty()) --of;
    const std::string& said = n.spec.level(of);
    const std::string& name = said.empty() ? n.spec.clique : said;
    std::uint32_t& group =
        name.empty() ? n.own_groups[k] : levels[k].by_name[{n.cluster, parent, of, name}];
    group = join(levels[k].groups, n.cluster, name, i, group);
    levels[k].groups[group]->parent = parent;
    n.groups[k] = parent = group;
  }
  rack_of[i] = n.groups[0];
}

// Makes the fleet's topology deeper, or less deep.
void Fleet::Impl::deepen(std::size_t wanted) {
  if (wanted == depth) return;
  const auto each = [this](bool present) {
    for (NodeIndex i = 0; i < nodes.size(); ++i) {
      if (nodes[i] && nodes[i]->present) move_to_levels(i, present);
    }
  };
  each(false);
  depth = wanted;
  each(true);
}

void Fleet::Impl::note_shared(const NodeState& n, std::int64_t sign) {
  if (!n.present || n.spec.replicas <= 1) return;
  const std::pair key(n.cluster, std::string(base_product(n.spec.product)));
  Ways& ways = shared_ways[key];
  if ((ways[n.spec.replicas] += sign) == 0) ways.erase(n.spec.replicas);
  if (ways.empty()) shared_ways.erase(key);
}

void Fleet::Impl::refresh(NodeId id) {
  NodeState& n = at(id);
  MilliGpu unhealthy_free = 0;
  if (n.present) {
    fill_left(n.spec, n.empty, n.load, kept_gpus(*this, n), headroom, &unhealthy_free, n.room);
  } else {
    n.room = Room{};
  }
  const StateIndex was = n.state;
  n.state = n.present ? states.use(n) : 0;
  states.drop(was);
  ProductTotals& t = totals[n.totals];
  const auto add = [&t](const NodeLevels& l, MilliGpu sign) {
    t.milligpu.installed += sign * l.installed;
    t.milligpu.allocated += sign * l.allocated;
    t.milligpu.idle += sign * l.idle;
    t.milligpu.stranded += sign * l.stranded;
    t.milligpu.unusable += sign * l.unusable;
    t.milligpu.overcommitted += sign * l.overcommitted;
  };
  add(n.levels, -1);
  n.levels = levels_of(n, unhealthy_free);
  add(n.levels, 1);
  ++totals_version;
  changed(id.value);
}

namespace {

void leave_totals(Fleet::Impl& impl, NodeState& n) {
  ProductTotals& t = impl.totals[n.totals];
  t.nodes -= n.present ? 1 : 0;
  t.milligpu.installed -= n.levels.installed;
  t.milligpu.allocated -= n.levels.allocated;
  t.milligpu.idle -= n.levels.idle;
  t.milligpu.stranded -= n.levels.stranded;
  t.milligpu.unusable -= n.levels.unusable;
  t.milligpu.overcommitted -= n.levels.overcommitted;
  n.levels = NodeLevels{};
}

void join_totals(Fleet::Impl& impl, NodeState& n) {
  auto& index = impl.totals_by_key[{n.cluster, n.spec.product}];
  if (index == 0) {
    index = static_cast<std::uint32_t>(impl.totals.size());
    impl.totals.push_back({n.cluster, n.spec.product, 0, {}});
  }
  n.totals = index;
  impl.totals[index].nodes += n.present ? 1 : 0;
}

}  // namespace

void Fleet::set_node(NodeId id, ClusterId cluster, const NodeSpec& spec, bool drained, TimeMs now) {
  NodeState& n = impl_->ensure(id);
  impl_->accrue(n, now);
  if (n.present && n.cluster == cluster && n.drained == drained && n.spec == spec) return;
  const bool moved = !n.present || n.cluster != cluster || n.spec.clique != spec.clique ||
                     n.spec.former_clique != spec.former_clique || n.spec.levels != spec.levels;
  const DomainIndex home = n.home();
  impl_->split_nodes -= n.present && inner_domains(n.spec) > 1 ? 1 : 0;
  impl_->note_shared(n, -1);
  const bool shallower = n.present && depth_of(spec) < depth_of(n.spec);
  impl_->deepen(std::max(impl_->depth, depth_of(spec)));
  impl_->named += spec.levels.empty() ? 0 : 1;
  impl_->named -= n.present && !n.spec.levels.empty() ? 1 : 0;
  leave_totals(*impl_, n);
  n.cluster = cluster;
  n.spec = spec;
  n.spec.gpus = std::clamp<std::int64_t>(spec.gpus, 0, limits::kMaxGpusPerNode);
  n.spec.mig_gpus = std::clamp<std::int64_t>(spec.mig_gpus, 0, n.spec.gpus);
  n.drained = drained;
  n.product = intern_product(spec.product);
  n.present = true;
  n.empty = empty_room(n.spec);
  n.works = left_if_nothing_held(n, impl_->headroom);
  n.linked = has_nvlink(n.spec.product) && (n.spec.gpus_per_domain != 1 || !n.spec.clique.empty());
  n.split = inner_domains(n.spec) > 1 && n.spec.clique.empty();
  n.stranded = stranded_of(n.spec);
  join_totals(*impl_, n);
  impl_->note_shared(n, 1);
  impl_->split_nodes += inner_domains(n.spec) > 1 ? 1 : 0;
  if (moved) {
    n.spare = false;
    impl_->move_to_groups(id, true);
  }
  if (shallower) impl_->deepen(deepest(*impl_));
  impl_->changed_statically(id.value);
  impl_->refresh(id);
  impl_->nodes_changed(n.home());
  if (home != n.home()) impl_->nodes_changed(home);
  ++impl_->freed;
}

void Fleet::set_gpu_headroom(const GpuHeadroom& each) {
  if (impl_->headroom == each) return;
  impl_->headroom = each;
  for (NodeIndex i = 0; i < impl_->nodes.size(); ++i) {
    NodeState* const n = impl_->nodes[i].get();
    if (n == nullptr || !n->present) continue;
    n->works = left_if_nothing_held(*n, each);
    impl_->refresh(NodeId(i));
  }
  ++impl_->freed;
}

const GpuHeadroom& Fleet::gpu_headroom() const { return impl_->headroom; }

void Fleet::remove_node(NodeId id, TimeMs now) {
  NodeState* n = impl_->find(id);
  if (n == nullptr || !n->present) return;
  impl_->accrue(*n, now);
  impl_->split_nodes -= inner_domains(n->spec) > 1 ? 1 : 0;
  impl_->note_shared(*n, -1);
  impl_->named -= n->spec.levels.empty() ? 0 : 1;
  leave_totals(*impl_, *n);
  n->present = false;
  n->load.others = NodeUse();
  join_totals(*impl_, *n);
  n->stranded = 0;
  n->spare = false;
  const DomainIndex home = n->home();
  impl_->move_to_groups(id, false);
  impl_->deepen(deepest(*impl_));
  impl_->changed_statically(id.value);
  impl_->refresh(id);
  impl_->nodes_changed(home);
  ++impl_->freed;
}

}  // namespace subak
