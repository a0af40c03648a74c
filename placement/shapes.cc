// Interned requests: find them by content, and make them ready for searches.
#include <algorithm>
#include <cassert>
#include <functional>
#include <string_view>
#include <type_traits>

#include "core/flat_index.h"
#include "core/text.h"
#include "placement/eligibility.h"
#include "placement/fleet_impl.h"
#include "placement/mig.h"

namespace subak {
namespace {

// Over every field, by the same lists that drive the text form. A start interns a million requests.
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

// The part of a pod that decides which nodes it may use.
PodShape eligibility_part(const PodShape& pod) {
  PodShape out;
  out.kind = pod.kind;
  out.profile = pod.profile;
  out.products = pod.products;
  out.node_selector = pod.node_selector;
  out.affinity = pod.affinity;
  out.tolerations = pod.tolerations;
  return out;
}

std::optional<MilliGpu> least_slice(const PodShape& pod, const std::vector<std::string>& interned) {
  std::optional<MilliGpu> least;
  for (const std::string& product : pod.products.empty() ? interned : pod.products) {
    const auto cost = mig_slice_milligpu(product, pod.profile);
    if (cost && (!least || *cost < *least)) least = cost;
  }
  return least;
}

MilliGpu least_replica(const Fleet::Impl& impl, ClusterId cluster, const PodShape& pod) {
  MilliGpu least = kMilliPerGpu;
  for (const auto& n : impl.nodes) {
    if (!n || !n->present || n->cluster != cluster || n->spec.replicas <= 1) continue;
    if (eligibility::matches_product(pod.products, n->spec)) {
      least = std::min(least, replica_milligpu(n->spec));
    }
  }
  return least;
}

}  // namespace

ShapeId Fleet::Impl::find_shape(std::uint64_t hash, ClusterId cluster,
                                const GangRequest& request) const {
  const auto [begin, end] = shapes_by_hash.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Shape& s = shape(it->second);
    if (s.cluster == cluster && s.request == request) return it->second;
  }
  return ShapeId();
}

ShapeId Fleet::find_shape(ClusterId cluster, const GangRequest& request) const {
  return impl_->find_shape(hash_of(cluster, request), cluster, request);
}

ShapeId Fleet::intern(ClusterId cluster, const GangRequest& request) {
  const std::uint64_t hash = hash_of(cluster, request);
  if (const ShapeId known = impl_->find_shape(hash, cluster, request)) return known;
  const ShapeId id(static_cast<ShapeId::rep>(impl_->shapes.size()));
  auto shape = std::make_unique<Shape>();
  shape->cluster = cluster;
  shape->request = request;
  std::uint32_t first = 0;
  for (const PodGroup& g : shape->request.groups) {
    if (g.count > 0) shape->pods.push_back({&g.shape, first, g.count, nullptr});
    first += g.count;
  }
  impl_->shapes.push_back(std::move(shape));
  impl_->shapes_by_hash.emplace(hash, id);
  return id;
}

const GangRequest& Fleet::request(ShapeId shape) const { return impl_->shape(shape).request; }
ClusterId Fleet::cluster_of(ShapeId shape) const { return impl_->shape(shape).cluster; }
std::size_t Fleet::shapes() const { return impl_->shapes.size() - 1; }

const Pods& Fleet::Impl::pods_of(const Shape& s, std::uint32_t rank) const {
  for (const Pods& p : s.pods) {
    if (rank < p.first + p.count) return p;
  }
  assert(false && "rank is not one of the gang's");
  return s.pods.back();
}

void Fleet::Impl::compile(Shape& s) {
  if (s.compiled) return;
  s.compiled = true;
  for (Pods& p : s.pods) {
    const PodShape part = eligibility_part(*p.shape);
    auto& filter = filters[std::to_string(s.cluster.value) + ' ' + to_text(part)];
    if (!filter) {
      filter = std::make_unique<Filter>();
      filter->cluster = s.cluster;
      filter->pod = part;
      filter->tolerates_cordon = eligibility::tolerates_cordon(part.tolerations);
      filter->counts = part.kind == GpuKind::kWhole || part.kind == GpuKind::kMig;
    }
    p.filter = filter.get();
  }
}

MilliGpu Fleet::least_milligpu(ShapeId id) const {
  Shape& s = impl_->shape(id);
  if (s.least_version == impl_->static_version) return s.least;
  s.least_version = impl_->static_version;
  s.least = 0;
  for (const Pods& p : s.pods) {
    MilliGpu each = 0;
    switch (p.shape->kind) {
      case GpuKind::kNone:
        break;
      case GpuKind::kWhole:
        each = p.shape->gpus * kMilliPerGpu;
        break;
      case GpuKind::kFraction:
        each = p.shape->milligpu;
        break;
      case GpuKind::kShared:
        each = p.shape->gpus * least_replica(*impl_, s.cluster, *p.shape);
        break;
      case GpuKind::kMig:
        each = p.shape->gpus * least_slice(*p.shape, impl_->products).value_or(0);
        break;
    }
    s.least += each * p.count;
  }
  return s.least;
}

MilliGpu Fleet::slot_milligpu(ShapeId id, std::uint32_t rank, NodeId node) const {
  const NodeState* n = impl_->find(node);
  const PodShape& pod = *impl_->pods_of(impl_->shape(id), rank).shape;
  return n == nullptr ? 0 : pod_milligpu(n->spec, pod);
}

}  // namespace subak
