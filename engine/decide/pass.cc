// One scheduling pass: the neediest first, each start visible to the next, nothing popped before it
// fits.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "accounting/entitlement.h"
#include "core/limits.h"
#include "engine/decide/decide.h"
#include "engine/decide/reservations.h"
#include "engine/derive/entitled_place.h"
#include "engine/derive/reservations.h"

namespace subak::decide {
namespace {

// What is remembered is of the fleet at this point; never 0. Of one shape it may hold for longer.
std::uint64_t freed_point(const Decision& d) { return d.s.fleet().freed_version() + 1; }
std::uint64_t freed_point(const Decision& d, ShapeId shape) {
  return d.s.fleet().freed_version(shape) + 1;
}

using derive::amounts_of;
using Found = derive::EntitledPlace;

Found find_entitled(Decision& d, const state::Job& job, const KeptNodes& kept) {
  return derive::find_entitled(d.s, d.search, kept, job);
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

// --- nodes that are kept -------------------------------------------------------------------------

// Where other nodes are kept, what had no place may have one.
void forget_blocked(const Decision& d, PassMemory& memory) {
  if (memory.kept_at != d.s.kept().version()) {
    memory.blocked.clear();
    memory.blocked_for_all.clear();
    memory.blocked_for_fill.clear();
    memory.kept_at = d.s.kept().version();
  }
  const std::size_t numbers = d.s.fleet().shape_numbers() + 1;
  memory.blocked.resize(numbers);
  memory.blocked_for_all.resize(numbers);
  memory.blocked_for_fill.resize(numbers);
}

// A place on the nodes that are kept for the job, and nowhere else.
Found find_on_kept(Decision& d, const state::Reservation& r, const state::Job& job) {
  KeptNodes kept = derive::draining_before(d.s, d.s.sure_end(job));
  kept.keep(r.nodes, r.job);
  derive::keep_for_others(d.s, r.job, kept);
  const JobId nobody(r.job.cluster(), 0);
  kept.keep(d.s.fleet().nodes(r.job.cluster()), nobody);
  return find_entitled(d, job, kept);
}

// Enough is idle there. Most of the time something is held, and one look at it says no.
bool could_fit(const Decision& d, const state::Reservation& r, const state::Job& job) {
  const MilliGpu of_node = d.search.largest_node_gpus() * kMilliPerGpu;
  MilliGpu most = static_cast<MilliGpu>(r.nodes.size()) * of_node;  // idle, as far as was looked
  for (const NodeId node : r.nodes) {
    most -= of_node - d.s.fleet().levels(node).idle;
    if (most < d.s.jobs().least_milligpu(job)) return false;
  }
  return true;
}

// Out of their turn, as the nodes are theirs. Others may have those of them that are left over.
bool start_reserved(Decision& d) {
  bool any = false;
  for (const state::Reservation& r : all_reservations(d)) {
    const state::Job& job = d.s.jobs().at(r.job);
    if (!d.s.clusters().at(r.job.cluster()).synced) continue;
    Found found;
    if (could_fit(d, r, job)) found = find_on_kept(d, r, job);
    if (found.placement) {
      start(d, r.job, *std::move(found.placement));
      any = true;
    } else if (!derive::FreeFor(d.s, job, r.start_ms).is_held(r.nodes)) {
      give_up_in_vain(d, r, found.barred.has_value());
    }
  }
  return any;
}

// --- the walk ------------------------------------------------------------------------------------

// It is known that the shape has no place; what it is known of is that of the picture.
bool is_blocked(const Decision& d, const PassMemory::BlockedShapes& blocked, ShapeId shape) {
  const PassMemory::Blocked& known = blocked[shape.value];
  return known.at == freed_point(d, shape) && known.serial == d.s.fleet().serial(shape);
}

void note_blocked(const Decision& d, PassMemory::BlockedShapes& blocked, ShapeId shape) {
  if (!is_blocked(d, blocked, shape)) {
    blocked[shape.value] = {d.s.fleet().serial(shape), freed_point(d, shape)};
  }
}

// Some shape had no place in this walk, which began at the point `begun`, and may have one now: a start took GPUs,
// and what was kept beside them is free for pods without GPUs (Fleet::keep_beside_gpus).
bool may_fit_now(const Decision& d, const PassMemory::BlockedShapes& blocked, std::uint64_t begun) {
  if (freed_point(d) == begun) return false;
  const std::vector<ShapeId> waiting = d.s.jobs().ready().waiting_shapes();
  return std::any_of(waiting.begin(), waiting.end(), [&](ShapeId shape) {
    const PassMemory::Blocked& known = blocked[shape.value];
    return known.serial == d.s.fleet().serial(shape) && known.at >= begun &&
           known.at != freed_point(d, shape);
  });
}

// What one pass has done: bounded by counts, never by the clock.
struct Work {
  std::size_t starts = 0, checks = 0;
  bool enough() const {
    return starts >= limits::kMaxStartsPerPass || checks >= limits::kMaxFitChecksPerPass;
  }
};

// One walk down the account tree, in which only shapes take part that have a place beside what is kept: the
// order compares accounts by their next jobs, and must not depend on what was looked at before.
class Walk {
 public:
  // Places are looked for beside what is `kept`, which outlives the walk; `blocked`: what is known of that.
  // `reserved`: shapes that take part in any case.
  Walk(Decision& d, const KeptNodes& kept, PassMemory& memory, PassMemory::BlockedShapes& blocked,
       std::set<ShapeId> reserved = {})
      : d_(d),
        kept_(kept),
        memory_(memory),
        blocked_(blocked),
        reserved_(std::move(reserved)),
        pass_(d.s.jobs().ready(), d.s.tree(), d.s.policy().order, rule_, d.s.allocations().tick(),
              d.s.now()) {
    for (const ShapeId shape : unknown_shapes()) {
      if (has_place(shape)) {
        open_.push_back(shape);
      } else {
        no_place(shape);
      }
    }
    const PassMemory::Point point{freed_point(d), d.s.tree().structure_version(),
                                  d.s.kept().version()};
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
  // What starts takes the place of others, and each shape that is asked in its turn costs a way through
  // the order. So when one has no place any more, the others are tried until one has.
  void block_others(Work& work) {
    for (; !open_.empty() && !work.enough(); open_.pop_back()) {
      const ShapeId shape = open_.back();
      if (is_blocked(d_, blocked_, shape)) continue;
      ++work.checks;
      if (has_place(shape)) return;
      no_place(shape);
    }
  }
  // It had no place. True if it would have one on nodes that are drained before it would be gone, at `end_ms`:
  // it is passed over, and others like it, which have shorter limits, may start there.
  bool pass_over_if_drained(const state::Job& job, TimeMs end_ms, derive::KeptByEnd& kept) {
    if (d_.s.nodes().planned_drains().empty()) return false;
    const Picture undrained(d_.s.fleet(), kept.beside_drains(end_ms));
    if (!d_.search.find(undrained, job.shape, job.id)) return false;
    pass_over_drained(job, end_ms);
    return true;
  }
  // After so many, all that ask for the same are passed over.
  void pass_over_drained(const state::Job& job, TimeMs end_ms) {
    TooLate& known = too_late_.try_emplace(job.shape, TooLate{end_ms, 0}).first->second;
    known.end_ms = std::min(known.end_ms, end_ms);
    if (++known.jobs < limits::kMaxFillLooks) {
      pass_.block_job(job.id);
    } else {
      pass_.block_shape(job.shape);
    }
  }
  // Another like it, that would be gone no later, had no place: it has none either.
  bool is_too_late(ShapeId shape, TimeMs end_ms) const {
    const auto known = too_late_.find(shape);
    return known != too_late_.end() && end_ms >= known->second.end_ms;
  }
  std::set<ShapeId> too_late() const {
    std::set<ShapeId> shapes;
    for (const auto& [shape, known] : too_late_) shapes.insert(shape);
    return shapes;
  }
  void pass_over_line(JobId id) { pass_.block_line(id); }
  void pass_over(JobId id) { pass_.block_job(id); }
  // What stops one job of a leaf with a shape stops them all.
  void bar_line(JobId id) { bar({id, serial_of(id), AccountId(), 0}); }
  // True, and noted: a rule stops the job whatever place it may find.
  bool bar_if_stopped(const state::Job& job) {
    const auto binding = derive::stopped(d_.s, job, Asking::kAmounts);
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
  // Shapes of which it is not known yet that they have no place, in an order that any engine in this
  // state would find; those that have none are blocked. Of so many that no pass could start one of each, the
  // newest are asked in their turn.
  std::vector<ShapeId> unknown_shapes() {
    std::vector<std::pair<JobId, ShapeId>> unknown;
    for (const ShapeId shape : d_.s.jobs().ready().waiting_shapes()) {
      if (!d_.s.clusters().at(d_.s.fleet().cluster_of(shape)).synced ||
          (is_blocked(d_, blocked_, shape) && !reserved_.contains(shape))) {
        pass_.block_shape(shape);
      } else {
        unknown.emplace_back(*d_.s.jobs().ready().oldest(shape), shape);
      }
    }
    if (unknown.size() > limits::kMaxStartsPerPass) {
      const auto end = unknown.begin() + limits::kMaxStartsPerPass;
      std::nth_element(unknown.begin(), end, unknown.end());
      unknown.erase(end, unknown.end());
    }
    std::sort(unknown.begin(), unknown.end());
    std::vector<ShapeId> out;
    for (const auto& [oldest, shape] : unknown) out.push_back(shape);
    return out;
  }
  bool has_place(ShapeId shape) {
    return reserved_.contains(shape) ||
           d_.search.find(Picture(d_.s.fleet(), kept_), shape, JobId());
  }

  Decision& d_;
  const KeptNodes& kept_;
  PassMemory& memory_;
  PassMemory::BlockedShapes& blocked_;
  const std::set<ShapeId> reserved_;
  std::vector<ShapeId> open_;  // had a place when the walk began
  struct TooLate {
    TimeMs end_ms = 0;     // the earliest of theirs
    std::size_t jobs = 0;  // so many
  };
  std::map<ShapeId, TooLate> too_late_;
  const TargetShareRule rule_;
  ReadyQueue::Pass pass_;
};

// The next in the order. False: it cannot start, and the walk was told what else cannot.
bool try_start(Decision& d, JobId id, derive::KeptByEnd& kept, Walk& walk, Work& work) {
  const state::Job& job = d.s.jobs().at(id);
  const AccountId leaf = job.leaf;
  if (walk.bar_if_stopped(job)) return false;
  const TimeMs end_ms = d.s.sure_end(job);
  const auto has_own = [&] { return d.s.clusters().reservation_of(id) != nullptr; };
  if (walk.is_too_late(job.shape, end_ms) && !has_own()) {
    walk.pass_over_drained(job, end_ms);
    return false;
  }
  Found found = find_entitled(d, job, kept.from(end_ms));
  if (found.placement) {
    start(d, id, *std::move(found.placement));
    walk.started(id, leaf);
    return true;
  }
  if (found.barred) {
    walk.bar_line(id);
  } else if (found.refused || has_own()) {
    walk.pass_over(id);  // others like it may have a place that it has not, or get nodes too
  } else if (!walk.pass_over_if_drained(job, end_ms, kept)) {
    walk.no_place(job.shape);
    walk.block_others(work);
  }
  return false;
}

// Nodes that are kept for a job beyond its quota are not kept from jobs within theirs, which come
// first in the order: they start here.
void start_entitled(Decision& d, PassMemory& memory, Work& work) {
  if (d.s.kept().empty() || d.s.policy().order != OrderPolicy::kTargetShare) return;
  derive::KeptByEnd kept(d.s, derive::KeptByEnd::Part::kFirm);
  const KeptNodes firm = kept.beside_drains(0);
  const std::uint64_t begun = freed_point(d);
  Walk walk(d, firm, memory, memory.blocked_for_all);
  for (; !work.enough(); ++work.checks) {
    const auto next = walk.next();
    if (!next || !derive::is_within_quota(d.s, d.s.jobs().at(*next))) break;
    const state::Job& job = d.s.jobs().at(*next);
    const AccountId leaf = job.leaf;
    if (walk.bar_if_stopped(job)) continue;
    const TimeMs end_ms = d.s.sure_end(job);
    Found found = find_entitled(d, job, kept.from(end_ms));
    if (found.refused) {
      walk.pass_over(*next);
    } else if (!found.placement && !found.barred) {
      if (walk.pass_over_if_drained(job, end_ms, kept)) continue;
      note_blocked(d, memory.blocked, job.shape);
      walk.no_place(job.shape);
    } else if (!found.placement ||
               !within_quota(d.s.tree(), {leaf, amounts_of(d.s, *found.placement)})) {
      walk.pass_over_line(*next);
    } else {
      start(d, *next, *std::move(found.placement));
      walk.started(*next, leaf);
      ++work.starts;
      if (may_fit_now(d, memory.blocked_for_all, begun)) return;
    }
  }
}

// Nodes for those that had no place in their turn and have waited, in the order. By now it is known which
// shapes have no place, or only one that is drained too soon.
void reserve_in_order(Decision& d, PassMemory& memory, const std::set<ShapeId>& too_late) {
  const ReadyQueue& ready = d.s.jobs().ready();
  std::vector<ShapeId> others;
  const std::vector<ShapeId> shapes = ready.waiting_shapes();
  std::copy_if(shapes.begin(), shapes.end(), std::back_inserter(others), [&](ShapeId shape) {
    return !may_reserve(d, d.s.fleet().cluster_of(shape)) ||
           !(is_blocked(d, memory.blocked, shape) || too_late.contains(shape)) ||
           !has_waited(d, d.s.jobs().at(*ready.oldest(shape)));
  });
  if (others.size() == shapes.size()) return;
  const TargetShareRule rule;
  ReadyQueue::Pass walk(ready, d.s.tree(), d.s.policy().order, rule, d.s.allocations().tick(),
                        d.s.now());
  for (const ShapeId shape : others) walk.block_shape(shape);
  const bool known = memory.kept_at == d.s.kept().version();
  while (const auto next = walk.next()) {
    const state::Job& job = d.s.jobs().at(*next);
    if (derive::stopped(d.s, job, Asking::kAmounts)) {
      walk.block_line(*next);
    } else if (d.s.clusters().reservation_of(*next) != nullptr || reserve(d, job, memory)) {
      walk.block_job(*next);
    } else {
      walk.block_shape(job.shape);
    }
  }
  if (known) memory.kept_at = d.s.kept().version();  // what is blocked stays so
}

// Jobs that are gone before the nodes are needed use what is kept: those that had no place elsewhere,
// in their order.
void fill(Decision& d, PassMemory& memory, Work& work) {
  derive::KeptByEnd kept(d.s, derive::KeptByEnd::Part::kInUse);
  if (kept.last() <= d.s.now()) return;
  const KeptNodes nothing;
  const std::uint64_t begun = freed_point(d);
  Walk walk(d, nothing, memory, memory.blocked_for_fill);
  for (std::size_t looks = 0; looks < limits::kMaxFillLooks && !work.enough(); ++looks) {
    const auto next = walk.next();
    if (!next) return;
    const state::Job& job = d.s.jobs().at(*next);
    const AccountId leaf = job.leaf;
    if (walk.bar_if_stopped(job)) continue;
    const TimeMs end_ms = d.s.sure_end(job);
    if (end_ms > kept.last()) {
      walk.pass_over(*next);
      continue;
    }
    Found found = find_entitled(d, job, kept.from(end_ms));
    ++work.checks;
    if (found.placement) {
      start(d, *next, *std::move(found.placement));
      walk.started(*next, leaf);
      ++work.starts;
      if (may_fit_now(d, memory.blocked_for_fill, begun)) return;
    } else if (!d.search.find(Picture(d.s.fleet(), nothing), job.shape)) {
      walk.no_place(job.shape);
    } else {
      walk.pass_over(*next);
    }
  }
}

enum class Walked { kAll, kEnough, kAgain };

// A job with nodes of its own may have a place where others like it have none.
std::set<ShapeId> reserved_shapes(const Decision& d) {
  std::set<ShapeId> out;
  for (const state::Reservation& r : all_reservations(d)) out.insert(d.s.jobs().at(r.job).shape);
  return out;
}

// Starts what can start. kAgain: a start stopped a job that nodes were kept for, and others may have
// them; or somebody who came before has a place now. `too_late`: shapes with jobs that have a place only
// where it is drained too soon.
Walked start_all(Decision& d, PassMemory& memory, Work& work, std::set<ShapeId>& too_late) {
  derive::KeptByEnd kept(d.s, derive::KeptByEnd::Part::kAll);
  const std::uint64_t begun = freed_point(d);
  Walk walk(d, d.s.kept(), memory, memory.blocked, reserved_shapes(d));
  for (; !work.enough(); ++work.checks) {
    const auto next = walk.next();
    if (!next) {
      too_late = walk.too_late();
      return Walked::kAll;
    }
    if (!try_start(d, *next, kept, walk, work)) continue;
    ++work.starts;
    if (!d.s.kept().empty() && give_up_stopped(d)) return Walked::kAgain;
    if (may_fit_now(d, memory.blocked, begun)) return Walked::kAgain;
  }
  return Walked::kEnough;
}

}  // namespace

void decide(Decision& d, const in::Pass& /*i*/, PassMemory& memory) {
  Work work;
  Walked walked = Walked::kAgain;
  std::size_t rounds = 0;
  while (walked == Walked::kAgain && rounds++ < limits::kMaxPassRounds) {
    // Starts free nothing but what was kept beside GPUs that they take, and empty NVLink domains that are left to
    // gangs no longer. Then who had no place is asked anew.
    const std::uint64_t freed = freed_point(d);
    do {
      give_up_stopped(d);
      mend(d, memory);
      choose_estimates(d);
    } while (start_reserved(d));
    forget_blocked(d, memory);
    start_entitled(d, memory, work);
    if (mend(d, memory)) start_reserved(d);
    forget_blocked(d, memory);
    std::set<ShapeId> too_late;
    walked = start_all(d, memory, work, too_late);
    if (walked == Walked::kAll && freed != freed_point(d)) walked = Walked::kAgain;
    if (walked != Walked::kAll) continue;
    reserve_in_order(d, memory, too_late);
    fill(d, memory, work);
    pull(d, memory);
    // Nodes that are kept no longer are for others.
    if (memory.kept_at != d.s.kept().version() || freed != freed_point(d)) walked = Walked::kAgain;
  }
  if (walked != Walked::kEnough) memory.barred.clear();
  d.tell(note::PassDue{walked != Walked::kAll});
}

}  // namespace subak::decide
