#include "placement/fleet/fleet.h"

#include <cassert>

#include "placement/fleet/fleet_impl.h"

namespace subak {

Fleet::Fleet() : impl_(std::make_unique<Impl>()) {
  impl_->domains.emplace_back();
  for (TopologyLevel& level : impl_->levels) level.groups.emplace_back();
  impl_->shapes.emplace_back();
  impl_->totals.emplace_back();
  impl_->products.emplace_back(kAnyProduct);
  impl_->products_by_name.emplace(kAnyProduct, ProductId());
}

Fleet::~Fleet() = default;

const NodeSpec* Fleet::node(NodeId id) const {
  const NodeState* n = impl_->find(id);
  return n != nullptr && n->present ? &n->spec : nullptr;
}

ClusterId Fleet::cluster_of(NodeId id) const {
  const NodeState* n = impl_->find(id);
  return n == nullptr ? ClusterId() : n->cluster;
}

bool Fleet::drained(NodeId id) const {
  const NodeState* n = impl_->find(id);
  return n != nullptr && n->drained;
}

std::uint64_t Fleet::description_version() const { return impl_->static_version; }

bool Fleet::takes_pods(NodeId id) const {
  const NodeState* n = impl_->find(id);
  return n != nullptr && n->open();
}

std::vector<NodeId> Fleet::nodes(ClusterId cluster) const {
  std::vector<NodeId> out;
  for (std::size_t i = 0; i < impl_->nodes.size(); ++i) {
    const auto& n = impl_->nodes[i];
    if (n && n->present && n->cluster == cluster) out.emplace_back(static_cast<NodeIndex>(i));
  }
  return out;
}

ProductId Fleet::product_of(NodeId id) const {
  const NodeState* n = impl_->find(id);
  return n == nullptr ? ProductId() : n->product;
}

ProductId Fleet::intern_product(std::string_view product) {
  if (product.empty()) return ProductId();
  const auto it = impl_->products_by_name.find(product);
  if (it != impl_->products_by_name.end()) return it->second;
  const ProductId id(static_cast<ProductId::rep>(impl_->products.size()));
  assert(id.value == impl_->products.size());
  impl_->products.emplace_back(product);
  impl_->products_by_name.emplace(product, id);
  impl_->note_slices(product);
  return id;
}

std::string_view Fleet::product_name(ProductId id) const {
  assert(id.value < impl_->products.size());
  return impl_->products[id.value];
}

ProductId Fleet::find_product(std::string_view product) const {
  const auto it = impl_->products_by_name.find(product);
  return it == impl_->products_by_name.end() ? ProductId() : it->second;
}

std::size_t Fleet::products() const { return impl_->products.size() - 1; }

std::uint64_t Fleet::freed_version() const { return impl_->freed + impl_->freed_for_non_gpu; }

std::uint64_t Fleet::freed_version(ShapeId shape) const {
  return impl_->freed + (impl_->shape(shape).non_gpu ? impl_->freed_for_non_gpu : 0);
}

std::uint64_t Fleet::totals_version() const { return impl_->totals_version; }

std::uint64_t Fleet::version() const { return impl_->log_end(); }

}  // namespace subak
