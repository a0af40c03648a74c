#include "placement/fleet/fleet.h"

#include "core/must.h"
#include "placement/fleet/fleet_impl.h"

namespace subak {

Fleet::Fleet() : impl_(std::make_unique<Impl>()) {}

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
  const std::size_t before = impl_->products.size();
  const ProductId id = impl_->products.intern(product);
  if (impl_->products.size() > before) impl_->costs.add_product(product);
  return id;
}

const Products& Fleet::products() const { return impl_->products; }

ShapeUse Fleet::use(ClusterId cluster, const GangRequest& request) {
  ShapeUse use = impl_->shapes.use(cluster, request);
  must(impl_->shape(use).cluster == cluster, "a shape is of the cluster that it was made for");
  return use;
}

const ShapeTable& Fleet::shapes() const { return impl_->shapes; }
const GangRequest& Fleet::request(ShapeId shape) const { return impl_->shape(shape).request(); }
std::shared_ptr<const GangRequest> Fleet::shared_request(ShapeId shape) const {
  return impl_->shape(shape).asked;
}
ClusterId Fleet::cluster_of(ShapeId shape) const { return impl_->shape(shape).cluster; }

const LeastCosts& Fleet::costs() const { return impl_->costs; }
MilliGpu Fleet::least_milligpu(ShapeId id) const { return costs().of_gang(impl_->shape(id)); }

void Fleet::back_off(NodeId id, const PodShape& pod) {
  if (!impl_->backoffs.add(id.value, pod)) return;
  impl_->changed(id.value);
  impl_->freed.add();  // jobs that wait for this node search again
}

void Fleet::end_backoff(NodeId id, const PodShape& pod) {
  if (!impl_->backoffs.end(id.value, pod)) return;
  impl_->changed(id.value);
  impl_->freed.add();
}

bool Fleet::is_backed_off(NodeId id, const PodShape& pod) const {
  return impl_->backoffs.contains(id.value, pod);
}

std::uint64_t Fleet::freed_version() const { return impl_->freed.get(true); }
std::uint64_t Fleet::freed_version(ShapeId shape) const {
  return impl_->freed.get(impl_->shape(shape).non_gpu);
}
std::uint64_t Fleet::description_version() const { return impl_->changes.descriptions(); }
std::uint64_t Fleet::version() const { return impl_->changes.end(); }

std::vector<ProductTotals> Fleet::totals() const { return impl_->totals.rows(); }
NodeLevels totals_of(const Fleet& fleet, ProductId product) {
  const Totals& totals = fleet.impl().totals;
  return product ? totals.of(fleet.products().name(product)) : totals.of_all();
}
std::uint64_t Fleet::totals_version() const { return impl_->totals.version(); }

}  // namespace subak
