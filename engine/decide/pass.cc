// One scheduling pass: the neediest first, each start visible to the next, nothing popped before it
// fits.
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "accounting/entitlement.h"
#include "core/limits.h"
#include "engine/decide/decide.h"

namespace subak::decide {
namespace {

// What is remembered is of the fleet at this point; never 0.
std::uint64_t freed_point(const Decision& d) { return d.s.fleet().freed_version() + 1; }

using Amounts = std::vector<ProductDemand>;  // by product

// What stops the job whatever place it may find.
std::optional<Binding> stopped(const Decision& d, const state::Job& job, Asking asking) {
  const ProductDemand least{ProductId(), d.s.jobs().least_milligpu(job)};
  return first_binding(d.s.tree(), {job.leaf, {&least, 1}}, asking);
}

Amounts amounts_of(const Decision& d, const Placement& placement) {
  std::map<ProductId, MilliGpu> sums;
  for (const PodSlot& slot : placement.slots) {
    if (slot.milligpu > 0) sums[d.s.fleet().product_of(slot.node)] += slot.milligpu;
  }
  return {sums.begin(), sums.end()};
}

// The place and what is paid for it are judged together: where the best place is on a product that
// a rule bars, the next best product is tried.
struct Found {
  std::optional<Placement> placement;
  bool barred = false;  // there was a place, and a rule against it
};

Found find_entitled(Decision& d, const state::Job& job, const PassMemory& memory) {
  const Picture picture(d.s.fleet(), memory.kept.nodes);
  Found found;
  found.placement = d.search.find(picture, job.shape, job.id);
  std::vector<ProductId> barred;
  while (found.placement) {
    const Amounts amounts = amounts_of(d, *found.placement);
    const auto binding = first_binding(d.s.tree(), {job.leaf, amounts}, Asking::kAmounts);
    if (!binding) return found;
    found = {std::nullopt, true};
    if (binding->any_product) return found;
    for (const auto& [product, amount] : amounts) {
      if (!binding->product || binding->product == product) barred.push_back(product);
    }
    found.placement = d.search.find(picture, job.shape, job.id, barred);
  }
  return found;
}

void start(Decision& d, JobId id, Placement placement) {
  fact::AttemptStarted started;
  started.id = id;
  started.attempt = d.s.jobs().at(id).attempt + 1;
  started.until_ms = d.s.now() + d.s.policy().hold_ms;
  started.slots = std::move(placement.slots);
  d.emit(std::move(started));
  d.effect_of(d.s.jobs().at(id));
}

// --- patience: nodes kept free for the neediest job that does not fit ----------------------------

// A job that its account's rules stop waits for no nodes: it is no longer awaited.
void forget_stopped(Decision& d) {
  for (const JobId id : derive::awaited(d.s)) {
    if (stopped(d, d.s.jobs().at(id), Asking::kStart)) {
      d.emit(fact::Awaited{id.cluster(), JobId()});
    }
  }
}

// Where other nodes are kept, what had no place may have one.
void forget_blocked(PassMemory& memory, bool other_nodes) {
  if (other_nodes) memory.blocked.assign(memory.blocked.size(), {});
}

// `job` was the neediest and did not fit. Once it has waited long enough, smaller ones behind it no
// longer take the nodes that it waits for. One such job per cluster.
void await(Decision& d, const state::Job& job, PassMemory& memory) {
  const state::Cluster& cluster = d.s.clusters().at(job.id.cluster());
  const DurationMs patience_ms = d.s.policy().patience_ms;
  const bool waited = patience_ms > 0 && d.s.now() - job.submit_ms >= patience_ms;
  if (cluster.awaited || !waited || !d.search.fits_empty_fleet(job.shape)) return;
  if (d.search.drain_set(Picture(d.s.fleet(), memory.kept.nodes), job.shape).empty()) return;
  d.emit(fact::Awaited{cluster.id, job.id});
  forget_blocked(memory, derive::choose(d.s, d.search, memory.kept));
}

// The next in the order. False: it cannot start, and the pass was told what else cannot.
bool try_start(Decision& d, JobId id, ReadyQueue::Pass& pass, PassMemory& memory) {
  const state::Job& job = d.s.jobs().at(id);
  const AccountId leaf = job.leaf;
  if (const auto binding = stopped(d, job, Asking::kAmounts)) {
    pass.block_account(binding->subject, binding->need);
    return false;
  }
  Found found = find_entitled(d, job, memory);
  if (found.placement) {
    start(d, id, *std::move(found.placement));
    pass.started(id, leaf);
    return true;
  }
  if (found.barred) {
    pass.block_line(id);
    return false;
  }
  memory.blocked[job.shape.id().value] = {d.s.fleet().serial(job.shape), freed_point(d)};
  pass.block_shape(job.shape);
  await(d, job, memory);
  return false;
}

// Out of their turn, since nodes are kept for them.
void start_awaited(Decision& d, PassMemory& memory) {
  for (const JobId id : derive::awaited(d.s)) {
    if (!d.s.clusters().at(id.cluster()).synced) continue;
    Found found = find_entitled(d, d.s.jobs().at(id), memory);
    if (!found.placement) continue;
    start(d, id, *std::move(found.placement));
    forget_blocked(memory, derive::choose(d.s, d.search, memory.kept));
  }
}

// Starts what can start. False: it stopped at a limit, and there may be more.
bool start_all(Decision& d, PassMemory& memory) {
  const TargetShareRule rule;
  ReadyQueue::Pass pass(d.s.jobs().ready(), d.s.tree(), d.s.policy().order, rule,
                        d.s.allocations().tick(), d.s.now());
  for (ShapeId shape : d.s.jobs().ready().waiting_shapes()) {
    const PassMemory::Blocked& known = memory.blocked[shape.value];
    const bool blocked = known.at == freed_point(d) && known.serial == d.s.fleet().serial(shape);
    if (blocked || !d.s.clusters().at(d.s.fleet().cluster_of(shape)).synced) {
      pass.block_shape(shape);
    }
  }
  std::size_t starts = 0;
  for (std::size_t checks = 0; checks < limits::kMaxFitChecksPerPass; ++checks) {
    if (starts == limits::kMaxStartsPerPass) return false;
    const auto next = pass.next();
    if (!next) return true;
    if (try_start(d, *next, pass, memory)) ++starts;
  }
  return false;
}

}  // namespace

void decide(Decision& d, const in::Pass& /*i*/, PassMemory& memory) {
  memory.blocked.resize(d.s.fleet().shape_numbers() + 1);
  forget_stopped(d);
  forget_blocked(memory, derive::refresh(d.s, d.search, memory.kept));
  start_awaited(d, memory);
  const bool all = start_all(d, memory);
  d.tell(note::PassDue{!all});  // starts themselves free nothing
}

}  // namespace subak::decide
