// One scheduling pass. The job with the most right to start comes first. Each start is visible to
// the next, and no job leaves the queue before it fits.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "accounting/quota/entitlement.h"
#include "core/limits.h"
#include "core/must.h"
#include "engine/decide/claims.h"
#include "engine/decide/decide.h"
#include "engine/decide/pass_walk.h"
#include "engine/decide/reservations.h"
#include "engine/derive/claims.h"
#include "engine/derive/entitled_place.h"
#include "engine/derive/preemption/preemptible.h"
#include "engine/derive/reservations.h"
#include "engine/state/planned_end.h"
#include "model/bounds/pass_limits.h"
#include "placement/fleet/queries.h"

namespace subak::decide {
namespace {

using derive::amounts_of;
using Found = derive::EntitledPlace;

// True if the placement of a claimant uses a node of its claim, and non-GPU pods must leave CPU and
// memory free for free GPUs. The CPU and memory of the placement may then be free only because the
// claimed GPUs count as held.
bool needs_own_claim(const Decision& d, const state::Claim& claim, const Placement& placement) {
  return d.s.fleet().gpu_headroom().any() &&
         std::any_of(placement.slots.begin(), placement.slots.end(), [&](const PodSlot& slot) {
           return std::binary_search(claim.nodes.begin(), claim.nodes.end(), slot.node);
         });
}

Found find_entitled(Decision& d, const state::Job& job, const ReservedNodes& reserved_nodes) {
  Found found = derive::find_entitled(d.s, d.search, reserved_nodes, job);
  const state::Claim* const claim = d.s.claims().of(job.id);
  if (found.placement && claim != nullptr && needs_own_claim(d, *claim, *found.placement)) {
    found.placement.reset();
    found.refused = true;
  }
  return found;
}

void start(Decision& d, JobId id, Placement placement) {
  fact::AttemptStarted started;
  started.id = id;
  const state::Job& job = d.s.jobs().at(id);
  started.attempt = job.attempt + 1;
  const bool late = job.parking() == Parking::kNone &&
                    std::any_of(job.pods.begin(), job.pods.end(),
                                [](const state::Pod& pod) { return pod.is_expected(); });
  const DurationMs hold_ms = d.s.policy().hold_ms;
  started.until_ms = d.s.now() + (late ? std::max(hold_ms, limits::kLateMembersMs) : hold_ms);
  started.slots = std::move(placement.slots);
  must(job.state == JobState::kQueued, "only a queued job starts");
  must(started.slots.size() == job.gang_size, "a placement has a slot for each pod");
  d.emit(std::move(started));
  must(job.state == JobState::kStarting, "a job with a placement starts");
  d.act_on(id);
}

// --- reserved nodes ------------------------------------------------------------------------------

void forget_blocked(PassMemory& memory) {
  memory.blocked.clear();
  memory.blocked_for_all.clear();
  memory.blocked_for_fill.clear();
}

// Sets when the next pass is due because of finishing gangs. If their nodes changed, shapes without
// a placement may have one.
void look_at_finishing_gangs(Decision& d, PassMemory& memory) {
  derive::NodesOfGangs finishing = derive::nodes_of_finishing_gangs(d.s);
  for (const auto& [id, nodes] : finishing) {
    const TimeMs until_ms = d.s.jobs().at(id).run().finishing_ms + limits::kGangFinishMs;
    d.set_pass_due_at(std::min(d.s.pass_due().at_ms, until_ms));
  }
  if (finishing == memory.finishing) return;
  memory.finishing = std::move(finishing);
  forget_blocked(memory);
}

// If the reserved nodes changed, shapes without a placement may have one.
void prepare_blocked(const Decision& d, PassMemory& memory) {
  if (memory.reserved_at != d.s.reserved_nodes().version()) {
    forget_blocked(memory);
    memory.reserved_at = d.s.reserved_nodes().version();
  }
  const std::size_t numbers = d.s.fleet().shapes().numbers() + 1;
  memory.blocked.resize(numbers);
  memory.blocked_for_all.resize(numbers);
  memory.blocked_for_fill.resize(numbers);
}

// Finds a placement on the nodes that are reserved for the job, and on no other nodes.
Found find_on_reserved(Decision& d, const state::Reservation& r, const state::Job& job) {
  ReservedNodes reserved_nodes = derive::draining_before(d.s, state::sure_end(d.s, job));
  reserved_nodes.reserve(r.nodes, r.job);
  derive::reserve_for_others(d.s, r.job, reserved_nodes);
  const JobId nobody(r.job.cluster(), 0);
  reserved_nodes.reserve(d.s.fleet().nodes(r.job.cluster()), nobody);
  return find_entitled(d, job, reserved_nodes);
}

// True if enough GPUs may be idle on the reserved nodes. Usually jobs hold GPUs there, so a look at
// one node is enough to return false.
bool could_fit(const Decision& d, const state::Reservation& r, const state::Job& job) {
  must(r.job == job.id && !r.nodes.empty(), "a reservation has nodes");
  const MilliGpu of_node = d.search.largest_node_gpus() * kMilliPerGpu;
  MilliGpu most = static_cast<MilliGpu>(r.nodes.size()) * of_node;  // upper bound of the idle GPUs
  for (const NodeId node : r.nodes) {
    most -= of_node - d.s.fleet().levels(node).idle;
    if (most < state::least_milligpu(d.s.fleet(), job)) return false;
  }
  return true;
}

// True if other jobs hold GPUs of the reserved nodes, or if it is unknown which of their GPUs are
// healthy.
bool waits_for_nodes(const Decision& d, const state::Reservation& r, const state::Job& job) {
  return derive::FreeFor(d.s, job, r.start_ms).is_held(r.nodes) ||
         std::any_of(r.nodes.begin(), r.nodes.end(),
                     [&](NodeId node) { return derive::is_unknown(d.s, node); });
}

// kAll: start_reserved() also cancels reservations whose nodes are free although the job has no
// placement there. kNew: it cancels no reservation, because this pass has just made the new ones.
enum class Reserved { kAll, kNew };

// Starts jobs on their reserved nodes, out of turn. Other jobs may use the nodes that are left
// over.
bool start_reserved(Decision& d, Reserved which) {
  bool any = false;
  for (const state::Reservation& r : all_reservations(d)) {
    const state::Job& job = d.s.jobs().at(r.job);
    if (!d.s.clusters().at(r.job.cluster()).synced) continue;
    Found found;
    if (could_fit(d, r, job)) found = find_on_reserved(d, r, job);
    if (found.placement) {
      start(d, r.job, *std::move(found.placement));
      must(d.s.clusters().reservation_of(r.job) == nullptr,
           "a job that started has no reservation");
      any = true;
    } else if (which != Reserved::kNew && !waits_for_nodes(d, r, job)) {
      cancel_reservation(d, r, found.blocked_by_rule.has_value());
    }
  }
  return any;
}

// --- claims ---------------------------------------------------------------------------------------

// Returns a placement for the claimant that needs nothing of its claim.
std::optional<Placement> find_elsewhere(Decision& d, const state::Claim& claim) {
  const state::Job& job = d.s.jobs().at(claim.job);
  derive::ReservedUntil reserved_until(d.s, derive::ReservedUntil::Part::kAll);
  const FleetView now(d.s.fleet(), reserved_until.from(state::sure_end(d.s, job)));
  auto found = d.search.find(now, job.shape, job.id);
  if (!found || amounts_of(d.s, *found) != claim.amounts) return std::nullopt;
  if (needs_own_claim(d, claim, *found)) return std::nullopt;
  return found;
}

// Starts claimants whose slots are free, and those that find a placement elsewhere before any
// victim was asked.
bool start_claimants(Decision& d) {
  bool any = false;
  for (const JobId claimant : d.s.claims().claimants()) {
    const state::Claim* const claim = d.s.claims().of(claimant);
    if (claim == nullptr || !d.s.clusters().at(claimant.cluster()).synced) continue;
    if (derive::stopped_now(d.s, *claim)) continue;
    if (claim_state(d.s.fleet(), claimant, claim->nodes) == ClaimState::kFree) {
      start(d, claimant, Placement{claim->slots});
    } else if (!derive::any_asked(d.s, *claim)) {
      auto elsewhere = find_elsewhere(d, *claim);
      if (!elsewhere) continue;
      start(d, claimant, *std::move(elsewhere));
    } else {
      continue;
    }
    must(d.s.claims().of(claimant) == nullptr, "a job that started claims nothing");
    any = true;
  }
  return any;
}

// --- the walk ------------------------------------------------------------------------------------

enum class Tried { kStarted, kClaimed, kNoPlacement };

// Call it for a job in its turn that has a placement. If the job would borrow, jobs that could
// claim its GPUs at once come first. The function starts the first of these jobs that has a
// placement. If there is none, it makes the claims of these jobs. kNoPlacement: there are no such
// jobs.
Tried serve_claimants_first(Decision& d, const state::Job& job, const Placement& placement,
                            derive::ReservedUntil& reserved_until, PassWalk& walk,
                            PassMemory& memory, Work& work) {
  if (!walk.may_have_new_claimants()) return Tried::kNoPlacement;
  const bool by_class = derive::some_class_preempts(d.s);
  if (!by_class && derive::is_within_quota(d.s, job.leaf, amounts_of(d.s, placement)))
    return Tried::kNoPlacement;
  if (auto first = entitled_before(d, job, memory, reserved_until, work)) {
    const AccountId leaf = d.s.jobs().at(first->job).leaf;
    start(d, first->job, std::move(first->placement));
    walk.started(first->job, leaf);
    return Tried::kStarted;
  }
  const std::size_t claims = d.s.claims().all().size();
  walk.looked_for_claims();
  make_claims(d, memory, Claimants::kBlocked);
  return d.s.claims().all().size() != claims ? Tried::kClaimed : Tried::kNoPlacement;
}

// Tries to start the next job in the order. kClaimed: earlier jobs claimed GPUs, so the order has
// changed. kNoPlacement: the job cannot start, and the walk has recorded which similar jobs cannot
// start either.
Tried try_start(Decision& d, JobId id, derive::ReservedUntil& reserved_until, PassWalk& walk,
                PassMemory& memory, Work& work) {
  const state::Job& job = d.s.jobs().at(id);
  const AccountId leaf = job.leaf;
  if (walk.block_if_stopped(job)) return Tried::kNoPlacement;
  const TimeMs end_ms = state::sure_end(d.s, job);
  const auto has_own = [&] { return d.s.clusters().reservation_of(id) != nullptr; };
  if (walk.is_too_late(job.shape, end_ms) && !has_own()) {
    walk.skip_drained(job, end_ms);
    return Tried::kNoPlacement;
  }
  Found found = find_entitled(d, job, reserved_until.from(end_ms));
  must(!found.placement || !found.blocked_by_rule, "no rule refuses the placement that is used");
  if (found.placement) {
    if (walk.wait_to_borrow(job, *found.placement)) return Tried::kNoPlacement;
    const Tried first =
        serve_claimants_first(d, job, *found.placement, reserved_until, walk, memory, work);
    if (first != Tried::kNoPlacement) return first;
    start(d, id, *std::move(found.placement));
    walk.started(id, leaf);
    return Tried::kStarted;
  }
  walk.pass_over(job.shape);
  if (found.blocked_by_rule && found.breaks_promise) {
    walk.block_by_promise(job);
  } else if (found.blocked_by_rule && found.blocked_by_rule->kind == BindingKind::kBudget) {
    walk.block_by_budget(*found.blocked_by_rule, job);
  } else if (found.blocked_by_rule && found.blocked_by_rule->of_job_alone()) {
    walk.skip_job(id);
  } else if (found.blocked_by_rule && found.blocked_by_rule->kind == BindingKind::kMinutes) {
    walk.wait_for_minutes(*found.blocked_by_rule);
    walk.skip_line(id);
  } else if (found.blocked_by_rule) {
    walk.block_line_by_rule(id);
  } else if (found.refused || has_own()) {
    walk.skip_job(id);  // similar jobs may have a placement, or get nodes too
  } else if (!walk.skip_if_drained(job, end_ms, reserved_until)) {
    walk.no_place(job.shape);
    walk.block_others(work);
  }
  return Tried::kNoPlacement;
}

// Starts jobs within their quota. They may use nodes that are reserved for jobs beyond their quota.
// In the order, a job beyond quota may come before a smaller one of its account that is within
// quota. So the walk passes over at most kMaxFillLooks jobs beyond quota.
void start_entitled(Decision& d, PassMemory& memory, Work& work) {
  if (d.s.reserved_nodes().empty() || d.s.policy().order != OrderPolicy::kTargetShare) return;
  if (!has_quotas(d.s.tree())) return;
  derive::ReservedUntil reserved_until(d.s, derive::ReservedUntil::Part::kFirm);
  const ReservedNodes firm = reserved_until.beside_drains(0);
  PassWalk walk(d, firm, memory, memory.blocked_for_all);
  std::size_t passed_over = 0;
  while (!work.enough()) {
    const auto next = walk.next();
    if (!next) break;
    const state::Job& job = d.s.jobs().at(*next);
    if (!derive::is_within_quota(d.s, job)) {
      if (passed_over++ == limits::kMaxFillLooks) break;
      walk.skip_line(*next);
      continue;
    }
    ++work.checks;
    const AccountId leaf = job.leaf;
    if (walk.block_if_stopped(job)) continue;
    const TimeMs end_ms = state::sure_end(d.s, job);
    Found found = find_entitled(d, job, reserved_until.from(end_ms));
    if (!found.placement) walk.pass_over(job.shape);
    if (found.refused || (!found.placement && found.breaks_promise)) {
      walk.skip_job(*next);
    } else if (!found.placement && !found.blocked_by_rule) {
      if (walk.skip_if_drained(job, end_ms, reserved_until)) continue;
      note_blocked(d, memory.blocked, job.shape);
      walk.no_place(job.shape);
    } else if (!found.placement ||
               !derive::is_within_quota(d.s, leaf, amounts_of(d.s, *found.placement))) {
      walk.skip_line(*next);
    } else {
      start(d, *next, *std::move(found.placement));
      walk.started(*next, leaf);
      ++work.starts;
      if (walk.may_fit_now()) return;
    }
  }
}

// Reserves nodes, in the order of the queue, for jobs that had no placement in their turn and have
// waited long enough. By now it is known which shapes have no placement, or only placements on
// nodes that are drained too soon.
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
  const TargetShareRule rule = target_share_rule(d.s.policy());
  ReadyQueue::Pass walk(ready, d.s.tree(), d.s.policy().order, rule, d.s.allocations().tick(),
                        d.s.now());
  for (const ShapeId shape : others) walk.block_shape(shape);
  const bool known = memory.reserved_at == d.s.reserved_nodes().version();
  BudgetLooks budget_looks;
  while (const auto next = walk.next()) {
    const state::Job& job = d.s.jobs().at(*next);
    if (const auto stopped = derive::stopped(d.s, job, Asking::kAmounts)) {
      if (stopped->kind == BindingKind::kBudget) {
        budget_looks.block(walk, *stopped, *next);
      } else {
        stopped->of_job_alone() ? walk.block_job(*next) : walk.block_line(*next);
      }
      continue;
    }
    const bool has_own =
        d.s.clusters().reservation_of(*next) != nullptr || d.s.claims().of(*next) != nullptr;
    const Reserving made = has_own ? Reserving::kMade : reserve(d, job, memory);
    if (made == Reserving::kMade) {
      walk.block_job(*next);
    } else if (made == Reserving::kStopped) {
      walk.block_line(*next);
    } else {
      walk.block_shape(job.shape);
    }
  }
  // A reservation takes nodes from other jobs, so blocked shapes stay blocked.
  if (known) memory.reserved_at = d.s.reserved_nodes().version();
}

// Starts jobs on reserved nodes, in the order of the queue: jobs that had no placement elsewhere
// and that end before the nodes are needed.
void fill(Decision& d, PassMemory& memory, Work& work) {
  derive::ReservedUntil reserved_until(d.s, derive::ReservedUntil::Part::kInUse);
  if (reserved_until.last() <= d.s.now()) return;
  const ReservedNodes nothing;
  PassWalk walk(d, nothing, memory, memory.blocked_for_fill);
  for (std::size_t looks = 0; looks < limits::kMaxFillLooks && !work.enough(); ++looks) {
    const auto next = walk.next();
    if (!next) return;
    const state::Job& job = d.s.jobs().at(*next);
    const AccountId leaf = job.leaf;
    if (walk.block_if_stopped(job)) continue;
    const TimeMs end_ms = state::sure_end(d.s, job);
    if (end_ms > reserved_until.last()) {
      walk.skip_job(*next);
      continue;
    }
    Found found = find_entitled(d, job, reserved_until.from(end_ms));
    ++work.checks;
    if (found.placement) {
      start(d, *next, *std::move(found.placement));
      walk.started(*next, leaf);
      ++work.starts;
      if (walk.may_fit_now()) return;
    } else if (!d.search.find(FleetView(d.s.fleet(), nothing), job.shape)) {
      walk.no_place(job.shape);
    } else {
      walk.skip_job(*next);
    }
  }
}

enum class Walked { kAll, kEnough, kAgain };

// Returns the shapes of jobs with reserved nodes. Such a job may have a placement although other
// jobs of its shape have none.
std::set<ShapeId> reserved_shapes(const Decision& d) {
  std::set<ShapeId> out;
  for (const state::Reservation& r : all_reservations(d)) out.insert(d.s.jobs().at(r.job).shape);
  return out;
}

// Starts all jobs that can start. kAgain: after a start, a rule stops a job with reserved nodes, so
// that other jobs may use these nodes. Or an earlier job may fit now. `too_late`: receives the
// shapes with jobs whose only placements are on nodes that are drained too soon.
Walked start_all(Decision& d, PassMemory& memory, Work& work, std::set<ShapeId>& too_late) {
  derive::ReservedUntil reserved_until(d.s, derive::ReservedUntil::Part::kAll);
  const ReservedNodes with_finishing =
      reserved_until.has_finishing() ? reserved_until.beside_drains(0) : ReservedNodes();
  PassWalk walk(d, reserved_until.has_finishing() ? with_finishing : d.s.reserved_nodes(), memory,
                memory.blocked, reserved_shapes(d));
  for (; !work.enough(); ++work.checks) {
    const auto next = walk.next();
    if (!next) {
      too_late = walk.too_late();
      return Walked::kAll;
    }
    const Tried tried = try_start(d, *next, reserved_until, walk, memory, work);
    if (tried == Tried::kClaimed) return Walked::kAgain;
    if (tried == Tried::kNoPlacement) continue;
    ++work.starts;
    if (!d.s.reserved_nodes().empty() && give_up_stopped(d)) return Walked::kAgain;
    if (walk.may_fit_now()) return Walked::kAgain;
  }
  return Walked::kEnough;
}

}  // namespace

