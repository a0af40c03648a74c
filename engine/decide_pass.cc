// One scheduling pass: the neediest first, each start visible to the next, nothing popped before it
// fits.
#include <algorithm>
#include <cassert>
#include <map>

#include "core/limits.h"
#include "engine/impl.h"

namespace subak {

void Turn::on(const in::Pass&) {
  s_.shape_cache.resize(s_.fleet.shapes() + 1);
  if (s_.tick) s_.tick->advance(s_.tree, s_.now);
  refresh_earmarks();
  start_awaited();
  const TargetShareRule rule;
  ReadyQueue::Pass pass(s_.ready, s_.tree, s_.policy.order, rule, s_.tick.get(), s_.now);
  for (ShapeId shape : s_.ready.waiting_shapes()) {
    const Cluster& cluster = s_.clusters.at(s_.fleet.cluster_of(shape));
    const bool known_blocked =
        s_.shape_cache[shape.value].blocked_at == s_.fleet.freed_version() + 1;
    if (!cluster.synced || known_blocked) pass.block_shape(shape);
  }
  std::size_t starts = 0;
  for (std::size_t checks = 0; checks < limits::kMaxFitChecksPerPass; ++checks) {
    if (starts == limits::kMaxStartsPerPass) {
      s_.dirty = true;
      return;
    }
    const auto next = pass.next();
    if (!next) {
      s_.dirty = false;  // what could start has started; starts themselves free nothing
      return;
    }
    if (try_start(*s_.find_job(*next), &pass)) ++starts;
  }
  s_.dirty = true;
}

bool Turn::try_start(const Job& job, ReadyQueue::Pass* pass) {
  const MilliGpu least = s_.least_milligpu(job);
  if (const AccountId full = s_.tree.first_over_limit(job.leaf, ProductId(), least)) {
    if (pass != nullptr) pass->block_account(full, least);
    return false;
  }
  auto placement = s_.search.find(Picture(s_.fleet, s_.kept_nodes), job.shape, job.id);
  if (!placement) {
    if (pass == nullptr) return false;
    s_.shape_cache[job.shape.value].blocked_at = s_.fleet.freed_version() + 1;
    pass->block_shape(job.shape);
    await(job);
    return false;
  }
  if (over_limit(job, *placement)) {
    if (pass != nullptr) pass->block_job(job.id);
    return false;
  }
  const JobId id = job.id;
  const AccountId leaf = job.leaf;
  reserve(job, std::move(*placement));
  if (pass != nullptr) pass->started(id, leaf);
  return true;
}

// The exact check, product by product, once the place is known.
AccountId Turn::over_limit(const Job& job, const Placement& placement) const {
  std::map<ProductId, MilliGpu> amounts;
  MilliGpu total = 0;
  for (const PodSlot& slot : placement.slots) {
    amounts[s_.fleet.product_of(slot.node)] += slot.milligpu;
    total += slot.milligpu;
  }
  if (const AccountId full = s_.tree.first_over_limit(job.leaf, ProductId(), total)) return full;
  for (const auto& [product, amount] : amounts) {
    if (amount == 0) continue;
    if (const AccountId full = s_.tree.first_over_limit(job.leaf, product, amount)) return full;
  }
  return AccountId();
}

void Turn::reserve(const Job& job, Placement placement) {
  fact::JobReserved reserved;
  reserved.id = job.id;
  reserved.attempt = job.attempt + 1;
  reserved.until_ms = s_.now + s_.policy.hold_ms;
  reserved.slots = std::move(placement.slots);
  emit(std::move(reserved));
  if (auto effect = s_.effect_of(job)) out_.effects.push_back(std::move(*effect));
}

// --- patience: nodes kept free for the neediest job that does not fit
// ---------------------------------

void Turn::refresh_earmarks() {
  if (s_.earmark_at == s_.fleet.freed_version() + 1) return;
  std::vector<NodeId> wanted;
  s_.kept_nodes.clear();
  for (const auto& [id, cluster] : s_.clusters) {
    if (!cluster.awaited) continue;
    const ShapeId shape = s_.find_job(cluster.awaited)->shape;
    const std::vector<NodeId> nodes = s_.search.drain_set(Picture(s_.fleet, s_.kept_nodes), shape);
    s_.kept_nodes.keep(nodes, cluster.awaited);
    wanted.insert(wanted.end(), nodes.begin(), nodes.end());
  }
  if (wanted != s_.earmarked) s_.shape_cache.assign(s_.shape_cache.size(), {});
  s_.earmarked = std::move(wanted);
  s_.earmark_at = s_.fleet.freed_version() + 1;
}

void Turn::start_awaited() {
  for (const auto& [id, cluster] : std::map(s_.clusters)) {
    const Job* job = cluster.awaited ? s_.find_job(cluster.awaited) : nullptr;
    if (job == nullptr || s_.tree.first_held(job->leaf)) continue;
    if (cluster.synced && try_start(*job, nullptr)) {
      s_.earmark_at = 0;
      refresh_earmarks();
    }
  }
}

// `job` was the neediest and did not fit. Once it has waited long enough, smaller ones behind it no
// longer take the nodes that it waits for. One such job per cluster.
void Turn::await(const Job& job) {
  Cluster& cluster = s_.clusters.at(job.id.cluster());
  const bool waited = s_.policy.patience_ms > 0 && s_.now - job.submit_ms >= s_.policy.patience_ms;
  if (cluster.awaited || !waited || !s_.search.fits_empty_fleet(job.shape)) return;
  if (s_.search.drain_set(Picture(s_.fleet, s_.kept_nodes), job.shape).empty()) return;
  const JobId id = job.id;
  emit(fact::Awaited{cluster.id, id});
  s_.earmark_at = 0;
  refresh_earmarks();
}

}  // namespace subak
