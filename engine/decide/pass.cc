// One scheduling pass: the neediest first, each start visible to the next, nothing popped before it
// fits.
#include <optional>
#include <utility>
#include <vector>

#include "accounting/entitlement.h"
#include "core/limits.h"
#include "engine/decide/decide.h"
#include "engine/derive/entitled_place.h"

namespace subak::decide {
namespace {

// What is remembered is of the fleet at this point; never 0.
std::uint64_t freed_point(const Decision& d) { return d.s.fleet().freed_version() + 1; }

using derive::amounts_of;
using Found = derive::EntitledPlace;

Found find_entitled(Decision& d, const state::Job& job, const KeptNodes& kept) {
  return derive::find_entitled(d.s, d.search, Picture(d.s.fleet(), kept), job);
}

// What stops the job whatever place it may find.
std::optional<Binding> stopped(const Decision& d, const state::Job& job, Asking asking) {
  const ProductDemand least{d.s.jobs().only_product(d.s.fleet().request(job.shape)),
                            d.s.jobs().least_milligpu(job)};
  return first_binding(d.s.tree(), {job.leaf, {&least, 1}}, asking);
}

void start(Decision& d, JobId id, Placement placement) {
  fact::AttemptStarted started;
  started.id = id;
  const state::Job& job = d.s.jobs().at(id);
  started.attempt = job.attempt + 1;
  const bool late = std::any_of(job.pods.begin(), job.pods.end(),
                                [](const state::Pod& pod) { return pod.is_expected(); });
  const DurationMs hold_ms = d.s.policy().hold_ms;
  started.until_ms = d.s.now() + (late ? std::max(hold_ms, limits::kLateMembersMs) : hold_ms);
  started.slots = std::move(placement.slots);
  d.emit(std::move(started));
  d.act_on(id);
}

// --- patience: nodes kept free for the neediest job that does not fit ----------------------------

bool has_waited(const Decision& d, const state::Job& job) {
  const DurationMs patience_ms = d.s.policy().patience_ms;
  return patience_ms > 0 && d.s.now() - job.submit_ms >= patience_ms;
}

// A job that its account's rules stop waits for no nodes, nor one that is to have no patience any
// more: it is no longer awaited. True if there was one.
bool forget_stopped(Decision& d) {
  bool any = false;
  for (const JobId id : derive::awaited(d.s)) {
    const state::Job& job = d.s.jobs().at(id);
    if (has_waited(d, job) && !stopped(d, job, Asking::kStart)) continue;
    d.emit(fact::Awaited{id.cluster(), JobId()});
    any = true;
  }
  return any;
}

// Where other nodes are kept, what had no place may have one.
void forget_blocked(PassMemory& memory, bool other_nodes) {
  if (!other_nodes) return;
  memory.blocked.assign(memory.blocked.size(), {});
  memory.blocked_for_all.assign(memory.blocked_for_all.size(), {});
}

// `job` was the neediest and did not fit. Once it has waited long enough, smaller ones behind it no
// longer take the nodes that it waits for. One such job per cluster.
void await(Decision& d, const state::Job& job, PassMemory& memory) {
  const state::Cluster& cluster = d.s.clusters().at(job.id.cluster());
  if (cluster.awaited || !has_waited(d, job) || !d.search.fits_empty_fleet(job.shape)) return;
  if (d.search.drain_set(Picture(d.s.fleet(), memory.kept.nodes), job.shape).empty()) return;
  d.emit(fact::Awaited{cluster.id, job.id});
  forget_blocked(memory, derive::choose(d.s, d.search, memory.kept));
}

// Out of their turn, since nodes are kept for them. True if one started.
bool start_awaited(Decision& d, PassMemory& memory) {
  bool any = false;
  for (const JobId id : derive::awaited(d.s)) {
    if (!d.s.clusters().at(id.cluster()).synced) continue;
    Found found = find_entitled(d, d.s.jobs().at(id), memory.kept.nodes);
    if (!found.placement) continue;
    start(d, id, *std::move(found.placement));
    forget_blocked(memory, derive::choose(d.s, d.search, memory.kept));
    any = true;
  }
  return any;
}

// --- the walk ------------------------------------------------------------------------------------

bool is_blocked(const Decision& d, const PassMemory::BlockedShapes& blocked, ShapeId shape) {
  const PassMemory::Blocked& known = blocked[shape.value];
  return known.at == freed_point(d) && known.serial == d.s.fleet().serial(shape);
}

void note_blocked(const Decision& d, PassMemory::BlockedShapes& blocked, ShapeId shape) {
  blocked[shape.value] = {d.s.fleet().serial(shape), freed_point(d)};
}

// What one pass has done: bounded by counts, never by the clock.
struct Work {
  std::size_t starts = 0, checks = 0;
  bool enough() const {
    return starts >= limits::kMaxStartsPerPass || checks >= limits::kMaxFitChecksPerPass;
  }
};

// One walk down the account tree, with what is known to be blocked.
class Walk {
 public:
  Walk(Decision& d, PassMemory& memory, PassMemory::BlockedShapes& blocked)
      : d_(d),
        memory_(memory),
        blocked_(blocked),
        pass_(d.s.jobs().ready(), d.s.tree(), d.s.policy().order, rule_, d.s.allocations().tick(),
              d.s.now()) {
    for (const ShapeId shape : d.s.jobs().ready().waiting_shapes()) {
      if (is_blocked(d, blocked, shape) ||
          !d.s.clusters().at(d.s.fleet().cluster_of(shape)).synced) {
        pass_.block_shape(shape);
      } else {
        open_.push_back(shape);
      }
    }
    const PassMemory::Point point{freed_point(d), d.s.tree().structure_version(),
                                  memory.kept.nodes.version()};
    if (memory.barred_at != point) memory.barred.clear();
    memory.barred_at = point;
    for (const PassMemory::Barred& barred : memory.barred) apply(barred);
  }