void decide(Decision& d, const in::Pass& /*i*/, PassMemory& memory) {
  Work work;
  d.set_pass_due_at(state::kNever);
  look_at_finishing_gangs(d, memory);
  accept_jobs(d);
  memory.claimed.clear();
  memory.claim_tried.clear();
  memory.claim_steps = 0;
  Walked walked = Walked::kAgain;
  std::size_t rounds = 0;
  bool more_claims = false;
  while (walked == Walked::kAgain && rounds < limits::kMaxPassRounds) {
    ++rounds;
    // A start can make room only in two ways: non-GPU pods need not leave CPU and memory free for
    // its GPUs, and keep_whole may leave fewer NVLink domains to gangs. Then jobs without a
    // placement are tried again.
    const std::uint64_t freed = freed_point(d);
    do {
      give_up_stopped(d);
      mend(d, memory);
      choose_estimates(d);
      end_claims(d);
    } while (start_claimants(d) || start_reserved(d, Reserved::kAll));
    prepare_blocked(d, memory);
    start_entitled(d, memory, work);
    if (mend(d, memory)) start_reserved(d, Reserved::kAll);
    prepare_blocked(d, memory);
    std::set<ShapeId> too_late;
    walked = start_all(d, memory, work, too_late);
    if (walked == Walked::kAll && freed != freed_point(d)) walked = Walked::kAgain;
    if (walked != Walked::kAll) continue;
    const std::size_t claims = d.s.claims().all().size();
    more_claims = make_claims(d, memory, Claimants::kAll);
    ask_victims(d);
    if (d.s.claims().all().size() != claims && start_claimants(d)) {
      walked = Walked::kAgain;
      continue;
    }
    reserve_in_order(d, memory, too_late);
    fill(d, memory, work);
    pull(d, memory);
    // Some jobs can start only on reserved nodes: `keepWhole` leaves these nodes to no other job.
    if (start_reserved(d, Reserved::kNew)) walked = Walked::kAgain;
    // Nodes that are no longer reserved are free for others.
    if (memory.reserved_at != d.s.reserved_nodes().version() || freed != freed_point(d))
      walked = Walked::kAgain;
    // A job that an account accepts now has its turn in the same pass.
    if (accept_jobs(d) && walked == Walked::kAll) walked = Walked::kAgain;
  }
  must(rounds <= limits::kMaxPassRounds, "a pass has a bounded number of rounds");
  if (walked != Walked::kEnough) memory.blocked_by_rule.clear();
  d.set_pass_due(walked != Walked::kAll || more_claims);
}

}  // namespace subak::decide
