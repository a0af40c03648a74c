#include "placement/cells/node_cells.h"

#include <algorithm>
#include <bit>

#include "core/must.h"
#include "model/mig.h"
#include "placement/fleet/fleet_impl.h"

namespace subak {
namespace {

// Calls fn(amount) for each cell of the node, in their order.
template <class F>
void each_cell(const NodeSpec& spec, F&& fn) {
  const MilliGpu gpu = gpu_capacity(spec);
  for (std::int64_t i = 0; i < uncut_gpus(spec); ++i) fn(gpu);
  for (const MigSlices& m : spec.mig) {
    const MilliGpu slice = mig_slice_milligpu(spec.product, m.profile).value_or(0);
    for (std::int64_t i = 0; i < m.count; ++i) fn(slice);
  }
}

// The indexes [first, first + count) of the cells with slices of a profile; count 0: there are none.
struct SliceRange {
  std::size_t first = 0, count = 0;
};

SliceRange slices_of(const NodeSpec& spec, const std::string& profile) {
  SliceRange out{static_cast<std::size_t>(uncut_gpus(spec)), 0};
  const int wanted = mig_index(spec, profile);
  for (int i = 0; i < wanted; ++i)
    out.first += static_cast<std::size_t>(spec.mig[static_cast<std::size_t>(i)].count);
  if (wanted >= 0)
    out.count = static_cast<std::size_t>(spec.mig[static_cast<std::size_t>(wanted)].count);
  return out;
}

// The GPUs that only certain gangs may get.
GpuMask kept_for_gangs(const Fleet::Impl& fleet, const NodeState& node) {
  if (node.domain != kNoArea && fleet.domains[node.domain]->left) return kAllGpus;
  return kept_gpus(fleet, node);
}

}  // namespace

std::uint32_t CellLayout::cells() const {
  std::uint32_t all = gpus;
  for (const Slices& s : slices) all += s.count;
  return all;
}

CellLayout cell_layout(const NodeSpec& node) {
  CellLayout out;
  out.gpus = static_cast<std::uint32_t>(uncut_gpus(node));
  out.gpu_milligpu = gpu_capacity(node);
  for (const MigSlices& m : node.mig) {
    out.slices.push_back({m.profile, static_cast<std::uint32_t>(m.count),
                          mig_slice_milligpu(node.product, m.profile).value_or(0)});
  }
  return out;
}

MilliGpu NodeCells::take(std::size_t cell, MilliGpu most, CellPart part) {
  const MilliGpu amount = std::min(most, left_[cell]);
  if (amount <= 0) return 0;
  part.cell = static_cast<std::uint32_t>(cell);
  part.milligpu = amount;
  left_[cell] -= amount;
  parts_.push_back(part);
  return amount;
}

MilliGpu NodeCells::take_anywhere(MilliGpu amount, const CellPart& part) {
  while (amount > 0) {
    std::size_t best = 0;
    for (std::size_t i = 0; i < left_.size(); ++i) {
      if (left_[i] >= left_[best]) best = i;
    }
    const MilliGpu taken = left_.empty() ? 0 : take(best, amount, part);
    if (taken == 0) return amount;
    amount -= taken;
  }
  return 0;
}

MilliGpu NodeCells::take_slices(const NodeSpec& spec, const PodShape& pod, MilliGpu amount,
                                const CellPart& part) {
  const SliceRange range = slices_of(spec, pod.profile);
  const MilliGpu each = mig_slice_milligpu(spec.product, pod.profile).value_or(0);
  std::int64_t wanted = pod.gpus;
  for (std::size_t i = range.first; i < range.first + range.count && wanted > 0; ++i) {
    if (each == 0 || left_[i] < each) continue;
    amount -= take(i, std::min(amount, each), part);
    --wanted;
  }
  return amount;
}

void NodeCells::take_claims(const Fleet::Impl& fleet, const std::vector<NodeClaim>& claims,
                            const NodeSpec& spec) {
  const auto uncut = static_cast<std::size_t>(uncut_gpus(spec));
  for (const NodeClaim& claim : claims) {
    CellPart part;
    part.use = CellUse::kClaimed;
    part.claimant = claim.claimant;
    for (const NodeClaim::Slot& s : claim.slots) {
      const PodShape& pod = *fleet.shape(claim.shape).pods_of(s.rank).shape;
      if (pod.kind == GpuKind::kMig) take_slices(spec, pod, s.slot.milligpu, part);
      const int gpus = std::popcount(s.slot.gpu_mask);
      int i = 0;
      for (GpuMask m = s.slot.gpu_mask; m != 0; m &= m - 1, ++i) {
        const auto gpu = static_cast<std::size_t>(std::countr_zero(m));
        if (gpu < uncut) take(gpu, share_of_gpu(pod, s.slot, i, gpus), part);
      }
    }
  }
}

void NodeCells::read(const Fleet& fleet, NodeId id, std::span<const CellHold> holds) {
  const Fleet::Impl& impl = fleet.impl();
  const NodeState* const node = impl.find(id);
  must(node != nullptr && node->present, "the cells are of a node that is there");
  const NodeSpec& spec = node->spec;
  left_.clear();
  parts_.clear();
  beyond_.clear();
  each_cell(spec, [this](MilliGpu amount) { left_.push_back(amount); });
  const auto uncut = static_cast<std::size_t>(uncut_gpus(spec));
  for (CellPart part; part.hold < holds.size(); ++part.hold) {
    // First all holds whose GPUs are known, so that no other hold takes these GPUs.
    part.use = CellUse::kHeld;
    const CellHold& hold = holds[part.hold];
    const PodShape& pod = *impl.shape(hold.shape).pods_of(hold.rank).shape;
    MilliGpu missing = hold.slot->milligpu;
    if (pod.kind == GpuKind::kMig) missing = take_slices(spec, pod, missing, part);
    const int gpus = std::popcount(hold.slot->gpu_mask);
    int i = 0;
    for (GpuMask m = hold.slot->gpu_mask; m != 0; m &= m - 1, ++i) {
      const auto gpu = static_cast<std::size_t>(std::countr_zero(m));
      if (gpu >= uncut) break;
      missing -= take(gpu, std::min(missing, share_of_gpu(pod, *hold.slot, i, gpus)), part);
    }
    if (missing <= 0) continue;
    part.milligpu = missing;
    beyond_.push_back(part);
  }
  std::erase_if(beyond_, [this](CellPart& part) {
    part.milligpu = take_anywhere(part.milligpu, part);
    return part.milligpu == 0;
  });
  CellPart closed;
  closed.use = CellUse::kClosed;
  take_anywhere(node->levels.unusable, closed);
  take_claims(impl, node->claims.all, spec);
  const GpuMask kept = kept_for_gangs(impl, *node);
  for (std::size_t i = 0; i < left_.size(); ++i) {
    const bool is_kept = kept == kAllGpus || (i < uncut && (kept >> i & 1) != 0);
    CellPart part;
    part.use = is_kept ? CellUse::kKept : CellUse::kFree;
    take(i, left_[i], part);
  }
  std::sort(parts_.begin(), parts_.end());
}

}  // namespace subak
