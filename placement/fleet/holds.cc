// take(), give(), and the slots of pods whose node is already known.
#include <algorithm>
#include <bit>
#include <utility>

#include "core/must.h"
#include "placement/fleet/compute_domains.h"
#include "placement/fleet/fleet_impl.h"
#include "placement/fleet/queries.h"
#include "placement/fleet/replacement_nodes.h"

namespace subak {
namespace {

// A gang that only prefers an exclusive domain keeps no domain from other jobs, because it may have
// been placed elsewhere.
bool keeps_domain(const Shape& s) {
  return s.request().terms.topology == Topology::kNvlinkExclusive && !s.request().terms.prefer;
}

GpuMask inner_domains_of(const NodeSpec& spec, GpuMask mask) {
  GpuMask kept = 0;
  for (std::int64_t d = 0; d < inner_domains(spec); ++d) {
    const GpuMask domain = inner_domain_mask(spec, d);
    if ((domain & mask) != 0) kept |= domain;
  }
  return kept;
}

// Chooses the spare nodes of the node's clique again, because a hold of a gang with spare nodes, or
// a hold in its clique, may change them.
void choose_replacements(Fleet::Impl& impl, const Shape& s, const NodeState& n) {
  const DomainIndex home = n.home();
  if (home == kNoArea) return;
  if (s.request().terms.spare > 0 || impl.domains[home]->reserves_replacements)
    impl.choose_replacements(home);
}

// Returns what non-GPU pods may still take of the node.
GpuHeadroom for_non_gpu_pods(const NodeState& n) {
  const GpuHeadroom kept = headroom_of(n.spec, n.room);
  return {n.room.cpu_milli - kept.cpu_milli, n.room.memory_bytes - kept.memory_bytes};
}

void refresh_domain(Fleet::Impl& impl, DomainIndex domain) {
  impl.domains[domain]->each_wired([&](NodeIndex m) { impl.refresh(NodeId(m)); });
}

}  // namespace

Fleet::Impl::Keep Fleet::Impl::keep_of(const Hold& hold, const NodeState& n) const {
  const Shape& s = shape(hold.shape);
  if (!keeps_domain(s) || n.domain == kNoArea) return {};
  if (s.pods_of(hold.rank).shape->kind == GpuKind::kNone) return {};
  switch (exclusive_level(s, hold.rank, n)) {
    case Level::kInner:
      return {inner_domains_of(n.spec, hold.slot.gpu_mask), kNoArea};
    case Level::kNode:
      return {kAllGpus, kNoArea};
    case Level::kClique:
      return {0, n.home()};
  }
  return {};
}

void Fleet::Impl::keep_anew(DomainIndex home) {
  if (home == kNoArea) return;
  bool changed = false;
  domains[home]->each_wired([&](NodeIndex m) {
    NodeState& n = *nodes[m];
    for (Hold& hold : n.load.holds) {
      const Keep keep = keep_of(hold, n);
      if (keep.gpus == hold.kept && keep.domain == hold.kept_domain) continue;
      if (hold.kept_domain != kNoArea) {
        const std::uint32_t left = domains.hold_whole(hold.kept_domain, false);
        if (left == 0) refresh_domain(*this, hold.kept_domain);
      }
      hold.kept = keep.gpus;
      hold.kept_domain = keep.domain;
      if (keep.domain != kNoArea) domains.hold_whole(keep.domain, true);
      changed = true;
    }
  });
  if (changed) refresh_domain(*this, home);
}

void Fleet::take(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner, TimeMs now) {
  NodeState& n = impl_->ensure(slot.node);
  must(slot.milligpu >= 0, "amounts are not negative");
  const DurationMs late_ms = n.dated && now < n.as_of ? n.as_of - now : 0;
  impl_->accrue(n, now + late_ms);
  const NodeLevels before = n.levels;
  const GpuHeadroom non_gpu_before = impl_->headroom.any() ? for_non_gpu_pods(n) : GpuHeadroom();
  const Shape& s = impl_->shape(shape);
  Hold hold{owner, shape, rank, slot, 0, kNoArea};
  const Impl::Keep keep = impl_->keep_of(hold, n);
  hold.kept = keep.gpus;
  hold.kept_domain = keep.domain;
  const bool first = keep.domain != kNoArea && impl_->domains.hold_whole(keep.domain, true) == 1;
  n.load.add(hold, *s.pods_of(rank).shape);
  impl_->note_held(n, slot.milligpu);
  if (s.request().terms.compute_domain) impl_->note_computing(n);
  if (first) {
    refresh_domain(*impl_, hold.kept_domain);
  } else {
    impl_->refresh(slot.node);
  }
  choose_replacements(*impl_, s, n);
  if (impl_->headroom.any()) {
    // Non-GPU pods may have had to leave more free for these GPUs than the hold takes.
    const GpuHeadroom non_gpu = for_non_gpu_pods(n);
    const bool more = non_gpu.cpu_milli > non_gpu_before.cpu_milli ||
                      non_gpu.memory_bytes > non_gpu_before.memory_bytes;
    if (more) impl_->freed.add_for_non_gpu();
  }
  correct(n.books, before, n.levels, late_ms);
  must(n.levels.allocated == before.allocated + slot.milligpu, "what is taken is allocated");
}

void Fleet::give(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner, TimeMs now) {
  NodeState& n = impl_->ensure(slot.node);
  const DurationMs late_ms = n.dated && now < n.as_of ? n.as_of - now : 0;
  impl_->accrue(n, now + late_ms);
  const NodeLevels before = n.levels;
  const Hold* hold = n.load.find(shape, rank, slot, owner);
  must(hold != nullptr, "a released hold exists");
  const Shape& s = impl_->shape(shape);
  const PodShape& pod = *s.pods_of(rank).shape;
  const DomainIndex kept = n.load.remove(hold, pod).kept_domain;
  impl_->note_held(n, -slot.milligpu);
  if (s.request().terms.compute_domain) impl_->note_computing(n);
  impl_->refresh(slot.node);
  choose_replacements(*impl_, s, n);
  correct(n.books, before, n.levels, late_ms);
  must(n.levels.allocated == before.allocated - slot.milligpu, "what is released is free");
  if (kept != kNoArea && impl_->domains.hold_whole(kept, false) == 0) refresh_domain(*impl_, kept);
  impl_->freed.add();
}

void Fleet::set_claims(NodeId id, std::vector<NodeClaim> claims) {
  NodeState& n = impl_->at(id);
  if (n.claims.all == claims) return;
  DomainIndex domain = kNoArea;
  for (const NodeClaim& claim : claims) {
    for (const NodeClaim::Slot& s : claim.slots) {
      must(s.slot.node == id, "a node's claims are on the node");
      const Hold hold{claim.claimant, claim.shape, s.rank, s.slot, 0, kNoArea};
      const DomainIndex kept = impl_->keep_of(hold, n).domain;
      if (kept != kNoArea) domain = kept;
    }
  }
  const DomainIndex before = std::exchange(n.claims.domain, domain);
  n.claims.all = std::move(claims);
  impl_->refresh(id);
  if (domain != kNoArea) impl_->domains.hold_whole(domain, true);
  if (before != kNoArea) impl_->domains.hold_whole(before, false);
  if (domain != before) {
    for (const DomainIndex d : {domain, before}) {
      if (d != kNoArea) refresh_domain(*impl_, d);
    }
  }
  impl_->freed.add();
}

namespace {

// True if the pod can take exactly this slot of the room.
bool can_take(const NodeSpec& spec, const Room& room, const PodShape& pod, const PodSlot& slot) {
  if (!fits(spec, room, pod, slot.gpu_mask == 0 ? kAllGpus : slot.gpu_mask)) return false;
  if (pod.kind == GpuKind::kWhole) return (slot.gpu_mask & ~room.whole) == 0;
  const int gpus = std::popcount(slot.gpu_mask);
  int i = 0;
  for (GpuMask m = slot.gpu_mask; m != 0; m &= m - 1, ++i) {
    const auto gpu = static_cast<std::size_t>(std::countr_zero(m));
    const MilliGpu free = gpu < room.gpu_free.size() ? room.gpu_free[gpu] : 0;
    if (free < share_of_gpu(pod, slot, i, gpus)) return false;
  }
  return true;
}

// True if the claimant may have a ComputeDomain on the node: no other gang has one on the node, and
// fewer than DomainRules::clique_gangs gangs have one in the node's NVLink domain. `gone`: the
// victims do not count.
bool is_alone(const Fleet::Impl& impl, const NodeState& n, const NodeClaim& claim, bool gone) {
  const bool gpus = std::any_of(claim.slots.begin(), claim.slots.end(),
                                [](const NodeClaim::Slot& s) { return s.slot.milligpu > 0; });
  if (!gpus || !impl.shape(claim.shape).request().terms.compute_domain || n.home() == kNoArea)
    return true;
  const auto counts = [&](JobId job) {
    const bool victim = std::binary_search(claim.victims.begin(), claim.victims.end(), job);
    return job != claim.claimant && !(gone && victim);
  };
  const std::vector<JobId>& jobs = impl.domains[n.home()]->computing;
  const auto others = std::count_if(jobs.begin(), jobs.end(), counts);
  const std::uint32_t most = impl.whole.rules().clique_gangs;
  if (most > 0 && others >= std::int64_t{most}) return false;
  return std::none_of(n.load.holds.begin(), n.load.holds.end(), [&](const Hold& h) {
    return counts(h.owner) && uses_compute_domain(impl, h);
  });
}

// True if all slots of the claim fit on the node beside this load.
bool claim_fits(const Fleet::Impl& impl, const NodeState& n, const NodeClaim& claim,
                const Load& load, GpuMask kept) {
  const PodShapeOf shape_of = impl.pod_shapes();
  const Load others = with_claims(load, n.claims.all, claim.claimant, shape_of);
  Room room = left_on(n.spec, n.empty, others, kept, impl.headroom, nullptr);
  // Non-GPU pods come last, because they must leave CPU and memory free for the GPUs that are still
  // free then.
  const auto all_fit = [&](bool with_gpus) {
    return std::all_of(claim.slots.begin(), claim.slots.end(), [&](const NodeClaim::Slot& s) {
      const PodShape& pod = shape_of(claim.shape, s.rank);
      if ((pod.kind != GpuKind::kNone) != with_gpus) return true;
      if (!can_take(n.spec, room, pod, s.slot)) return false;
      consume(n.spec, room, pod, s.slot);
      return true;
    });
  };
  return all_fit(true) && all_fit(false);
}

// Returns the GPUs of the node that gangs other than the claimant keep from other jobs. `gone`: the
// victims do not count.
GpuMask kept_by_others(const Fleet::Impl& impl, const NodeState& n, const NodeClaim& claim,
                       bool gone) {
  if (n.spare) return kAllGpus;
  const auto counts = [&](const Hold& h) {
    return !gone || !std::binary_search(claim.victims.begin(), claim.victims.end(), h.owner);
  };
  GpuMask kept = 0;
  for (const Hold& h : n.load.holds) {
    if (counts(h)) kept |= h.kept;
  }
  if (n.home() == kNoArea || impl.domains[n.home()]->kept == 0) return kept;
  bool others = false;
  impl.domains[n.home()]->each_wired([&](NodeIndex m) {
    const NodeState& there = *impl.nodes[m];
    for (const Hold& h : there.load.holds) others |= h.kept_domain == n.home() && counts(h);
    for (const NodeClaim& c : there.claims.all) {
      others |= there.claims.domain == n.home() && c.claimant != claim.claimant;
    }
  });
  return others ? kAllGpus : kept;
}

}  // namespace

bool needs_replacements(const Fleet& fleet, ShapeId shape) {
  return fleet.request(shape).terms.spare > 0;
}

ClaimState claim_state(const Fleet& fleet, JobId claimant, std::span<const NodeId> nodes) {
  ClaimState state = ClaimState::kFree;
  for (const NodeId id : nodes) {
    const NodeState& n = fleet.impl().at(id);
    const auto claim = std::find_if(n.claims.all.begin(), n.claims.all.end(),
                                    [&](const NodeClaim& c) { return c.claimant == claimant; });
    must(claim != n.claims.all.end(), "a claim is on its nodes");
    if (!n.open()) return ClaimState::kLost;
    if (is_alone(fleet.impl(), n, *claim, false) &&
        claim_fits(fleet.impl(), n, *claim, n.load, kept_by_others(fleet.impl(), n, *claim, false)))
      continue;
    const Load gone = without_jobs(n.load, claim->victims, fleet.impl().pod_shapes());
    if (!is_alone(fleet.impl(), n, *claim, true) ||
        !claim_fits(fleet.impl(), n, *claim, gone, kept_by_others(fleet.impl(), n, *claim, true)))
      return ClaimState::kLost;
    state = ClaimState::kWaits;
  }
  return state;
}

void Fleet::set_others(NodeId id, const NodeUse& use) {
  NodeState& n = impl_->at(id);
  must(n.present, "what takes of a node is on one that is there");
  n.load.others = use;
  n.works = left_if_nothing_held(n, impl_->headroom);
  impl_->refresh(id);
  impl_->freed.add();
}

const NodeUse& Fleet::others(NodeId id) const { return impl_->at(id).load.others; }

std::vector<JobId> keepers(const Fleet& fleet, NodeId id) {
  const Fleet::Impl& impl = fleet.impl();
  if (impl.domains.none_keeps()) return {};
  const DomainIndex home = wired_domain(fleet, id);
  if (home == kNoArea) return {};
  const Group& g = *impl.domains[home];
  const NodeState& n = impl.at(id);
  const bool has_replacements = g.reserves_replacements && (n.spare || n.load.allocated > 0);
  if (g.kept == 0 && !has_replacements) return {};
  std::vector<JobId> out;
  g.each_wired([&](NodeIndex m) {
    for (const Hold& h : impl.nodes[m]->load.holds) {
      if (h.kept_domain == home || (has_replacements && gang_reserves_replacements(impl, h)))
        out.push_back(h.owner);
    }
  });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::uint32_t wired_domain(const Fleet& fleet, NodeId node) {
  const NodeState* n = fleet.impl().find(node);
  return n == nullptr ? kNoArea : n->home();
}

std::uint32_t rack_of(const Fleet& fleet, NodeId node) {
  const NodeState* n = fleet.impl().find(node);
  return n == nullptr ? kNoArea : n->groups[0];
}

PodSlot adopt_slot(const Fleet& fleet, ShapeId shape, std::uint32_t rank, NodeId node) {
  const Fleet::Impl& impl = fleet.impl();
  const NodeState* n = impl.find(node);
  if (n == nullptr || !n->present) return {node, 0, slot_milligpu(fleet, shape, rank, node)};
  const PodShape& pod = *impl.shape(shape).pods_of(rank).shape;
  const Room room = left_on(n->spec, n->empty, n->load, 0, {}, nullptr);
  const Ignore all{true, true, true, true, true, true};
  if (const auto slot = choose(node, n->spec, room, pod, kAllGpus, all)) return *slot;
  PodSlot slot{node, 0, pod_milligpu(n->spec, pod)};
  if (pod.kind == GpuKind::kWhole) {
    GpuMask free = room.whole;
    for (std::int64_t i = 0; i < pod.gpus && free != 0; ++i, free &= free - 1) {
      slot.gpu_mask |= free & (~free + 1);
    }
  }
  must((slot.gpu_mask & ~room.whole) == 0, "a running pod is given no GPU of another pod");
  return slot;
}

bool over_allocated(const Fleet& fleet, NodeId id) {
  const NodeState* n = fleet.impl().find(id);
  if (n == nullptr) return false;
  if (n->load.allocated + n->stranded > n->levels.installed && n->load.allocated > 0) return true;
  const MilliGpu capacity = gpu_capacity(n->spec);
  const auto uncut = static_cast<std::size_t>(n->present ? uncut_gpus(n->spec) : 0);
  for (std::size_t i = 0; i < n->load.gpu_used.size(); ++i) {
    if (n->load.gpu_used[i] > (i < uncut ? capacity : 0)) return true;
  }
  return std::any_of(n->load.mig_used.begin(), n->load.mig_used.end(), [&](const MigUse& u) {
    const int i = n->present ? mig_index(n->spec, u.profile) : -1;
    return u.slices > (i < 0 ? 0 : n->spec.mig[static_cast<std::size_t>(i)].count);
  });
}

MilliGpu slot_milligpu(const Fleet& fleet, ShapeId id, std::uint32_t rank, NodeId node) {
  const NodeState* n = fleet.impl().find(node);
  const PodShape& pod = *fleet.impl().shape(id).pods_of(rank).shape;
  const MilliGpu milligpu = n == nullptr ? 0 : pod_milligpu(n->spec, pod);
  must(milligpu >= 0, "a pod takes no less than nothing");
  return milligpu;
}

}  // namespace subak
