#include "sim/report/fragmentation.h"

#include <algorithm>
#include <bit>

namespace subak::sim {

Fragmentation::Fragmentation(const std::vector<NodeSpec>& nodes,
                             const std::vector<GangRequest>& requests,
                             const std::vector<std::uint64_t>& counts, TimeMs from, TimeMs to)
    : to_(to), since_(from) {
  for (std::size_t i = 0; i < requests.size(); ++i) add_shapes(requests[i], counts[i]);
  double all = 0;
  for (const Shape& shape : shapes_) all += shape.popularity;
  for (Shape& shape : shapes_) shape.popularity /= all > 0 ? all : 1;
  for (const NodeSpec& spec : nodes) {
    by_name_.emplace(spec.name, nodes_.size());
    Node& node = nodes_.emplace_back();
    node.product = spec.product;
    node.free.assign(static_cast<std::size_t>(spec.gpus), kMilliPerGpu);
    recount(node);
  }
}

void Fragmentation::add_shapes(const GangRequest& request, std::uint64_t count) {
  for (const PodGroup& group : request.groups) {
    Shape shape;
    shape.gpus = group.shape.kind == GpuKind::kWhole ? group.shape.gpus : 0;
    shape.per_gpu = shape.gpus > 0 ? kMilliPerGpu : group.shape.milligpu;
    shape.products = group.shape.products;
    if (shape.per_gpu == 0 || count == 0) continue;
    const auto same = std::find_if(shapes_.begin(), shapes_.end(), [&](const Shape& s) {
      return s.gpus == shape.gpus && s.per_gpu == shape.per_gpu && s.products == shape.products;
    });
    Shape& target = same != shapes_.end() ? *same : shapes_.emplace_back(std::move(shape));
    target.popularity += static_cast<double>(group.count) * static_cast<double>(count);
  }
}

void Fragmentation::recount(Node& node) {
  f_ -= node.f;
  free_ -= node.free_total;
  node.f = 0;
  node.free_total = 0;
  std::int64_t whole = 0;
  for (const MilliGpu free : node.free) {
    node.free_total += free;
    whole += free == kMilliPerGpu;
  }
  for (const Shape& shape : shapes_) {
    if (node.free_total == 0) break;
    const bool allowed = shape.products.empty() ||
                         std::find(shape.products.begin(), shape.products.end(), node.product) !=
                             shape.products.end();
    MilliGpu usable = 0;
    if (allowed && shape.gpus > 0 && whole >= shape.gpus) usable = whole * kMilliPerGpu;
    if (allowed && shape.gpus == 0) {
      for (const MilliGpu free : node.free) usable += free >= shape.per_gpu ? free : 0;
    }
    node.f += shape.popularity * static_cast<double>(node.free_total - usable);
  }
  f_ += node.f;
  free_ += node.free_total;
}

double Fragmentation::now() const {
  return free_ > 0 ? std::max(0.0, f_) / static_cast<double>(free_) : 0;
}

void Fragmentation::advance(TimeMs t) {
  const TimeMs end = std::min(t, to_);
  if (end <= since_) return;
  if (free_ > 0) {
    integral_ += now() * static_cast<double>(end - since_);
    observed_ms_ += static_cast<double>(end - since_);
  }
  since_ = end;
}

void Fragmentation::change(const std::string& node, std::uint64_t gpu_mask, MilliGpu taken,
                           TimeMs t) {
  const auto it = by_name_.find(node);
  if (it == by_name_.end() || gpu_mask == 0) return;
  advance(t);
  Node& changed = nodes_[it->second];
  for (std::uint64_t mask = gpu_mask; mask != 0; mask &= mask - 1) {
    const auto gpu = static_cast<std::size_t>(std::countr_zero(mask));
    if (gpu < changed.free.size()) changed.free[gpu] -= taken;
  }
  recount(changed);
}

double Fragmentation::time_mean(TimeMs to) {
  advance(to);
  return observed_ms_ > 0 ? integral_ / observed_ms_ : 0;
}

}  // namespace subak::sim
