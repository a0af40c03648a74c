// Interned requests, found by content, and their costs.
#include <algorithm>
#include <cassert>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/flat_index.h"
#include "core/must.h"
#include "core/text.h"
#include "model/mig.h"
#include "model/product.h"
#include "placement/fleet/cost.h"
#include "placement/fleet/fleet_impl.h"

namespace subak {
namespace {

// Hashes every field, by the same lists that drive the text form. A start interns a million
// requests.
struct Hasher {
  std::uint64_t state = 0;

  void mix(std::uint64_t v) { state = mix_bits(state + 0x9e3779b97f4a7c15ULL + v); }
  template <class T>
  void value(const T& v) {
    if constexpr (std::is_enum_v<T>) {
      mix(static_cast<std::uint64_t>(v));
    } else if constexpr (std::is_integral_v<T>) {
      mix(static_cast<std::uint64_t>(v));
    } else if constexpr (std::is_same_v<T, std::string>) {
      mix(v.size());
      if (!v.empty()) mix(std::hash<std::string_view>()(v));
    } else if constexpr (IsVector<T>) {
      mix(v.size());
      for (const auto& item : v) value(item);
    } else {
      const_cast<T&>(v).fields(*this);
    }
  }
  template <class T>
  void operator()(int, std::string_view, const T& v) {
    value(v);
  }
};

std::uint64_t hash_of(ClusterId cluster, const GangRequest& request) {
  Hasher hasher;
  hasher.mix(cluster.value);
  hasher.value(request);
  return hasher.state;
}

// Returns the profile as the geometries list it.
std::string listed(std::string profile) {
  std::replace_if(
      profile.begin(), profile.end(), [](char c) { return c == '+' || c == ','; }, '.');
  return profile;
}

MilliGpu least_slice(const Fleet::Impl& impl, const PodShape& pod) {
  if (pod.products.empty()) {
    const auto it = impl.least_slices.find(listed(pod.profile));
    return it == impl.least_slices.end() ? 0 : it->second;
  }
  std::optional<MilliGpu> least;
  for (const std::string& product : pod.products) {
    const auto cost = mig_slice_milligpu(product, pod.profile);
    if (cost && (!least || *cost < *least)) least = cost;
  }
  return least.value_or(0);
}

MilliGpu least_replica(const Fleet::Impl& impl, ClusterId cluster, const PodShape& pod) {
  MilliGpu least = kMilliPerGpu;
  for (auto it = impl.shared_ways.lower_bound({cluster, ""});
       it != impl.shared_ways.end() && it->first.first == cluster; ++it) {
    const bool allowed =
        pod.products.empty() ||
        std::any_of(pod.products.begin(), pod.products.end(),
                    [&](const std::string& p) { return base_product(p) == it->first.second; });
    const std::int64_t most_ways = it->second.rbegin()->first;
    if (allowed) least = std::min(least, kMilliPerGpu / most_ways);
  }
  return least;
}

// Returns the cost of one pod on any node; 0 if it depends on the node.
MilliGpu fixed_cost(const PodShape& pod) {
  switch (pod.kind) {
    case GpuKind::kWhole:
      return pod.gpus * kMilliPerGpu;
    case GpuKind::kFraction:
      return pod.milligpu;
    case GpuKind::kNone:
    case GpuKind::kShared:
    case GpuKind::kMig:
      break;
  }
  return 0;
}

// Returns the pods as the nodes offer their resources.
const PodShape& offered(Shape& shape, const PodShape& asked) {
  PodShape pod = as_offered(asked);
  if (pod.kind == asked.kind) return asked;
  return *shape.offered.emplace_back(std::make_unique<PodShape>(std::move(pod)));
}

// Returns false if pods name products that exclude each other: then each takes the products that it
// names.
bool some_product_for_all(const Shape& shape) {
  std::optional<std::set<std::string_view>> all;
  for (const Pods& p : shape.pods) {
    if (p.shape->kind == GpuKind::kNone || p.shape->products.empty()) continue;
    std::set<std::string_view> mine;
    for (const std::string& product : p.shape->products) mine.insert(base_product(product));
    if (all) std::erase_if(mine, [&](std::string_view product) { return !all->contains(product); });
    all = std::move(mine);
  }
  return !all || !all->empty();
}

}  // namespace

std::uint64_t hash_of(const PodShape& pod) {
  Hasher hasher;
  hasher.value(pod);
  return hasher.state;
}

namespace {

// NVLink does not join slices and replicas.
MilliGpu largest_segment(const Shape& shape) {
  const std::uint32_t pods = shape.request().pods();
  const std::uint32_t size = shape.request().segment > 0 ? shape.request().segment : pods;
  MilliGpu largest = 0, here = 0;
  std::uint32_t filled = 0;  // of the segment
  for (const Pods& p : shape.pods) {
    const MilliGpu each = fixed_cost(*p.shape);
    for (std::uint32_t left = p.count; left > 0;) {
      const std::uint32_t part = std::min(left, size - filled);
      here += each * part;
      largest = std::max(largest, here);
      left -= part;
      filled += part;
      if (filled == size) filled = 0, here = 0;
    }
  }
  return largest;
}

std::unique_ptr<Shape> made(ClusterId cluster, const GangRequest& request) {
  auto shape = std::make_unique<Shape>();
  shape->cluster = cluster;
  shape->asked = std::make_shared<const GangRequest>(request);
  std::uint32_t first = 0;
  for (const PodGroup& g : shape->request().groups) {
    const PodShape& pod = offered(*shape, g.shape);
    if (g.count > 0) shape->pods.push_back({&pod, first, g.count, hash_of(pod)});
    first += g.count;
    shape->least += fixed_cost(pod) * g.count;
    shape->non_gpu |= g.count > 0 && pod.kind == GpuKind::kNone;
    shape->cost_by_place |=
        g.count > 0 && (pod.kind == GpuKind::kShared || pod.kind == GpuKind::kMig);
  }
  shape->linked = wants_nvlink(request) && !request.prefer;
  if (shape->linked) shape->together = largest_segment(*shape);
  shape->one_product = !request.mixed_products && some_product_for_all(*shape);
  return shape;
}

// Returns the least cost of the gang.
MilliGpu least_of(const Fleet::Impl& impl, const Shape& s) {
  if (!s.cost_by_place) return s.least;
  MilliGpu least = s.least;
  for (const Pods& p : s.pods) {
    MilliGpu each = 0;
    if (p.shape->kind == GpuKind::kShared) each = least_replica(impl, s.cluster, *p.shape);
    if (p.shape->kind == GpuKind::kMig) each = least_slice(impl, *p.shape);
    least += each * p.shape->gpus * p.count;
  }
  return least;
}

}  // namespace

MilliGpu least_milligpu(const Fleet& fleet, ClusterId cluster, const GangRequest& request) {
  return least_of(fleet.impl(), *made(cluster, request));
}

ShapeId Fleet::Impl::find_shape(std::uint64_t hash, ClusterId cluster,
                                const GangRequest& request) const {
  const auto [begin, end] = shapes_by_hash.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Shape& s = shape(it->second);
    if (s.cluster == cluster && s.request() == request) return it->second;
  }
  return ShapeId();
}

