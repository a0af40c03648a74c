// evolve() for clusters, nodes, accounts, policy and the books.
#include <cassert>

#include "core/limits.h"
#include "engine/impl.h"

namespace subak {

void Engine::Impl::on(const fact::ClusterSet& f) {
  Cluster& cluster = clusters[f.id];
  cluster.id = f.id;
  cluster.name = f.name;
  cluster.mode = f.mode;
  cluster.namespaces = f.namespaces;
  dirty = true;
}

void Engine::Impl::on(const fact::ClusterRemoved& f) {
  removed_clusters[f.id] = clusters.at(f.id).name;
  clusters.erase(f.id);
  lists.erase(f.id);
  dirty = true;
}

void Engine::Impl::on(const fact::ClusterSynced& f) {
  Cluster& cluster = clusters.at(f.id);
  cluster.synced = f.synced;
  cluster.owned = f.owned;
  dirty = true;
}

void Engine::Impl::on(const fact::NodeSet& f) {
  if (node_ids.empty() && !restoring) billed_until = now - now % kDayMs;
  node_ids[{f.cluster, f.spec.name}] = f.id;
  last_node = std::max(last_node, f.id);
  const ProductId before = fleet.node(f.id) != nullptr ? fleet.product_of(f.id) : ProductId();
  fleet.set_node(f.id, f.cluster, f.spec, f.drained, now);
  relabel(f.id, before);
  ++nodes_version;
  dirty = true;
}

void Engine::Impl::on(const fact::NodeRemoved& f) {
  const NodeSpec* spec = fleet.node(f.id);
  assert(spec != nullptr && on_node.find(f.id) == on_node.end());
  node_ids.erase({fleet.cluster_of(f.id), spec->name});
  fleet.remove_node(f.id, now);
  ledger.drop_node(f.id);
  ++nodes_version;
  dirty = true;
}

// The half-life is part of every meter, so it may change only while all of them are empty (the
// decision has checked that).
void Engine::Impl::on(const fact::PolicySet& f) {
  if (f.policy.half_life_ms != tree.clock().half_life_ms()) {
    tree.restart_meters(f.policy.half_life_ms, now);
  }
  policy = f.policy;
  tick.reset();
  if (policy.order == OrderPolicy::kUsageTick) {
    tick = std::make_unique<UsageTick>(policy.half_life_ms, policy.tick_ms, policy.tick_charge_end,
                                       now);
  }
  dirty = true;
}

void Engine::Impl::on(const fact::Finalized& f) {
  fact_version = f.version;
  remember(f.edit, {now, JobId(), AccountId(), f.version});
}

void Engine::Impl::on(const fact::AccountSet& f) {
  tree.set(f.id, f.spec, f.revision, now, intern(f.spec.quota), intern(f.spec.limit));
  remember(f.edit, {now, JobId(), f.id, f.revision});
  dirty = true;
}

void Engine::Impl::on(const fact::AccountDeleted& f) {
  if (restoring) return tree.restore_removed(f.id, f.parent, f.spec, f.revision);
  tree.remove(f.id, now);
  remember(f.edit, {now, JobId(), f.id, 0});
  dirty = true;
}

void Engine::Impl::on(const fact::Charged& f) {
  ledger.add(f.row);
  Job* job = find_job(f.row.allocation.job);
  assert(job != nullptr && f.row.allocation.rank < job->pods.size());
  job->pods[f.row.allocation.rank].since_ms = f.row.to_ms;
}

void Engine::Impl::on(const fact::Awaited& f) {
  clusters.at(f.cluster).awaited = f.job;
  dirty = true;
}

// The capacity side of one node's bill, as it is written down.
fact::NodeBilled Engine::Impl::billed(NodeId id, TimeMs as_of) const {
  const NodeBooks b = fleet.books(id, as_of);
  return {id,
          as_of,
          StoredGpuTime::of(b.installed),
          StoredGpuTime::of(b.allocated),
          StoredGpuTime::of(b.idle),
          StoredGpuTime::of(b.stranded),
          StoredGpuTime::of(b.unusable)};
}

void Engine::Impl::on(const fact::NodeBilled& f) {
  if (restoring) {
    fleet.restore_books(
        f.node,
        {f.installed.get(), f.allocated.get(), f.idle.get(), f.stranded.get(), f.unusable.get()},
        f.as_of_ms);
  }
  billed_until = std::max(billed_until, f.as_of_ms - f.as_of_ms % kDayMs);
}

void Engine::Impl::on(const fact::ClockAccepted& f) {
  now = std::max(now, f.after_ms);
  fact_ms = std::max(fact_ms, f.after_ms);
  remember(f.edit, {now, JobId(), AccountId(), f.after_ms});
}

// Facts of before ids were bound have no content, and their checkpoints no actor: such an id
// belongs to nobody, and no call meets it.
void Engine::Impl::remember(const EditStamp& edit, RememberedRequest request) {
  if (edit.request_id.empty()) return;
  request.content = edit.content;
  const std::string_view actor = edit.content == 0 ? std::string_view() : edit.actor;
  requests.add({actor, edit.method, edit.request_id}, request);
}

}  // namespace subak
