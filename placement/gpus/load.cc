// The arithmetic of holds and releases, and of the remaining room.
#include "placement/gpus/load.h"

#include <algorithm>
#include <bit>

#include "core/must.h"

namespace subak {
namespace {

void add_gpus(Load& l, const PodShape& pod, const PodSlot& slot, int sign) {
  const int gpus = std::popcount(slot.gpu_mask);
  MilliGpu placed = 0;
  int i = 0;
  for (GpuMask m = slot.gpu_mask; m != 0; m &= m - 1, ++i) {
    const auto gpu = static_cast<std::size_t>(std::countr_zero(m));
    if (gpu >= l.gpu_used.size()) l.gpu_used.resize(gpu + 1);
    const MilliGpu mine = share_of_gpu(pod, slot, i, gpus);
    l.gpu_used[gpu] += static_cast<std::int32_t>(sign * mine);
    placed += mine;
  }
  if (pod.kind != GpuKind::kMig) l.loose += sign * std::max<MilliGpu>(0, slot.milligpu - placed);
}

void add_slices(Load& l, const PodShape& pod, int sign) {
  if (pod.kind != GpuKind::kMig) return;
  auto it = std::find_if(l.mig_used.begin(), l.mig_used.end(),
                         [&](const MigUse& u) { return u.profile == pod.profile; });
  if (it == l.mig_used.end()) it = l.mig_used.insert(it, {pod.profile, 0});
  it->slices += sign * pod.gpus;
  must(it->slices >= 0, "no slice is freed that was not held");
}

void add_rest(Load& l, const PodShape& pod, int sign) {
  l.cpu_used += sign * pod.cpu_milli;
  l.memory_used += sign * pod.memory_bytes;
  l.pods_used += sign;
  for (const ResourceCount& r : pod.extended) {
    auto it = std::find_if(l.extended_used.begin(), l.extended_used.end(),
                           [&](const ResourceCount& u) { return u.name == r.name; });
    if (it == l.extended_used.end()) it = l.extended_used.insert(it, {r.name, 0});
    it->count += sign * r.count;
  }
  for (const HostPort& p : pod.host_ports) {
    if (sign > 0) {
      l.ports.push_back(p);
    } else {
      const auto it = std::find(l.ports.begin(), l.ports.end(), p);
      must(it != l.ports.end(), "a port that is freed was taken");
      l.ports.erase(it);
    }
  }
  if (sign > 0) {
    add_groups(l.groups, pod);
  } else {
    drop_groups(l.groups, pod);
  }
}

void apply(Load& l, const PodShape& pod, const PodSlot& slot, int sign) {
  add_gpus(l, pod, slot, sign);
  add_slices(l, pod, sign);
  add_rest(l, pod, sign);
  l.allocated += sign * slot.milligpu;
  must(l.allocated >= 0 && l.loose >= 0 && l.pods_used >= 0, "nothing is freed that was not held");
}

// Returns the GPUs that cannot be given out. It is known how many GPUs are unhealthy or are held
// without an index, but not which GPUs. The function assumes the GPUs with the most free milli-GPU,
// and among equal ones those with the highest index.
GpuMask withheld(const std::vector<std::int32_t>& free, std::int64_t count) {
  GpuMask mask = 0;
  for (; count > 0; --count) {
    int best = -1;
    for (int i = static_cast<int>(free.size()) - 1; i >= 0; --i) {
      const bool taken = (mask >> i & 1) != 0;
      const auto f = free[static_cast<std::size_t>(i)];
      if (!taken && (best < 0 || f > free[static_cast<std::size_t>(best)])) best = i;
    }
    if (best < 0) break;
    mask |= GpuMask{1} << best;
  }
  return mask;
}

MilliGpu sum_of(const std::vector<std::int32_t>& free, GpuMask gpus) {
  MilliGpu sum = 0;
  for (std::size_t i = 0; i < free.size(); ++i) {
    if ((gpus >> i & 1) != 0) sum += free[i];
  }
  return sum;
}

// Takes `amount` from the GPUs with the most free milli-GPU; among equal ones, from the highest
// index first.
void lessen(std::vector<std::int32_t>& free, MilliGpu amount) {
  while (amount > 0) {
    std::size_t best = 0;
    for (std::size_t i = 0; i < free.size(); ++i) {
      if (free[i] >= free[best]) best = i;
    }
    if (free.empty() || free[best] == 0) return;
    const auto part = static_cast<std::int32_t>(std::min<MilliGpu>(amount, free[best]));
    free[best] -= part;
    amount -= part;
  }
}

void fill_gpus(const NodeSpec& spec, const Load& load, GpuMask kept, Room& room,
               MilliGpu* unhealthy_free) {
  const auto capacity = static_cast<std::int32_t>(gpu_capacity(spec));
  MilliGpu held = load.loose;
  for (const std::int32_t used : load.gpu_used) held += used;
  // Holds on GPUs that the node no longer has still count: they take other GPUs of the node.
  MilliGpu unplaced = held;
  for (std::size_t i = 0; i < room.gpu_free.size(); ++i) {
    const std::int32_t used = i < load.gpu_used.size() ? load.gpu_used[i] : 0;
    room.gpu_free[i] = std::max(0, capacity - used);
    if (used != 0) room.whole &= ~(GpuMask{1} << i);
    unplaced -= used;
  }
  const std::int64_t ill = spec.unhealthy_gpus;
  const std::int64_t loose = (unplaced + kMilliPerGpu - 1) / kMilliPerGpu;
  const GpuMask gone = withheld(room.gpu_free, ill + loose);
  MilliGpu excess = 0;
  if (ill > 0) {
    const auto healthy = static_cast<std::int64_t>(room.gpu_free.size()) - ill;
    const MilliGpu left = std::max<MilliGpu>(0, healthy * capacity - held);
    excess = std::max<MilliGpu>(0, sum_of(room.gpu_free, ~gone) - left);
    if (unhealthy_free != nullptr) {
      *unhealthy_free = sum_of(room.gpu_free, withheld(room.gpu_free, ill)) + excess;
    }
  }
  const GpuMask out = kept | gone;
  room.usable &= ~out;
  for (std::size_t i = 0; out != 0 && i < room.gpu_free.size(); ++i) {
    if ((out >> i & 1) != 0) room.gpu_free[i] = 0;
  }
  // A hold on an unhealthy GPU counts against the healthy ones, as in the node's allocatable.
  lessen(room.gpu_free, excess);
  room.whole &= ~out;
  for (std::size_t i = 0; excess > 0 && i < room.gpu_free.size(); ++i) {
    if (room.gpu_free[i] < capacity) room.whole &= ~(GpuMask{1} << i);
  }
  must((room.whole & ~room.usable) == 0, "a whole GPU may be given out");
}

}  // namespace

void Load::add(const Hold& hold, const PodShape& pod) {
  must(hold.slot.milligpu >= 0, "a pod holds no less than nothing");
  apply(*this, pod, hold.slot, 1);
  holds.push_back(hold);
}

const Hold* Load::find(ShapeId shape, std::uint32_t rank, const PodSlot& slot, JobId owner) const {
  const auto it = std::find_if(holds.begin(), holds.end(), [&](const Hold& h) {
    return h.owner == owner && h.shape == shape && h.rank == rank && h.slot == slot;
  });
  return it == holds.end() ? nullptr : &*it;
}

Hold Load::remove(const Hold* hold, const PodShape& pod) {
  must(hold >= holds.data() && hold < holds.data() + holds.size(), "a hold that goes is held");
  const Hold gone = *hold;
  holds[static_cast<std::size_t>(hold - holds.data())] = holds.back();
  holds.pop_back();
  apply(*this, pod, gone.slot, -1);
  return gone;
}

GpuMask Load::gpus() const {
  GpuMask held = 0;
  for (std::size_t i = 0; i < gpu_used.size() && i < 64; ++i) {
    if (gpu_used[i] != 0) held |= GpuMask{1} << i;
  }
  return held;
}

GpuMask Load::kept() const {
  GpuMask kept = 0;
  for (const Hold& h : holds) kept |= h.kept;
  return kept;
}

void fill_left(const NodeSpec& spec, const Room& empty, const Load& load, GpuMask kept,
               const GpuHeadroom& headroom, MilliGpu* unhealthy_free, Room& room) {
  room = empty;
  room.headroom = headroom;
  fill_gpus(spec, load, kept, room, unhealthy_free);
  for (const MigUse& u : load.mig_used) {
    const int i = mig_index(spec, u.profile);
    if (i >= 0) room.mig_free[static_cast<std::size_t>(i)] -= u.slices;
  }
  for (std::int64_t& free : room.mig_free)
    free = kept == kAllGpus ? 0 : std::max<std::int64_t>(0, free);
  for (const ResourceCount& r : load.extended_used) {
    const int i = extended_index(spec, r.name);
    if (i >= 0) room.extended[static_cast<std::size_t>(i)] -= r.count;
  }
  for (const ResourceCount& r : load.others.extended) {
    const int i = extended_index(spec, r.name);
    if (i >= 0) room.extended[static_cast<std::size_t>(i)] -= r.count;
  }
  const NodeUse& others = load.others;
  if (room.cpu_milli != kUnlimited) room.cpu_milli -= load.cpu_used + others.cpu_milli;
  if (room.memory_bytes != kUnlimited) room.memory_bytes -= load.memory_used + others.memory_bytes;
  if (room.pods != kUnlimited) room.pods -= load.pods_used + others.pods;
  room.ports = load.ports;
  room.groups = load.groups;
  room.ports.insert(room.ports.end(), others.host_ports.begin(), others.host_ports.end());
  must(room.gpu_free.size() == empty.gpu_free.size(), "holds take no GPU out of the node");
  if (kept != 0) {
    const Room all = left_on(spec, empty, load, 0, headroom, nullptr);
    room.free_and_kept = free_gpus(spec, all) - free_gpus(spec, room);
  }
}

Room left_on(const NodeSpec& spec, const Room& empty, const Load& load, GpuMask kept,
             const GpuHeadroom& headroom, MilliGpu* unhealthy_free) {
  Room room;
  fill_left(spec, empty, load, kept, headroom, unhealthy_free, room);
  return room;
}

}  // namespace subak
