// The oracle's checks of gangs that come back, and of gates.
#include <algorithm>

#include "core/limits.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/oracle_budgets.h"
#include "tests/oracle/oracle_limits.h"
#include "tests/oracle/oracle_quota.h"
#include "tests/oracle/oracle_text.h"
#include "tests/oracle/parking/oracle_parking.h"

namespace subak::sim {
namespace {

// Segments follow ranks. So where they have to be together, each pod must know its rank, and no two
// pods may have the same (docs/workloads.md). An expected pod has its rank already.
template <class Pod>
bool know_ranks(const GangRequest& r, const std::vector<Pod>& pods, std::uint32_t size) {
  if (r.terms.segment == 0 || r.terms.prefer || size <= r.terms.segment) return true;
  std::set<std::uint32_t> known;
  for (std::size_t rank = 0; rank < std::min<std::size_t>(size, pods.size()); ++rank) {
    const Pod& p = pods[rank];
    if (p.live && (p.order == 0 || !known.insert(p.order).second)) return false;
  }
  return true;
}

}  // namespace

bool Oracle::is_whole(const Job& j) {
  if (j.gang_size == 0 || j.pods.size() < j.gang_size) return false;
  return std::all_of(j.pods.begin(), j.pods.begin() + j.gang_size, [](const Pod& p) {
    return (p.live || p.expected) && p.gate == PodGate::kClosed;
  });
}

std::vector<Oracle::Pod>::const_iterator Oracle::ranks_end(const Job& j) {
  return j.pods.begin() +
         static_cast<std::ptrdiff_t>(std::min<std::size_t>(j.gang_size, j.pods.size()));
}

std::size_t Oracle::live(const Job& j) {
  return static_cast<std::size_t>(
      std::count_if(j.pods.begin(), j.pods.end(), [](const Pod& p) { return p.live; }));
}

// True for a pod that its gang's start left behind: it starts with the hold that it had.
bool Oracle::keeps_place(const Job& j) const {
  return !in_pass_ && j.attempt == 0 && j.runs_on && !j.gang;
}

bool Oracle::drains(AccountId leaf) {
  const Account* a = leaf == kUnassigned ? nullptr : account(leaf);
  while (a != nullptr && !a->spec.draining) a = a->parent ? account(a->parent) : nullptr;
  return a != nullptr;
}

// A new job waits if its account drains or has too many waiting jobs. Two kinds of jobs are not new
// (docs/design/0024, "Drained accounts"):
// - The rest of an indexed Job that existed before. The owner's uid tells it.
// - A pod apart from its gang, while the gang has its placement (docs/design/0073). Name and owner
//   tell the gang, also if the owner is empty.
void Oracle::judge_drain(const fact::JobCreated& f) {
  const bool would =
      f.origin == JobOrigin::kPods && (drains(f.leaf) || OracleLimits(*this).is_full(f.leaf));
  const bool apart = f.replaced_alone && !f.gang;
  const std::string uid = f.owner.substr(0, f.owner.find('+'));
  const bool before = std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& j) {
    if (!j.gang || j.name != f.name || j.id.cluster() != f.id.cluster()) return false;
    if (j.state == JobState::kDone || j.awaits_resume) return false;
    const bool placed = j.state == JobState::kStarting || j.state == JobState::kRunning;
    if (apart && placed && j.owner == f.owner) return true;
    return !uid.empty() && (j.owner == uid || j.owner.starts_with(uid + "+"));
  });
  if (f.of_pods.awaits_resume && !would)
    wrong(name(f.id) + " waits beside the queue of an account that accepts it");
  if (would && !f.of_pods.awaits_resume && !before)
    wrong(name(f.id) + " is new where nothing new is taken");
  if (f.of_pods.awaits_resume && apart && before && !uid.empty()) {
    wrong(name(f.id) + " waits for a resume, and its gang was there");
  }
}

