#include "placement/finder.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace subak {

Finder::Finder(Fleet::Impl& impl, const Shape& shape, JobId owner, World world, Ignore ignore,
               bool ignore_earmarks)
    : impl_(impl),
      shape_(shape),
      owner_(owner),
      world_(world),
      ignore_(ignore),
      ignore_earmarks_(ignore_earmarks) {
  assert(impl_.filled_count == 0 && "one search at a time");
  if (impl_.filled_at.size() < impl_.nodes.size()) impl_.filled_at.resize(impl_.nodes.size());
}

Finder::~Finder() {
  for (std::size_t i = 0; i < impl_.filled_count; ++i) impl_.filled_at[impl_.filled[i].node] = 0;
  impl_.filled_count = 0;
}

const Room& Finder::room(NodeIndex i) const {
  const std::uint32_t at = impl_.filled_at[i];
  if (at != 0) return impl_.filled[at - 1].room;
  return world_ == World::kNow ? node(i).room : node(i).empty;
}

Room& Finder::filled(NodeIndex i) {
  std::uint32_t& at = impl_.filled_at[i];
  if (at == 0) {
    if (impl_.filled_count == impl_.filled.size()) impl_.filled.emplace_back();
    Fleet::Impl::Filled& f = impl_.filled[impl_.filled_count++];
    f.node = i;
    f.room = world_ == World::kNow ? node(i).room : node(i).empty;
    at = static_cast<std::uint32_t>(impl_.filled_count);
  }
  return impl_.filled[at - 1].room;
}

bool Finder::eligible(const Pods& pods, NodeIndex i) {
  const Filter& f = *pods.filter;
  if (i >= f.free.size()) return false;
  if (world_ == World::kEmpty) return f.matches[i];
  if (f.free[i] < 0) return false;
  if (!ignore_earmarks_ && node(i).earmark && node(i).earmark != owner_) {
    saw_earmark_ = true;
    return false;
  }
  return true;
}

// What best fit minimises: free amounts now, or what there is to wait for.
std::int64_t Finder::weight(const Pods& pods, NodeIndex i) const {
  if (world_ != World::kNow) return node(i).load.allocated;
  if (pods.filter->counts) return pods.filter->free[i];
  const Room& r = node(i).room;
  return std::accumulate(r.gpu_free.begin(), r.gpu_free.end(), std::int64_t{0});
}

std::int64_t Finder::domain_weight(const Pods& pods, DomainIndex d) const {
  if (world_ == World::kNow && pods.filter->counts) return pods.filter->domains[d].key.free;
  std::int64_t sum = 0;
  for (const NodeIndex m : impl_.domains[d]->members) {
    const Filter& f = *pods.filter;
    const bool in = world_ == World::kEmpty ? f.matches[m] : f.free[m] >= 0;
    if (in) sum += weight(pods, m);
  }
  return sum;
}

FitKey Finder::domain_key(const Pods& pods, DomainIndex d) const {
  const auto& members = impl_.domains[d]->members;
  return {domain_weight(pods, d), members.empty() ? 0 : members.front(), d, 0, 0};
}

FitKey Finder::node_key(const Pods& pods, NodeIndex i) const {
  const std::int64_t w = weight(pods, i);
  if (world_ == World::kNow) {
    switch (pods.shape->kind) {
      case GpuKind::kNone:
        return {node(i).spec.gpus > 0 ? 1 : 0, w, i, 0, 0};
      case GpuKind::kShared:
      case GpuKind::kFraction:
        return {tightest_gpu(node(i).spec, room(i), *pods.shape), w, i, 0, 0};
      case GpuKind::kWhole:
      case GpuKind::kMig:
        break;
    }
  }
  const FitKey d = domain_key(pods, node(i).domain);
  return {d[0], d[1], d[2], w, i};
}

bool Finder::indexed(const Run& run, Area area) const {
  return area == nullptr && world_ == World::kNow && run.pods->filter->counts;
}

std::int64_t Finder::cap(const Run& run, NodeIndex i, GpuMask allowed, std::int64_t limit) {
  if (!eligible(*run.pods, i)) return 0;
  return pods_that_fit(node(i).spec, room(i), *run.pods->shape, allowed, limit, ignore_);
}

bool Finder::fits_all(const Runs& runs, NodeIndex i, GpuMask allowed) {
  if (runs.size() == 1) return cap(runs[0], i, allowed, runs[0].count) >= runs[0].count;
  const std::size_t mark = placed_.size();
  const bool ok = place_all(runs, i, allowed);
  undo_to(mark);
  return ok;
}

bool Finder::place(const Run& run, NodeIndex i, GpuMask allowed) {
  if (!eligible(*run.pods, i)) return false;
  const NodeSpec& spec = node(i).spec;
  const PodShape& pod = *run.pods->shape;
  Room& r = filled(i);
  for (std::uint32_t k = 0; k < run.count; ++k) {
    const auto slot = choose(NodeId(i), spec, r, pod, allowed, ignore_);
    if (!slot) return false;
    slots_[run.rank + k] = *slot;
    consume(spec, r, pod, *slot);
    placed_.push_back({run.pods, run.rank + k});
  }
  return true;
}

bool Finder::place_all(const Runs& runs, NodeIndex i, GpuMask allowed) {
  const std::size_t mark = placed_.size();
  for (const Run& run : runs) {
    if (place(run, i, allowed)) continue;
    undo_to(mark);
    return false;
  }
  return true;
}

void Finder::undo_to(std::size_t mark) {
  while (placed_.size() > mark) {
    const Placed p = placed_.back();
    placed_.pop_back();
    PodSlot& slot = slots_[p.rank];
    const NodeIndex i = slot.node.value;
    release(node(i).spec, filled(i), *p.pods->shape, slot);
    slot = PodSlot{};
  }
}

// A bound from the index alone, so that most failing searches cost next to nothing.
bool Finder::enough(const Runs& runs) const {
  if (world_ != World::kNow) return true;
  for (const Run& run : runs) {
    const Filter& f = *run.pods->filter;
    if (f.open_nodes == 0) return false;
    const std::int64_t each = run.pods->shape->gpus;
    if (!f.counts || each <= 0) continue;
    std::int64_t room_for = 0;
    for (std::size_t b = static_cast<std::size_t>(each); b < f.histogram.size(); ++b) {
      room_for += f.histogram[b] * (static_cast<std::int64_t>(b) / each);
    }
    if (room_for < run.count) return false;
  }
  return true;
}

}  // namespace subak
