#include "placement/finder.h"

#include <algorithm>
#include <numeric>

namespace subak {

Finder::Finder(Search::Impl& memory, const Shape& shape, const Sought& sought, const Scene& scene,
               JobId owner, Ignore ignore)
    : fleet_(scene.fleet),
      shape_(shape),
      sought_(sought),
      scene_(scene),
      trial_(memory.trial),
      owner_(owner),
      ignore_(ignore) {
  trial_.begin(fleet_.nodes.size());
}

Finder::~Finder() { trial_.end(); }

const Room& Finder::room(NodeIndex i) const {
  const Room* tried = trial_.find(i);
  return tried != nullptr ? *tried : scene_.room(i);
}

Room& Finder::filled(NodeIndex i) { return trial_.fill(i, scene_.room(i)); }

bool Finder::eligible(const Filter& f, NodeIndex i) {
  if (i >= f.free.size()) return false;
  if (scene_.all_open) return f.matches[i];
  if (f.free[i] < 0) return false;
  const JobId keeper = scene_.owner_of(i);
  if (keeper && keeper != owner_) {
    saw_kept_ = true;
    return false;
  }
  return true;
}

// What best fit minimises: free amounts now, or what there is to wait for.
std::int64_t Finder::weight(const Filter& f, NodeIndex i) const {
  if (scene_.nothing_held) return scene_.load(i).allocated;
  if (f.counts) return f.free[i];
  const Room& r = scene_.room(i);
  return std::accumulate(r.gpu_free.begin(), r.gpu_free.end(), std::int64_t{0});
}

std::int64_t Finder::domain_weight(const Filter& f, DomainIndex d) const {
  if (!scene_.nothing_held && f.counts) return f.domains[d].key.free;
  std::int64_t sum = 0;
  for (const NodeIndex m : members(d)) {
    const bool in = scene_.all_open ? f.matches[m] : f.free[m] >= 0;
    if (in) sum += weight(f, m);
  }
  return sum;
}

FitKey Finder::domain_key(const Filter& f, DomainIndex d) const {
  return {domain_weight(f, d), members(d).empty() ? 0 : members(d).front(), d, 0, 0};
}

FitKey Finder::node_key(const Run& run, NodeIndex i) const {
  const std::int64_t w = weight(*run.filter, i);
  const PodShape& pod = *run.pods->shape;
  if (!scene_.nothing_held) {
    switch (pod.kind) {
      case GpuKind::kNone:
        return {node(i).spec.gpus > 0 ? 1 : 0, w, i, 0, 0};
      case GpuKind::kShared:
      case GpuKind::kFraction:
        return {tightest_gpu(node(i).spec, room(i), pod), w, i, 0, 0};
      case GpuKind::kWhole:
      case GpuKind::kMig:
        break;
    }
  }
  const FitKey d = domain_key(*run.filter, node(i).domain);
  return {d[0], d[1], d[2], w, i};
}

bool Finder::indexed(const Run& run, Area area) const {
  return area == nullptr && !scene_.nothing_held && run.filter->counts;
}

std::int64_t Finder::cap(const Run& run, NodeIndex i, GpuMask allowed, std::int64_t limit) {
  if (!eligible(*run.filter, i)) return 0;
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
  if (!eligible(*run.filter, i)) return false;
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
  if (scene_.nothing_held) return true;
  for (const Run& run : runs) {
    const Filter& f = *run.filter;
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