void Oracle::judge_start(const Job& j, const fact::AttemptStarted& f) {
  if (options_.judge_order) judge_order(j);
  // A launcher without GPUs may be on a node of another product.
  const auto with_gpus = std::find_if(f.slots.begin(), f.slots.end(),
                                      [](const PodSlot& slot) { return slot.milligpu > 0; });
  const auto first = with_gpus == f.slots.end() ? f.slots.begin() : with_gpus;
  if (options_.judge_order && OracleQuota(*this).breaks_promise(j, node(first->node)->spec.product))
    wrong(name(f.id) + " cannot be preempted, and borrows what is promised");
  ProductAmounts gpus;
  for (const PodSlot& slot : f.slots)
    gpus.push_back({node(slot.node)->spec.product, slot.milligpu});
  const std::string limit = OracleLimits(*this).stops(j, gpus);
  if (!limit.empty()) wrong(name(f.id) + " was started beyond a limit: " + limit);
  judge_place(j, f);
  judge_kept(j, f);
  for (std::uint32_t rank = 0; rank < f.slots.size(); ++rank) {
    const NodeId node = f.slots[rank].node;
    if (barred(node, shape_of(j, rank)) || refused(f.id, node)) {
      wrong(name(f.id) + "/" + std::to_string(rank) +
            " was sent where it was turned away too lately");
    }
  }
  if (j.origin == JobOrigin::kPods && !is_whole(j)) wrong(name(f.id) + " started in part");
}

void Oracle::on(const fact::PodAdded& f) {
  Job* const j = job(f.job);
  if (j->pods.size() <= f.rank) j->pods.resize(f.rank + 1);
  if (j->pods[f.rank].live) wrong(name(f.job, f.rank) + " comes where another pod is");
  const bool kept = j->pods[f.rank].expected && slot(f.job, f.rank) != nullptr;
  const PodShape& shape = kept ? j->pods[f.rank].shape : f.shape;
  j->pods[f.rank] = {PodShape(shape),    true,  f.controlled, f.gate,
                     !f.dispute.empty(), false, f.order};
  j->last.had_pod = j->last.had_pod || f.rank < j->gang_size;
  if (subak::is_waiting(j->state)) j->until = 0;
  if (kept) {
    if (f.until_ms != std::max(j->until, now_ + policy_.hold_ms))
      wrong(name(f.job, f.rank) + " has another time to be bound");
    j->until = f.until_ms;
  }
  // Until its first pod comes, the job of one pod has the name of its parked owner.
  const bool alone = j->origin == JobOrigin::kPods && !j->gang && !j->runs_on;
  if (alone && f.rank < j->gang_size) j->name = f.name;
  if (!f.bound) return;
  if (f.bound_at_ms > now_) wrong(name(f.job, f.rank) + " was bound later than now");
  open(*j, f.rank, f.slot, true, f.bound_at_ms);
}

void Oracle::join(Job& j) {
  j.request.groups.clear();
  const std::size_t ranks = std::min<std::size_t>(j.gang_size, j.pods.size());
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    j.request.groups.push_back({1, j.pods[rank].shape});
  }
}

// An expected pod goes only if its inferred gang runs on without it, and is expected no more. When
// it comes it is a job of its own, or a member of the gang that waits again (docs/design/0073).
void Oracle::on(const fact::PodGone& f) {
  Job* const j = job(f.job);
  const Slot* const s = slot(f.job, f.rank);
  if (s != nullptr && f.cause == Cause::kRejected) turned_away(*s, shape_of(*j, f.rank));
  OracleBudgets::judge_refund(*this, *j, f);
  const bool ill = f.cause != Cause::kNone && f.cause != Cause::kFinished;
  if (s != nullptr && ill && j->last.ill == Cause::kNone) j->last.ill = f.cause;
  const NodeId node = s == nullptr ? NodeId() : s->at.node;
  close(f.job, f.rank, f.at_ms);
  if (node && f.cause == Cause::kFinished && !subak::is_waiting(j->state)) {
    if (j->last.finishing == 0 && std::any_of(slots_.begin(), slots_.end(), [&](const Slot& other) {
          return other.job == f.job && other.at.milligpu > 0;
        })) {
      j->last.finishing = now_;
    }
    if (j->last.finishing != 0 && now_ < j->last.finishing + limits::kGangFinishMs)
      j->last.finished_on.insert(node);
  }
  if (f.rank >= j->pods.size()) return;
  const bool bound = std::any_of(slots_.begin(), slots_.end(), [&](const Slot& other) {
    return other.job == f.job && other.bound;
  });
  const bool runs_on = j->gang && j->runs_on && j->state == JobState::kStarting && bound;
  if (j->pods[f.rank].expected && !runs_on) wrong(name(f.job) + " expects a pod no more");
  j->pods[f.rank].live = j->pods[f.rank].expected = false;
}

