// take, give, and the slots of pods whose node is already known.
#include <algorithm>
#include <bit>
#include <cassert>

#include "placement/eligibility.h"
#include "placement/fleet_impl.h"

namespace subak {
namespace {

void add_gpus(NodeState& n, const PodShape& pod, const PodSlot& slot, int sign) {
  const int gpus = std::popcount(slot.gpu_mask);
  MilliGpu placed = 0;
  int i = 0;
  for (GpuMask m = slot.gpu_mask; m != 0; m &= m - 1, ++i) {
    const auto gpu = static_cast<std::size_t>(std::countr_zero(m));
    if (gpu >= n.gpu_used.size()) n.gpu_used.resize(gpu + 1);
    const MilliGpu mine = share_of_gpu(pod, slot, i, gpus);
    n.gpu_used[gpu] += static_cast<std::int32_t>(sign * mine);
    placed += mine;
  }
  if (pod.kind != GpuKind::kMig) n.loose += sign * std::max<MilliGpu>(0, slot.milligpu - placed);
}

void add_slices(NodeState& n, const PodShape& pod, int sign) {
  if (pod.kind != GpuKind::kMig) return;
  auto it = std::find_if(n.mig_used.begin(), n.mig_used.end(),
                         [&](const MigUse& u) { return u.profile == pod.profile; });
  if (it == n.mig_used.end()) it = n.mig_used.insert(it, {pod.profile, 0});
  it->slices += sign * pod.gpus;
}

void add_rest(NodeState& n, const PodShape& pod, int sign) {
  n.cpu_used += sign * pod.cpu_milli;
  n.memory_used += sign * pod.memory_bytes;
  n.pods_used += sign;
  for (const ResourceCount& r : pod.extended) {
    auto it = std::find_if(n.extended_used.begin(), n.extended_used.end(),
                           [&](const ResourceCount& u) { return u.name == r.name; });
    if (it == n.extended_used.end()) it = n.extended_used.insert(it, {r.name, 0});
    it->count += sign * r.count;
  }
  for (const HostPort& p : pod.host_ports) {
    if (sign > 0) {
      n.ports.push_back(p);
    } else {
      const auto it = std::find(n.ports.begin(), n.ports.end(), p);
      assert(it != n.ports.end());
      n.ports.erase(it);
    }
  }
}

void apply(NodeState& n, const PodShape& pod, const PodSlot& slot, int sign) {
  add_gpus(n, pod, slot, sign);
  add_slices(n, pod, sign);
  add_rest(n, pod, sign);
  n.allocated += sign * slot.milligpu;
}

// A wish for exclusivity (prefer) keeps nobody out, as the gang may have been placed elsewhere.
bool keeps_domain(const Shape& s) {
  return s.request.topology == Topology::kNvlinkExclusive && !s.request.prefer;
}

GpuMask inner_domains_of(const NodeSpec& spec, GpuMask mask) {
  GpuMask kept = 0;
  for (std::int64_t d = 0; d < inner_domains(spec); ++d) {
    const GpuMask domain = inner_domain_mask(spec, d);
    if ((domain & mask) != 0) kept |= domain;
  }
  return kept;
}

void refresh_domain(Fleet::Impl& impl, DomainIndex domain) {
  for (const NodeIndex m : impl.domains[domain]->members) impl.refresh(NodeId(m));
}

void keep_domain(Fleet::Impl& impl, const Shape& s, Hold& hold, const NodeState& n) {
  if (!keeps_domain(s) || n.domain == kNoArea) return;
  if (impl.pods_of(s, hold.rank).shape->kind == GpuKind::kNone) return;
  switch (impl.exclusive_level(s, hold.rank, n)) {
    case Fleet::Impl::Level::kInner:
      hold.kept = inner_domains_of(n.spec, hold.slot.gpu_mask);
      break;
    case Fleet::Impl::Level::kNode:
      hold.kept = kAllGpus;
      break;
    case Fleet::Impl::Level::kClique:
      hold.kept_domain = n.domain;
      ++impl.domains[n.domain]->kept;
      break;
  }
}

}  // namespace

void Fleet::take(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner, TimeMs now) {
  NodeState& n = impl_->ensure(slot.node);
  impl_->accrue(n, now);
  const Shape& s = impl_->shape(shape);
  Hold hold{owner, shape, rank, slot, 0, kNoArea};
  keep_domain(*impl_, s, hold, n);
  apply(n, *impl_->pods_of(s, rank).shape, slot, 1);
  n.holds.push_back(hold);
  if (hold.kept_domain != kNoArea && impl_->domains[hold.kept_domain]->kept == 1) {
    refresh_domain(*impl_, hold.kept_domain);
  } else {
    impl_->refresh(slot.node);
  }
}

void Fleet::give(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner, TimeMs now) {
  NodeState& n = impl_->ensure(slot.node);
  const DurationMs late_ms = n.dated && now < n.as_of ? n.as_of - now : 0;
  impl_->accrue(n, now + late_ms);
  const NodeLevels before = n.levels;
  const auto it = std::find_if(n.holds.begin(), n.holds.end(), [&](const Hold& h) {
    return h.owner == owner && h.shape == shape && h.rank == rank && h.slot == slot;
  });
  assert(it != n.holds.end() && "give() of a slot that was not taken");
  const DomainIndex kept = it->kept_domain;
  *it = n.holds.back();
  n.holds.pop_back();
  apply(n, *impl_->pods_of(impl_->shape(shape), rank).shape, slot, -1);
  impl_->refresh(slot.node);
  correct(n.books, before, n.levels, late_ms);
  if (kept != kNoArea && --impl_->domains[kept]->kept == 0) refresh_domain(*impl_, kept);
  ++impl_->freed;
}

std::optional<PodSlot> Fleet::find_on(ShapeId shape, std::uint32_t rank, NodeId node) const {
  const NodeState* n = impl_->find(node);
  const Shape& s = impl_->shape(shape);
  const PodShape& pod = *impl_->pods_of(s, rank).shape;
  if (n == nullptr || n->cluster != s.cluster || !eligibility::matches(pod, n->spec)) return {};
  if (!n->open_for(eligibility::tolerates_cordon(pod.tolerations))) return {};
  return choose(node, n->spec, impl_->room_of(node, keeps_domain(s)), pod, kAllGpus);
}

PodSlot Fleet::adopt_slot(ShapeId shape, std::uint32_t rank, NodeId node) const {
  const NodeState* n = impl_->find(node);
  if (n == nullptr || !n->present) return {node, 0, slot_milligpu(shape, rank, node)};
  const PodShape& pod = *impl_->pods_of(impl_->shape(shape), rank).shape;
  const Room room = impl_->room_of(node, true);
  const Ignore all{true, true, true, true, true};
  if (const auto slot = choose(node, n->spec, room, pod, kAllGpus, all)) return *slot;
  PodSlot slot{node, 0, pod_milligpu(n->spec, pod)};
  if (pod.kind == GpuKind::kWhole) {
    GpuMask free = room.whole;
    for (std::int64_t i = 0; i < pod.gpus && free != 0; ++i, free &= free - 1) {
      slot.gpu_mask |= free & (~free + 1);
    }
  }
  return slot;
}

bool Fleet::over_allocated(NodeId id) const {
  const NodeState* n = impl_->find(id);
  if (n == nullptr) return false;
  if (n->allocated + n->stranded > n->levels.installed && n->allocated > 0) return true;
  const MilliGpu capacity = gpu_capacity(n->spec);
  const auto uncut = static_cast<std::size_t>(n->present ? uncut_gpus(n->spec) : 0);
  for (std::size_t i = 0; i < n->gpu_used.size(); ++i) {
    if (n->gpu_used[i] > (i < uncut ? capacity : 0)) return true;
  }
  return std::any_of(n->mig_used.begin(), n->mig_used.end(), [&](const MigUse& u) {
    const int i = n->present ? mig_index(n->spec, u.profile) : -1;
    return u.slices > (i < 0 ? 0 : n->spec.mig[static_cast<std::size_t>(i)].count);
  });
}

}  // namespace subak