  std::optional<JobId> next() { return pass_.next(); }
  void started(JobId id, AccountId leaf) { pass_.started(id, leaf); }
  void no_place(ShapeId shape) {
    note_blocked(d_, blocked_, shape);
    pass_.block_shape(shape);
  }
  // What is freed now and then fits few shapes, and each shape that is asked in its turn costs a way
  // through the order. So when one has no place, the others are tried until one has. Who has waited
  // long enough for nodes to be kept is asked in its turn.
  void block_others(Work& work) {
    const Picture picture(d_.s.fleet(), memory_.kept.nodes);
    for (; !open_.empty() && !work.enough(); open_.pop_back()) {
      const ShapeId shape = open_.back();
      if (is_blocked(d_, blocked_, shape)) continue;
      const auto oldest = d_.s.jobs().ready().oldest(shape);
      if (!oldest || has_waited(d_, d_.s.jobs().at(*oldest))) continue;
      ++work.checks;
      if (d_.search.find(picture, shape, JobId())) return;
      no_place(shape);
    }
  }
  void pass_over(JobId id) { pass_.block_line(id); }  // in this walk
  // What stops one job of a leaf with a shape stops them all.
  void bar_line(JobId id) { bar({id, serial_of(id), AccountId(), 0}); }
  // True, and noted: a rule stops the job whatever place it may find.
  bool bar_if_stopped(const state::Job& job) {
    const auto binding = stopped(d_, job, Asking::kAmounts);
    if (!binding) return false;
    if (binding->any_product) {
      bar({JobId(), 0, binding->subject, binding->need});
    } else {
      bar_line(job.id);
    }
    return true;
  }

 private:
  void bar(const PassMemory::Barred& barred) {
    memory_.barred.push_back(barred);
    apply(barred);
  }
  void apply(const PassMemory::Barred& barred) {
    if (barred.account) return pass_.block_account(barred.account, barred.least);
    const bool waits = d_.s.jobs().ready().contains(barred.line);
    if (waits && serial_of(barred.line) == barred.serial) pass_.block_line(barred.line);
  }
  std::uint64_t serial_of(JobId id) const { return d_.s.fleet().serial(d_.s.jobs().at(id).shape); }