ShapeId Fleet::find_shape(ClusterId cluster, const GangRequest& request) const {
  return impl_->find_shape(hash_of(cluster, request), cluster, request);
}

ShapeId Fleet::Impl::new_number() {
  if (unused_numbers.empty()) {
    shapes.emplace_back();
    return ShapeId(static_cast<ShapeId::rep>(shapes.size() - 1));
  }
  const ShapeId id = unused_numbers.back();
  unused_numbers.pop_back();
  return id;
}

ShapeUse Fleet::use(ClusterId cluster, const GangRequest& request) {
  const std::uint64_t hash = hash_of(cluster, request);
  if (const ShapeId known = impl_->find_shape(hash, cluster, request)) {
    add_use(known);
    return ShapeUse(this, known);
  }
  auto shape = made(cluster, request);
  shape->hash = hash;
  shape->serial = ++impl_->last_serial;
  shape->uses = 1;
  const ShapeId id = impl_->new_number();
  impl_->shapes[id.value] = std::move(shape);
  impl_->shapes_by_hash.emplace(hash, id);
  return ShapeUse(this, id);
}

void Fleet::add_use(ShapeId id) { ++impl_->shapes[id.value]->uses; }

void Fleet::drop_use(ShapeId id) {
  Shape& s = *impl_->shapes[id.value];
  must(s.uses > 0, "a shape that is used is known");
  if (--s.uses > 0) return;
  const auto [begin, end] = impl_->shapes_by_hash.equal_range(s.hash);
  const auto it = std::find_if(begin, end, [id](const auto& known) { return known.second == id; });
  must(it != end, "a known shape is found by its content");
  impl_->shapes_by_hash.erase(it);
  impl_->shapes[id.value] = {};
  impl_->unused_numbers.push_back(id);
  impl_->gone.push_back(id);
  const std::size_t keep = std::max<std::size_t>(1024, impl_->shapes.size());
  if (impl_->gone.size() <= 2 * keep) return;
  impl_->gone.erase(impl_->gone.begin(), impl_->gone.begin() + static_cast<std::ptrdiff_t>(keep));
  impl_->gone_base += keep;
}

