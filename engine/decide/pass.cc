// One scheduling pass: the neediest first, each start visible to the next, nothing popped before it
// fits.
#include <algorithm>
#include <map>
#include <utility>

#include "core/limits.h"
#include "engine/decide/decide.h"

namespace subak::decide {
namespace {

// What is remembered is of the fleet at this point; never 0.
std::uint64_t freed_point(const Decision& d) { return d.s.fleet().freed_version() + 1; }

// The exact check, product by product, once the place is known. None: it may start.
AccountId over_limit(const Decision& d, const state::Job& job, const Placement& placement) {
  std::map<ProductId, MilliGpu> amounts;
  MilliGpu total = 0;
  for (const PodSlot& slot : placement.slots) {
    amounts[d.s.fleet().product_of(slot.node)] += slot.milligpu;
    total += slot.milligpu;
  }
  const AccountTree& tree = d.s.tree();
  if (const AccountId full = tree.first_over_limit(job.leaf, ProductId(), total)) return full;
  for (const auto& [product, amount] : amounts) {
    if (amount == 0) continue;
    if (const AccountId full = tree.first_over_limit(job.leaf, product, amount)) return full;
  }
  return AccountId();
}

void reserve(Decision& d, JobId id, Placement placement) {
  fact::JobReserved reserved;
  reserved.id = id;
  reserved.attempt = d.s.jobs().at(id).attempt + 1;
  reserved.until_ms = d.s.now() + d.s.policy().hold_ms;
  reserved.slots = std::move(placement.slots);
  d.emit(std::move(reserved));
  d.effect_of(d.s.jobs().at(id));
}

// --- patience: nodes kept free for the neediest job that does not fit ----------------------------

void keep_nodes(Decision& d, PassMemory& memory) {
  if (memory.kept_at == freed_point(d)) return;
  std::vector<NodeId> wanted;
  note::NodesKept kept;
  d.tell(kept);  // what was kept stands in nobody's way when it is chosen anew
  for (const auto& [id, cluster] : d.s.clusters().all()) {
    if (!cluster.awaited) continue;
    const std::vector<NodeId> nodes = d.s.fleet().drain_set(d.s.jobs().at(cluster.awaited).shape);
    wanted.insert(wanted.end(), nodes.begin(), nodes.end());
    kept.nodes.emplace_back(cluster.awaited, nodes);
  }
  d.tell(std::move(kept));
  if (wanted != memory.kept) memory.blocked_at.assign(memory.blocked_at.size(), 0);
  memory.kept = std::move(wanted);
  memory.kept_at = freed_point(d);
}

void keep_other_nodes(Decision& d, PassMemory& memory) {
  memory.kept_at = 0;
  keep_nodes(d, memory);
}

// `job` was the neediest and did not fit. Once it has waited long enough, smaller ones behind it no
// longer take the nodes that it waits for. One such job per cluster.
void await(Decision& d, const state::Job& job, PassMemory& memory) {
  const state::Cluster& cluster = d.s.clusters().at(job.id.cluster());
  const DurationMs patience_ms = d.s.policy().patience_ms;
  const bool waited = patience_ms > 0 && d.s.now() - job.submit_ms >= patience_ms;
  if (cluster.awaited || !waited || !d.s.fleet().fits_empty_fleet(job.shape)) return;
  if (d.s.fleet().drain_set(job.shape).empty()) return;
  d.emit(fact::Awaited{cluster.id, job.id});
  keep_other_nodes(d, memory);
}

// `pass` is told what stands in the way; null: the job is tried out of its turn.
bool try_start(Decision& d, JobId id, ReadyQueue::Pass* pass, PassMemory& memory) {
  const state::Job& job = d.s.jobs().at(id);
  const MilliGpu least = d.s.jobs().least_milligpu(job);
  if (const AccountId full = d.s.tree().first_over_limit(job.leaf, ProductId(), least)) {
    if (pass != nullptr) pass->block_account(full, least);
    return false;
  }
  auto placement = d.s.fleet().find(job.shape, id);
  if (!placement) {
    if (pass == nullptr) return false;
    memory.blocked_at[job.shape.value] = freed_point(d);
    pass->block_shape(job.shape);
    await(d, job, memory);
    return false;
  }
  if (over_limit(d, job, *placement)) {
    if (pass != nullptr) pass->block_job(id);
    return false;
  }
  const AccountId leaf = job.leaf;
  reserve(d, id, std::move(*placement));
  if (pass != nullptr) pass->started(id, leaf);
  return true;
}

void start_awaited(Decision& d, PassMemory& memory) {
  for (const auto& [id, cluster] : std::map(d.s.clusters().all())) {
    const state::Job* const job = cluster.awaited ? d.s.jobs().find(cluster.awaited) : nullptr;
    if (job == nullptr || !cluster.synced || d.s.tree().first_held(job->leaf)) continue;
    if (try_start(d, cluster.awaited, nullptr, memory)) keep_other_nodes(d, memory);
  }
}

// Starts what can start. False: it stopped at a limit, and there may be more.
bool start_all(Decision& d, PassMemory& memory) {
  const TargetShareRule rule;
  ReadyQueue::Pass pass(d.s.jobs().ready(), d.s.tree(), d.s.policy().order, rule,
                        d.s.allocations().tick(), d.s.now());
  for (ShapeId shape : d.s.jobs().ready().waiting_shapes()) {
    const bool blocked = memory.blocked_at[shape.value] == freed_point(d);
    if (blocked || !d.s.clusters().at(d.s.fleet().cluster_of(shape)).synced) {
      pass.block_shape(shape);
    }
  }
  std::size_t starts = 0;
  for (std::size_t checks = 0; checks < limits::kMaxFitChecksPerPass; ++checks) {
    if (starts == limits::kMaxStartsPerPass) return false;
    const auto next = pass.next();
    if (!next) return true;
    if (try_start(d, *next, &pass, memory)) ++starts;
  }
  return false;
}

}  // namespace

void decide(Decision& d, const in::Pass& /*i*/, PassMemory& memory) {
  memory.blocked_at.resize(d.s.fleet().shapes() + 1);
  keep_nodes(d, memory);
  start_awaited(d, memory);
  const bool all = start_all(d, memory);
  d.tell(note::PassDue{!all});  // starts themselves free nothing
}

}  // namespace subak::decide
