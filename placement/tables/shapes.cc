#include "placement/tables/shapes.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/flat_index.h"
#include "core/must.h"
#include "core/text.h"
#include "model/product.h"

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

// Returns the pods as the nodes offer their resources.
const PodShape& offered(Shape& shape, const PodShape& asked) {
  PodShape pod = as_offered(asked);
  if (pod.kind == asked.kind) return asked;
  return *shape.offered.emplace_back(std::make_unique<PodShape>(std::move(pod)));
}

// Returns false if some pods of the gang name products that exclude each other. Then each pod uses
// the products that it names.
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

MilliGpu fixed_milligpu(const PodShape& pod) {
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

std::uint64_t hash_of(const PodShape& pod) {
  Hasher hasher;
  hasher.value(pod);
  return hasher.state;
}

namespace {

// NVLink does not join slices and replicas.
MilliGpu largest_segment(const Shape& shape) {
  const std::uint32_t pods = shape.request().pods();
  const std::uint32_t size =
      shape.request().terms.segment > 0 ? shape.request().terms.segment : pods;
  MilliGpu largest = 0, here = 0;
  must(size > 0 || shape.pods.empty(), "a segment has pods");
  std::uint32_t filled = 0;  // of the segment
  for (const Pods& p : shape.pods) {
    const MilliGpu each = fixed_milligpu(*p.shape);
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

}  // namespace

std::unique_ptr<Shape> make_shape(ClusterId cluster, const GangRequest& request) {
  auto shape = std::make_unique<Shape>();
  shape->cluster = cluster;
  shape->asked = std::make_shared<const GangRequest>(request);
  std::uint32_t first = 0;
  for (const PodGroup& g : shape->request().groups) {
    const PodShape& pod = offered(*shape, g.shape);
    if (g.count > 0) shape->pods.push_back({&pod, first, g.count, hash_of(pod)});
    first += g.count;
    shape->least += fixed_milligpu(pod) * g.count;
    shape->non_gpu |= g.count > 0 && pod.kind == GpuKind::kNone;
    shape->pod_rules |= g.count > 0 && has_pod_rules(pod);
    shape->cost_by_place |=
        g.count > 0 && (pod.kind == GpuKind::kShared || pod.kind == GpuKind::kMig);
  }
  shape->linked = wants_nvlink(request) && !request.terms.prefer;
  if (shape->linked) shape->together = largest_segment(*shape);
  must(shape->together <= shape->least, "a segment needs at most what its gang needs");
  shape->one_fabric = wants_one_fabric(request);
  shape->one_product = !request.terms.mixed_products && some_product_for_all(*shape);
  return shape;
}

ShapeId ShapeTable::find(std::uint64_t hash, ClusterId cluster, const GangRequest& request) const {
  const auto [begin, end] = by_content_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Shape& s = (*this)[it->second];
    if (s.cluster == cluster && s.request() == request) return it->second;
  }
  return ShapeId();
}

ShapeId ShapeTable::find(ClusterId cluster, const GangRequest& request) const {
  return find(hash_of(cluster, request), cluster, request);
}

ShapeId ShapeTable::new_number() {
  if (unused_.empty()) {
    shapes_.emplace_back();
    return ShapeId(static_cast<ShapeId::rep>(shapes_.size() - 1));
  }
  const ShapeId id = unused_.back();
  unused_.pop_back();
  must(!shapes_[id.value], "an unused number has no shape");
  return id;
}

ShapeUse ShapeTable::use(ClusterId cluster, const GangRequest& request) {
  const std::uint64_t hash = hash_of(cluster, request);
  if (const ShapeId known = find(hash, cluster, request)) {
    add_use(known);
    return ShapeUse(this, known);
  }
  auto shape = make_shape(cluster, request);
  shape->hash = hash;
  shape->serial = ++last_serial_;
  shape->uses = 1;
  const ShapeId id = new_number();
  must(!shapes_[id.value], "an unused number has no shape");
  shapes_[id.value] = std::move(shape);
  by_content_.emplace(hash, id);
  return ShapeUse(this, id);
}

void ShapeTable::add_use(ShapeId id) {
  must(shapes_[id.value] && shapes_[id.value]->uses > 0, "a shape that is shared is in use");
  ++shapes_[id.value]->uses;
}

void ShapeTable::drop_use(ShapeId id) {
  Shape& s = *shapes_[id.value];
  must(s.uses > 0, "a shape that is used is known");
  if (--s.uses > 0) return;
  const auto [begin, end] = by_content_.equal_range(s.hash);
  const auto it = std::find_if(begin, end, [id](const auto& known) { return known.second == id; });
  must(it != end, "a known shape is found by its content");
  by_content_.erase(it);
  shapes_[id.value] = {};
  unused_.push_back(id);
  gone_.push_back(id);
  must(unused_.size() <= numbers(), "a number is unused once");
  const std::size_t keep = std::max<std::size_t>(1024, shapes_.size());
  if (gone_.size() <= 2 * keep) return;
  gone_.erase(gone_.begin(), gone_.begin() + static_cast<std::ptrdiff_t>(keep));
  gone_first_ += keep;
  must(gone_.size() >= keep, "the log has at least the last shapes that went");
}

void ShapeTable::check() const {
  std::size_t used = 0;
  for (std::size_t i = 1; i < shapes_.size(); ++i) {
    if (!shapes_[i]) continue;
    const Shape& s = *shapes_[i];
    must(s.uses > 0 && s.serial > 0 && s.serial <= last_serial_, "a shape in use has a serial");
    must(find(s.cluster, s.request()).value == i, "a shape is found by its content");
    ++used;
  }
  must(used == in_use() && used == by_content_.size(), "every other number is unused");
}

ShapeUse::ShapeUse(ShapeUse&& from) noexcept
    : table_(std::exchange(from.table_, nullptr)), id_(std::exchange(from.id_, ShapeId())) {}

ShapeUse& ShapeUse::operator=(ShapeUse&& from) noexcept {
  ShapeUse now(std::move(from));  // also of itself
  std::swap(table_, now.table_);
  std::swap(id_, now.id_);
  return *this;
}

ShapeUse::~ShapeUse() {
  if (table_ != nullptr) table_->drop_use(id_);
}

ShapeUse ShapeUse::share() const {
  if (table_ != nullptr) table_->add_use(id_);
  return ShapeUse(table_, id_);
}

const Pods& Shape::pods_of(std::uint32_t rank) const {
  for (const Pods& p : pods) {
    if (rank < p.first + p.count) return p;
  }
  must(false, "a rank is one of the gang's");
  return pods.back();
}

}  // namespace subak