ShapeUse::ShapeUse(ShapeUse&& from) noexcept
    : fleet_(std::exchange(from.fleet_, nullptr)), id_(std::exchange(from.id_, ShapeId())) {}

ShapeUse& ShapeUse::operator=(ShapeUse&& from) noexcept {
  ShapeUse now(std::move(from));  // also of itself
  std::swap(fleet_, now.fleet_);
  std::swap(id_, now.id_);
  return *this;
}

ShapeUse::~ShapeUse() {
  if (fleet_ != nullptr) fleet_->drop_use(id_);
}

ShapeUse ShapeUse::share() const {
  if (fleet_ != nullptr) fleet_->add_use(id_);
  return ShapeUse(fleet_, id_);
}

const GangRequest& Fleet::request(ShapeId shape) const { return impl_->shape(shape).request(); }
std::shared_ptr<const GangRequest> Fleet::shared_request(ShapeId shape) const {
  return impl_->shape(shape).asked;
}
ClusterId Fleet::cluster_of(ShapeId shape) const { return impl_->shape(shape).cluster; }
std::uint64_t Fleet::serial(ShapeId shape) const { return impl_->shape(shape).serial; }
std::uint64_t Fleet::hash(ShapeId shape) const {
  return hash_of(cluster_of(shape), request(shape));
}
std::size_t Fleet::shapes() const { return shape_numbers() - impl_->unused_numbers.size(); }
std::size_t Fleet::shape_numbers() const { return impl_->shapes.size() - 1; }

const Pods& Fleet::Impl::pods_of(const Shape& s, std::uint32_t rank) const {
  for (const Pods& p : s.pods) {
    if (rank < p.first + p.count) return p;
  }
  assert(false && "rank is not one of the gang's");
  return s.pods.back();
}

void Fleet::Impl::note_slices(std::string_view product) {
  const MigGeometry* geometry = mig_geometry(product);
  if (geometry == nullptr) return;
  for (const MigProfile& p : geometry->profiles) {
    const MilliGpu cost = *mig_slice_milligpu(product, p.name);
    const auto [it, added] = least_slices.try_emplace(std::string(p.name), cost);
    if (!added) it->second = std::min(it->second, cost);
  }
}

MilliGpu Fleet::least_milligpu(ShapeId id) const { return least_of(*impl_, impl_->shape(id)); }

MilliGpu Fleet::slot_milligpu(ShapeId id, std::uint32_t rank, NodeId node) const {
  const NodeState* n = impl_->find(node);
  const PodShape& pod = *impl_->pods_of(impl_->shape(id), rank).shape;
  return n == nullptr ? 0 : pod_milligpu(n->spec, pod);
}

}  // namespace subak
