#include "placement/search/finder.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "placement/fleet/compute_domains.h"

namespace subak {

Finder::Finder(Search::Impl& memory, const Shape& shape, const Sought& sought, const Scene& scene,
               JobId owner, Ignore ignore, std::span<const ProductId> without)
    : fleet_(scene.fleet),
      shape_(shape),
      sought_(sought),
      scene_(scene),
      trial_(memory.trial),
      spread_(memory.spread),
      owner_(owner),
      ignore_(ignore),
      by_state_(memory.by_state && !scene_.nothing_held && !scene_.all_open),
      leaves_some_(scene_.rules_hold()),
      uses_compute_domain_(shape.request().compute_domain && !scene_.together) {
  bounds_.without = without;
  trial_.begin(fleet_.nodes.size());
  if (scene_.as_it_is() && !scene_.all_open) return;
  if (scene_.is_empty()) return;
  for (std::size_t k = 0; k < sought.filters.size(); ++k) {
    if (!sought.filters[k]->counts) continue;
    if (scene_.nothing_held) catch_up_drained(*sought.filters[k], fleet_);
    const Filter& of = filter(k);
    const bool known = std::any_of(patches_.begin(), patches_.end(),
                                   [&](const auto& p) { return p.first == &of; });
    const bool differs = scene_.overlay != nullptr || scene_.all_open;
    if (differs && !known) patches_.emplace_back(&of, Patch(of, scene_));
  }
}

Finder::~Finder() { trial_.end(); }

const Room& Finder::room(NodeIndex i) const {
  const Room* tried = trial_.find(i);
  return tried != nullptr ? *tried : scene_.room(i);
}

Room& Finder::filled(NodeIndex i) { return trial_.fill(i, scene_.room(i)); }

const Filter& Finder::filter(std::size_t k) const {
  const Filter& live = *sought_.filters[k];
  const bool drained = scene_.nothing_held && !scene_.all_open && live.counts;
  return drained ? *live.when_drained : live;
}

Index Finder::index(std::size_t k) const {
  const Filter& of = filter(k);
  const Pods& pods = shape_.pods[k];
  const auto* backed_off =
      fleet_.backoffs.empty() ? nullptr : fleet_.backed_off_nodes(*pods.shape, pods.hash);
  for (const auto& [patched, patch] : patches_) {
    if (patched == &of) return Index(of, &patch, backed_off);
  }
  return Index(of, nullptr, backed_off);
}

bool Finder::fragment(const Index& x, NodeIndex i) const {
  return x.counts() ? x.fragment(i) : scene_.load(i).allocated > 0;
}

// Topology and products are about GPUs: pods without GPUs go anywhere.
bool Finder::within_bounds(const Index& x, NodeIndex i) const {
  const NodeState& n = node(i);
  if (!x.of_gpus()) return true;
  if (bounds_.linked && !n.linked) return false;
  if (bounds_.unsplit && n.split) return false;
  return allows(n.product) && (!bounds_.fragments || fragment(x, i));
}

bool Finder::computed_by_others(NodeIndex i) {
  const auto [at, fresh] = computed_.try_emplace(i, false);
  if (fresh) at->second = is_computed(scene_, i, owner_);
  // The domain may be reserved for these gangs.
  if (at->second && scene_.reserved != nullptr) saw_reserved_ = true;
  return at->second;
}

bool Finder::allows(ProductId product) const {
  if (bounds_.product && product != bounds_.product) return false;
  return std::find(bounds_.without.begin(), bounds_.without.end(), product) ==
         bounds_.without.end();
}

bool Finder::eligible(const Index& x, NodeIndex i) {
  if (!x.knows(i) || (bounds_.any() && !within_bounds(x, i))) return false;
  if (!taken_.empty() && x.of_gpus() && !node(i).split && taken(i, kAllGpus)) return false;
  if (!(scene_.all_open ? x.matches(i) : x.open(i) && !x.is_backed_off(i))) return false;
  // No job waits for a node that is reserved for replacements: it is free already.
  if (scene_.nothing_held && !scene_.all_open && node(i).spare) return false;
  const JobId keeper = scene_.owner_of(i);
  if (keeper && keeper != owner_) {
    saw_reserved_ = true;
    return false;
  }
  // A node that is promised to the gang is its own.
  if (!keeper && x.of_gpus() && left_to_others(i)) return false;
  if (uses_compute_domain_ && x.of_gpus() && computed_by_others(i)) return false;
  return spare_ == 0 || !x.of_gpus() || leaves_spare(i);
}

// Returns the amount that best fit minimises: free amounts now, or the amounts held now that a job
// would wait for.
std::int64_t Finder::weight(const Index& x, NodeIndex i) const {
  if (x.drained()) return x.held(i);
  if (scene_.nothing_held) return scene_.load(i).allocated;
  if (x.counts()) return std::max<std::int64_t>(0, x.free(i));  // -1: closed, but queried
  const Room& r = scene_.room(i);
  return std::accumulate(r.gpu_free.begin(), r.gpu_free.end(), std::int64_t{0});
}

// The same for some GPUs of the node.
std::int64_t Finder::weight_in(const Index& x, const Room& r, GpuMask gpus) {
  if (x.counts()) return std::popcount(r.whole & gpus);
  std::int64_t free = 0;
  for (std::size_t gpu = 0; gpu < r.gpu_free.size(); ++gpu) {
    if ((gpus >> gpu & 1) != 0) free += r.gpu_free[gpu];
  }
  return free;
}

FitKey Finder::domain_key(const Index& x, DomainIndex d) const {
  const bool known = x.counts() ? !scene_.is_empty() : by_state() && scene_.overlay == nullptr;
  if (known) {
    const DomainKey& key = x.domain_key(d);
    return {key.weight, key.low, key.domain, 0, 0};
  }
  std::int64_t sum = 0;
  for (const NodeIndex m : members(d)) {
    const bool in = scene_.all_open ? x.matches(m) : x.open(m);
    if (in) sum += weight(x, m);
  }
  return {sum, members(d).empty() ? 0 : members(d).front(), d, 0, 0};
}

FitKey Finder::node_key(const Run& run, NodeIndex i) const {
  const std::int64_t w = weight(run.index, i);
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
  const FitKey d = domain_key(run.index, node(i).domain);
  return {d[0], d[1], d[2], w, i};
}

bool Finder::indexed(const Run& run, Area area) const {
  return area == nullptr && !scene_.is_empty() && run.index.counts();
}

std::int64_t Finder::cap(const Run& run, NodeIndex i, GpuMask allowed, std::int64_t limit) {
  if (!eligible(run.index, i)) return 0;
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
  if (!eligible(run.index, i)) return false;
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

// True if no non-GPU pod takes resources reserved beside GPUs that the complete gang leaves free.
bool Finder::all_leave_headroom() const {
  return !fleet_.headroom.any() ||
         std::all_of(placed_.begin(), placed_.end(), [&](const Placed& p) {
           const NodeIndex i = slots_[p.rank].node.value;
           return leaves_headroom(node(i).spec, room(i), *p.pods->shape, ignore_);
         });
}

// A bound from the index alone, so that most failing searches cost next to nothing.
bool Finder::enough(const Runs& runs) const {
  if (scene_.is_empty()) return true;
  for (const Run& run : runs) {
    if (!scene_.all_open && run.index.open_nodes() == 0) return false;
    const std::int64_t each = run.pods->shape->gpus;
    if (!run.index.counts() || each <= 0) continue;
    if (run.index.times_free(each) < run.count) return false;
  }
  return true;
}

}  // namespace subak