  Decision& d_;
  PassMemory& memory_;
  PassMemory::BlockedShapes& blocked_;
  std::vector<ShapeId> open_;  // not known to be blocked when the walk began
  const TargetShareRule rule_;
  ReadyQueue::Pass pass_;
};

// The next in the order. False: it cannot start, and the walk was told what else cannot.
bool try_start(Decision& d, JobId id, Walk& walk, PassMemory& memory, Work& work) {
  const state::Job& job = d.s.jobs().at(id);
  const AccountId leaf = job.leaf;
  if (walk.bar_if_stopped(job)) return false;
  Found found = find_entitled(d, job, memory.kept.nodes);
  if (found.placement) {
    start(d, id, *std::move(found.placement));
    walk.started(id, leaf);
    return true;
  }
  if (found.barred) {
    walk.bar_line(id);
    return false;
  }
  walk.no_place(job.shape);
  await(d, job, memory);
  walk.block_others(work);
  return false;
}

// Nodes that are kept for a job beyond its quota are not kept from jobs within theirs, which come
// first in the order: they start here.
void start_entitled(Decision& d, PassMemory& memory, Work& work) {
  if (memory.kept.ids.empty() || d.s.policy().order != OrderPolicy::kTargetShare) return;
  const KeptNodes firm = derive::firm_part(d.s, memory.kept.nodes, memory.kept.ids);
  Walk walk(d, memory, memory.blocked_for_all);
  bool any = false;
  for (; !work.enough(); ++work.checks) {
    const auto next = walk.next();
    if (!next || !derive::is_within_quota(d.s, d.s.jobs().at(*next))) break;
    const state::Job& job = d.s.jobs().at(*next);
    const AccountId leaf = job.leaf;
    if (walk.bar_if_stopped(job)) continue;
    Found found = find_entitled(d, job, firm);
    if (!found.placement && !found.barred) {
      note_blocked(d, memory.blocked, job.shape);
      walk.no_place(job.shape);
    } else if (!found.placement ||
               !within_quota(d.s.tree(), {leaf, amounts_of(d.s, *found.placement)})) {
      walk.pass_over(*next);
    } else {
      start(d, *next, *std::move(found.placement));
      walk.started(*next, leaf);
      ++work.starts;
      any = true;
    }
  }
  if (any) forget_blocked(memory, derive::choose(d.s, d.search, memory.kept));
}

enum class Walked { kAll, kEnough, kAgain };

// Starts what can start. kAgain: a start stopped a job that was awaited, and others may have its
// nodes.
Walked start_all(Decision& d, PassMemory& memory, Work& work) {
  Walk walk(d, memory, memory.blocked);
  for (; !work.enough(); ++work.checks) {
    const auto next = walk.next();
    if (!next) return Walked::kAll;
    if (!try_start(d, *next, walk, memory, work)) continue;
    ++work.starts;
    if (!memory.kept.awaited.empty() && forget_stopped(d)) return Walked::kAgain;
  }
  return Walked::kEnough;
}

}  // namespace

void decide(Decision& d, const in::Pass& /*i*/, PassMemory& memory) {
  memory.blocked.resize(d.s.fleet().shape_numbers() + 1);
  memory.blocked_for_all.resize(d.s.fleet().shape_numbers() + 1);
  Work work;
  Walked walked = Walked::kAgain;
  while (walked == Walked::kAgain) {
    do {
      forget_stopped(d);
      forget_blocked(memory, derive::refresh(d.s, d.search, memory.kept));
    } while (start_awaited(d, memory));
    start_entitled(d, memory, work);
    walked = start_all(d, memory, work);
  }
  d.tell(note::PassDue{walked != Walked::kAll});  // starts themselves free nothing
}

}  // namespace subak::decide