void Oracle::on(const fact::PodSeated& f) {
  Job* const j = job(f.job);
  if (f.from >= j->pods.size() || !j->pods[f.from].live || j->pods[f.rank].live) {
    return wrong(name(f.job) + " seats nobody, or on somebody");
  }
  if (!subak::is_waiting(j->state))
    wrong(name(f.job) + " changes its members while it has a place");
  j->pods[f.rank] = j->pods[f.from];
  j->pods[f.from].live = false;
  j->last.had_pod = true;
}

void Oracle::on(const fact::PodsRanked& f) {
  Job* const j = job(f.job);
  if (!subak::is_waiting(j->state)) wrong(name(f.job) + " changes its ranks while it has a place");
  const std::vector<Pod> before = j->pods;
  std::set<std::uint32_t> left, taken;
  for (const fact::PodsRanked::Move& m : f.moves) {
    if (m.from >= before.size() || m.rank >= j->gang_size || !before[m.from].live) {
      return wrong(name(f.job) + " ranks nobody, or beyond its size");
    }
    left.insert(m.from);
    taken.insert(m.rank);
    j->pods[m.rank] = before[m.from];
  }
  if (left != taken || left.size() != f.moves.size()) wrong(name(f.job) + " ranks two as one");
}

void Oracle::on(const fact::PodGated& f) {
  Job* const j = job(f.job);
  Pod& pod = j->pods[f.rank];
  if (gates_left(pod.gate, f.gate) != f.gate) wrong(name(f.job) + " got a gate that it had not");
  pod.gate = f.gate;
}

void Oracle::on(const fact::JobAssigned& f) {
  Job* const j = job(f.id);
  if (j->leaf != kUnassigned && !j->awaits_resume) wrong(name(f.id) + " had an account");
  const bool full = OracleLimits(*this).is_full(f.leaf);
  if (f.awaits_resume && !drains(f.leaf) && !full)
    wrong(name(f.id) + " waits beside the queue of an account that accepts it");
  if (!f.awaits_resume && j->awaits_resume && full)
    wrong(name(f.id) + " is accepted beyond a limit on waiting jobs");
  const bool had = j->leaf == f.leaf;
  j->leaf = f.leaf;
  j->awaits_resume = f.awaits_resume;
  if (had) return;
  for (Slot& s : slots_) {
    if (s.job != f.id) continue;
    if (s.at.milligpu > 0 && s.charged_to != now_) wrong(name(f.id) + " has others pay its past");
    s.leaf = f.leaf;
    end_use(f.id, s.rank, now_);
    begin_use(f.leaf, s.at.milligpu, now_, f.id, s.rank);
  }
}

// As the engine's, without patterns.
bool Oracle::in_system_namespace(const Job& j) const {
  const auto& system = policy_.system_namespaces;
  const std::string ns = j.name.substr(0, j.name.find('/'));
  return std::find(system.begin(), system.end(), ns) != system.end();
}

void Oracle::on(const fact::GangEmptied& f) {
  Job* const j = job(f.id);
  if (live(*j) > 0) wrong(name(f.id) + " is said to be empty");
  if (j->last.parking == Parking::kParked)
    wrong(name(f.id) + " waits for pods that its owner may not make");
  const auto its = [&](const Cluster& c) { return c.id == f.id.cluster(); };
  const TimeMs since = std::find_if(clusters_.begin(), clusters_.end(), its)->since;
  if (f.until_ms != (since != 0 ? since : now_) + limits::kGangReturnMs)
    wrong(name(f.id) + " waits for its pods for another time");
  j->until = f.until_ms;
}

void Oracle::on(const fact::GangResized& f) {
  Job* const j = job(f.id);
  if (!subak::is_waiting(j->state)) wrong(name(f.id) + " has another size while it has a place");
  for (std::size_t rank = f.size; rank < j->pods.size(); ++rank) j->pods[rank].expected = false;
  j->gang_size = f.size;
}

void Oracle::on(const fact::PodsExpected& f) {
  Job* const j = job(f.job);
  if (!subak::is_waiting(j->state)) wrong(name(f.job) + " expects somebody though it has a place");
  if (f.first == 0) j->last.had_pod = live(*j) > 0;
  std::uint32_t rank = f.first;
  for (const PodGroup& group : f.groups) {
    for (std::uint32_t i = 0; i < group.count; ++i, ++rank) {
      if (j->pods.size() <= rank) j->pods.resize(rank + 1);
      if (rank == 0 && j->last.parking != Parking::kParked)
        wrong(name(f.job) + " expects the first of all");
      if (j->pods[rank].live) continue;
      j->pods[rank] = {group.shape, false, false, PodGate::kClosed, false, true};
    }
  }
}

