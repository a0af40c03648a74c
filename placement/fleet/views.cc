// Lists for people and metrics.
#include <algorithm>

#include "model/mig.h"
#include "model/product.h"
#include "placement/fleet/fleet_impl.h"

namespace subak {
namespace {

MilliGpu free_on(const NodeState& n, GpuMask mask) {
  MilliGpu free = 0;
  for (std::size_t i = 0; n.open() && i < n.room.gpu_free.size(); ++i) {
    if ((mask >> i & 1) != 0) free += n.room.gpu_free[i];
  }
  return free;
}

void add_inner(std::vector<DomainRow>& rows, NodeId id, const NodeState& n) {
  const std::int64_t domains = inner_domains(n.spec);
  for (std::int64_t d = 0; d < domains; ++d) {
    const GpuMask mask = inner_domain_mask(n.spec, d);
    DomainRow row{n.cluster, domains > 1 ? "half-node" : "node", n.spec.name, {id}, 0, 0};
    if (domains > 1) row.name += '/' + std::to_string(d);
    for (GpuMask m = mask; m != 0; m &= m - 1) row.installed += kMilliPerGpu;
    row.free = free_on(n, mask);
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::vector<DomainRow> Fleet::domains(ClusterId cluster) const {
  std::vector<DomainRow> rows;
  for (const auto& group : impl_->domains) {
    if (!group || group->cluster != cluster || group->name.empty() || group->members.empty())
      continue;
    DomainRow row{cluster, "clique", group->name, {}, 0, 0};
    for (const NodeIndex m : group->members) {
      const NodeState& n = *impl_->nodes[m];
      row.nodes.emplace_back(m);
      row.installed += uncut_gpus(n.spec) * kMilliPerGpu;
      row.free += free_on(n, kAllGpus);
    }
    rows.push_back(std::move(row));
  }
  for (const NodeId id : nodes(cluster)) {
    const NodeState& n = impl_->at(id);
    const bool alone = n.spec.clique.empty();
    if (uncut_gpus(n.spec) > 0 && (alone || inner_domains(n.spec) > 1)) add_inner(rows, id, n);
  }
  return rows;
}

std::vector<MigRow> Fleet::mig(ClusterId cluster) const {
  std::vector<MigRow> rows;
  for (const NodeId id : nodes(cluster)) {
    const NodeState& n = impl_->at(id);
    for (const MigSlices& m : n.spec.mig) rows.push_back({id, m.profile, m.count, 0});
    for (const MigUse& u : n.load.mig_used) {
      if (u.slices == 0) continue;
      auto it = std::find_if(rows.begin(), rows.end(), [&](const MigRow& r) {
        return r.node == id && r.profile == u.profile;
      });
      if (it == rows.end()) it = rows.insert(it, {id, u.profile, 0, 0});
      it->used = u.slices;
    }
  }
  return rows;
}

std::int64_t Fleet::largest_node_gpus(ClusterId cluster, std::string_view product) const {
  const bool any = product.empty() || product == kAnyProduct;
  std::int64_t most = 0;
  for (const auto& n : impl_->nodes) {
    if (!n || !n->present || n->cluster != cluster) continue;
    if (any || base_product(n->spec.product) == base_product(product)) {
      most = std::max(most, n->spec.gpus);
    }
  }
  return most;
}

}  // namespace subak
