// set_node, remove_node, and the effects of any change of a node.
#include <algorithm>
#include <bit>

#include "core/limits.h"
#include "core/must.h"
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

// Decisions depend only on present nodes, so a level that none of them names does not exist.
std::size_t deepest(const Fleet::Impl& impl) {
  std::size_t most = 1;
  for (const auto& n : impl.nodes) {
    if (most == impl.topology.depth()) break;
    if (n && n->present) most = std::max(most, depth_of(n->spec));
  }
  must(most <= impl.topology.depth(), "the topology has each level that a node names");
  return most;
}

}  // namespace

GpuMask kept_gpus(const Fleet::Impl& impl, const NodeState& node) {
  const DomainIndex home = node.home();
  if (home != kNoArea && impl.domains[home]->kept > 0) return kAllGpus;
  return node.spare ? kAllGpus : node.load.kept();
}

NodeState* Fleet::Impl::find(NodeId id) {
  return id.value < nodes.size() ? nodes[id.value].get() : nullptr;
}

const NodeState* Fleet::Impl::find(NodeId id) const {
  return id.value < nodes.size() ? nodes[id.value].get() : nullptr;
}

NodeState& Fleet::Impl::ensure(NodeId id) {
  must(id.value != 0 && id.value <= limits::kMaxNodeIds, "a node's number is within its limit");
  if (id.value >= nodes.size()) nodes.resize(id.value + 1);
  if (!nodes[id.value]) nodes[id.value] = std::make_unique<NodeState>();
  return *nodes[id.value];
}

void Fleet::Impl::changed(NodeIndex node) { changes.add(node, nodes.size()); }

void Fleet::Impl::wired_changed(DomainIndex domain) {
  domains[domain]->each_wired([this](NodeIndex m) { changed(m); });
}

void Fleet::Impl::nodes_changed(DomainIndex domain) {
  keep_anew(domain);
  choose_replacements(domain);
  survey(domain);
}

void Fleet::Impl::move_to_groups(NodeId id, bool present) {
  NodeState& n = at(id);
  const DomainIndex domain = n.domain, former = n.former;
  domains.leave(id.value, n);
  if (domain != kNoArea) wired_changed(domain);
  if (former != kNoArea) wired_changed(former);
  topology.move(id.value, n, present);
  if (!present) return;
  domains.join(id.value, n);
  wired_changed(n.domain);
  if (n.former != kNoArea) wired_changed(n.former);
}

void Fleet::Impl::withdraw(NodeState& n) {
  if (n.present) {
    domains.count(n.spec, -1);
    topology.count(n.spec, -1);
    if (n.spec.replicas > 1) costs.remove_shared_node(n.cluster, n.spec.product, n.spec.replicas);
    totals.count(n.totals, -1);
  }
  totals.replace(n.totals, n.levels, {});
  n.levels = NodeLevels{};
}

void Fleet::Impl::enter(NodeState& n) {
  must(n.levels == NodeLevels{}, "a node that enters a total is in none");
  n.totals = totals.row_of(n.cluster, n.spec.product);
  if (!n.present) return;
  totals.count(n.totals, 1);
  if (n.spec.replicas > 1) costs.add_shared_node(n.cluster, n.spec.product, n.spec.replicas);
  domains.count(n.spec, 1);
  topology.count(n.spec, 1);
}

PodShapeOf Fleet::Impl::pod_shapes() const {
  return [this](ShapeId id, std::uint32_t rank) -> const PodShape& {
    return *shape(id).pods_of(rank).shape;
  };
}

void Fleet::Impl::fill_room(const NodeState& n, const Load& load, GpuMask kept,
                            MilliGpu* unhealthy_free, Room& room) const {
  if (n.claims.all.empty())
    return fill_left(n.spec, n.empty, load, kept, headroom, unhealthy_free, room);
  const Load claimed = with_claims(load, n.claims.all, JobId(), pod_shapes());
  fill_left(n.spec, n.empty, claimed, kept, headroom, nullptr, room);
  if (unhealthy_free == nullptr) return;
  left_on(n.spec, n.empty, load, kept, headroom, unhealthy_free);  // claims are idle, not unusable
}

void Fleet::Impl::refresh(NodeId id) {
  NodeState& n = at(id);
  MilliGpu unhealthy_free = 0;
  if (n.present) {
    fill_room(n, n.load, kept_gpus(*this, n), &unhealthy_free, n.room);
  } else {
    n.room = Room{};
  }
  const StateIndex was = n.state;
  n.state = n.present ? states.use(n) : 0;
  states.drop(was);
  must(n.present == (n.state != 0), "a node has a state while it is present");
  const NodeLevels before = n.levels;
  n.levels = levels_of(n, unhealthy_free);
  totals.replace(n.totals, before, n.levels);
  changed(id.value);
}

void Fleet::set_node(NodeId id, ClusterId cluster, const NodeSpec& spec, bool drained, TimeMs now) {
  NodeState& n = impl_->ensure(id);
  impl_->accrue(n, now);
  if (n.present && n.cluster == cluster && n.drained == drained && n.spec == spec) return;
  const bool moved = !n.present || n.cluster != cluster || n.spec.clique != spec.clique ||
                     n.spec.former_clique != spec.former_clique || n.spec.levels != spec.levels;
  const DomainIndex home = n.home();
  const bool shallower = n.present && depth_of(spec) < depth_of(n.spec);
  impl_->topology.set_depth(std::max(impl_->topology.depth(), depth_of(spec)), impl_->nodes);
  impl_->withdraw(n);
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
  must(n.stranded >= 0 && n.stranded <= n.spec.gpus * kMilliPerGpu, "a node strands what it has");
  impl_->enter(n);
  if (moved) {
    n.spare = false;
    impl_->move_to_groups(id, true);
  }
  if (shallower) impl_->topology.set_depth(deepest(*impl_), impl_->nodes);
  n.static_position = impl_->changes.add_description(id.value, impl_->nodes.size());
  impl_->refresh(id);
  impl_->nodes_changed(n.home());
  if (home != n.home()) impl_->nodes_changed(home);
  impl_->freed.add();
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
  impl_->freed.add();
}

const GpuHeadroom& Fleet::gpu_headroom() const { return impl_->headroom; }

void Fleet::remove_node(NodeId id, TimeMs now) {
  NodeState* n = impl_->find(id);
  if (n == nullptr || !n->present) return;
  impl_->accrue(*n, now);
  impl_->withdraw(*n);
  n->present = false;
  n->load.others = NodeUse();
  impl_->enter(*n);
  n->stranded = 0;
  n->spare = false;
  const DomainIndex home = n->home();
  impl_->move_to_groups(id, false);
  impl_->topology.set_depth(deepest(*impl_), impl_->nodes);
  n->static_position = impl_->changes.add_description(id.value, impl_->nodes.size());
  impl_->refresh(id);
  impl_->nodes_changed(home);
  impl_->freed.add();
}

}  // namespace subak