// Decides whether the job waits again, from its pods.
void Oracle::judge_end(const Job& j, const fact::AttemptEnded& f) {
  // The deletion of a pod does not cancel its job.
  const bool deleted = f.cause == Cause::kCancelled && j.stop != Cause::kCancelled;
  bool again = comes_back(f.cause) || (deleted && live(j) > 0);
  if (j.stop != Cause::kNone && !comes_back(j.stop)) again = false;
  if (j.origin == JobOrigin::kApi) {
    again = again && f.cause != Cause::kFinished && f.cause != Cause::kFailed &&
            f.cause != Cause::kVanished;
  } else if (j.origin != JobOrigin::kPods) {
    again = false;
  } else if (live(j) == 0 && OracleParking::awaits_pods(j)) {
    // The owner creates the pods yet.
  } else if (live(j) == 0) {
    const bool remade =
        std::any_of(j.pods.begin(), ranks_end(j), [](const Pod& p) { return p.controlled; });
    const bool alone = f.cause == Cause::kUnschedulable && !j.owner.empty();
    again = again && (j.gang || alone) && remade && f.cause != Cause::kFinished;
  }
  if (again == (f.to == JobState::kDone)) {
    wrong(name(f.id) + (again ? " is done though it could wait again" : " waits for nobody"));
  }
}

// A person may end anything, and so may the job's own time limit if its account enforces it. Subak
// never ends a pod that can still be placed.
void Oracle::judge_effect(const Effect& effect) {
  if (effect.kind != EffectKind::kEvict || effect.cause == Cause::kCancelled) return;
  if (effect.cause == Cause::kTimeLimit || effect.cause == Cause::kBudget) return;
  const Job* const j = job(effect.job);
  if (j == nullptr || j->origin != JobOrigin::kPods) return;
  for (const EffectPod& pod : effect.pods) {
    if (is_closed(j->pods[pod.rank].gate)) wrong(name(j->id) + " has a closed gate evicted");
    if (!j->pods[pod.rank].controlled)
      wrong(name(j->id) + " has a pod evicted that nobody remakes");
  }
}

// Between two inputs exactly the jobs that could wait are queued.
void Oracle::judge_gangs() {
  for (const Job& j : jobs_) {
    if (j.origin != JobOrigin::kPods) continue;
    const bool agree =
        std::none_of(j.pods.begin(), ranks_end(j), [](const Pod& p) { return p.disputed; });
    const bool may =
        j.leaf != kUnassigned && !j.awaits_resume && know_ranks(j.request, j.pods, j.gang_size);
    const bool whole = is_whole(j) && agree && may;
    if (j.awaits_resume && subak::is_waiting(j.state) && !drains(j.leaf) &&
        !OracleLimits(*this).limit_waiting(j.leaf)) {
      wrong(name(j.id) + " waits beside the queue although its account accepts it");
    }
    if (j.state == JobState::kQueued && !whole) wrong(name(j.id) + " is queued in part");
    if (j.state == JobState::kIncomplete && whole) wrong(name(j.id) + " is whole and not queued");
    const bool room =
        std::any_of(j.pods.begin(), ranks_end(j), [](const Pod& p) { return !p.live; });
    const bool more = std::any_of(ranks_end(j), j.pods.end(), [](const Pod& p) { return p.live; });
    for (std::uint32_t rank = 0; rank < j.pods.size(); ++rank) {
      const bool kept = j.pods[rank].expected && slot(j.id, rank) != nullptr;
      const bool none = live(j) == 0 && !OracleParking::awaits_pods(j);
      if (kept && (j.state != JobState::kStarting || none)) {
        wrong(name(j.id) + " keeps a place for nobody");
      }
    }
    if (subak::is_waiting(j.state) && room && more)
      wrong(name(j.id) + " lets a member wait behind a free rank");
    const bool parked = j.last.parking == Parking::kParked && is_whole(j);
    if (subak::is_waiting(j.state) && live(j) == 0 && j.until == 0 && !parked)
      wrong(name(j.id) + " waits for nobody");
  }
}

}  // namespace subak::sim
