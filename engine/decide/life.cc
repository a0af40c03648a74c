// Decisions about the life of a job: when an attempt is over, whether the job waits again or is
// done, and which pods a waiting gang has (docs/design/0024).
#include <algorithm>
#include <set>
#include <utility>

#include "accounting/quota/entitlement.h"
#include "core/limits.h"
#include "core/must.h"
#include "core/stored_size.h"
#include "engine/decide/decide.h"
#include "engine/derive/effects.h"
#include "engine/derive/entitled_place.h"
#include "engine/derive/preemption/preemptible.h"

namespace subak::decide {
namespace {

using state::Job;
using state::Pod;

// True if Subak can release the pod's hold: as far as Subak knows, the pod's gate is closed. Holds
// of API jobs can always be released.
bool can_give_back(const Job& job, const Pod& pod) {
  if (pod.state != PodState::kHeld) return false;
  return job.origin == JobOrigin::kApi || is_closed(pod.gate);
}

// True if some pod waits without Subak's gate. Only the cluster's scheduler can place such a pod.
bool lets_wait(const Job& job) {
  const auto end = job.pods.begin() + static_cast<std::ptrdiff_t>(job.ranks());
  return std::any_of(job.pods.begin(), end, [](const Pod& p) {
    return p.state == PodState::kWaiting && p.is_live() && !is_closed(p.gate);
  });
}

// True if Subak can release all holds of the attempt, and no pod waits for the cluster's scheduler
// alone.
bool gives_all_back(const Job& job) {
  const bool all = std::all_of(job.pods.begin(), job.pods.end(), [&](const Pod& p) {
    return !p.holds_slot() || can_give_back(job, p);
  });
  return all && job.state == JobState::kStarting && job.pods_holding() > 0 && !lets_wait(job);
}

// True if the job's pods are recreated: the members of a gang, or a single pod that the cluster's
// scheduler could not bind or that was not Ready in time.
bool is_remade(const Job& job) {
  if (job.origin != JobOrigin::kPods) return false;
  if (job.awaits_parked_pods()) return true;
  const bool asked = job.cause == Cause::kUnschedulable || job.cause == Cause::kNotReady;
  const bool alone = asked && !job.pod_origin->owner.empty();
  return (job.gang || alone) &&
         std::any_of(job.pods.begin(), job.pods.end(), [](const Pod& p) { return p.controlled; });
}

Cause cause_of_end(const Job& job) {
  const bool by_member = job.stop == Cause::kMemberLost;
  if (job.state == JobState::kEnding && !by_member) return job.stop;
  return job.cause == Cause::kNone ? Cause::kFinished : job.cause;
}

// Returns the state of an API job after an attempt that ended with this cause. The job waits again
// if the cause is not its own.
JobState api_job_after(Cause cause) {
  const bool own =
      cause == Cause::kFinished || cause == Cause::kFailed || cause == Cause::kVanished;
  return own || !comes_back(cause) ? JobState::kDone : JobState::kQueued;
}

// True if the job expects pods of an owner that was resumed for this attempt. When the attempt ends,
// the job expects them no more: each pod that comes counts as it is.
bool expects_resumed(const Job& job) {
  return job.parking() == Parking::kResumed &&
         std::any_of(job.pods.begin(), job.pods.end(),
                     [](const Pod& p) { return p.is_expected(); });
}

// True if all ranks could be placed again once their holds are released.
bool could_wait_whole(const Job& job) {
  if (expects_resumed(job)) return false;
  const auto end = job.pods.begin() + static_cast<std::ptrdiff_t>(job.ranks());
  return std::all_of(job.pods.begin(), end, [](const Pod& p) {
    return p.is_ready() || (p.state == PodState::kHeld && p.gate == PodGate::kClosed);
  });
}

// True if a person deleted a pod but did not cancel the job: the remaining and the new pods go on.
bool goes_on(const Job& job, Cause cause) {
  return cause == Cause::kCancelled && job.stop != Cause::kCancelled && job.pods_live() > 0;
}

JobState state_after(const Job& job, Cause cause) {
  if (job.origin == JobOrigin::kApi) return api_job_after(cause);
  if (job.origin != JobOrigin::kPods) return JobState::kDone;
  if (!comes_back(cause) && !goes_on(job, cause)) return JobState::kDone;
  if (could_wait_whole(job)) return JobState::kQueued;
  if (job.pods_live() > 0) return JobState::kIncomplete;
  return cause != Cause::kFinished && is_remade(job) ? JobState::kIncomplete : JobState::kDone;
}

// Returns the wait before the next attempt: 10 s, 20 s, 40 s, ...
DurationMs retry_after(std::uint32_t refusals) {
  DurationMs wait = limits::kReleaseRetryMs;
  for (std::uint32_t i = 0; i < refusals && wait < limits::kMaxReleaseRetryMs; ++i) wait *= 2;
  must(wait >= limits::kReleaseRetryMs, "a retry waits at least the first time");
  return std::min(wait, limits::kMaxReleaseRetryMs);
}

// Returns the time `wait` from now. While the cluster's events are not known, the time counts from
// the beginning of that period, because its deadlines are later moved by the length of the period.
TimeMs time_after(const Decision& d, JobId id, DurationMs wait) {
  const TimeMs since = d.s.clusters().at(id.cluster()).since_ms;
  must(since <= d.s.now(), "the time since which a cluster is not known has passed");
  return (since != 0 ? since : d.s.now()) + wait;
}

void end_attempt(Decision& d, const Job& job, Cause cause) {
  must(!job.waits() && job.state != JobState::kDone, "an attempt that ends had begun");
  must(cause != Cause::kNone, "an attempt ends of a cause");
  const JobId id = job.id;
  fact::AttemptEnded ended{id, job.attempt, cause, state_after(job, cause), 0};
  if (cause == Cause::kReleaseRefused && ended.to == JobState::kQueued) {
    ended.to = JobState::kPaused;  // an immediate retry would be refused again
    ended.until_ms = time_after(d, id, retry_after(job.refusals));
  }
  if (ended.to == JobState::kQueued) {
    ended.until_ms = job.backed_off_until(d.s.now());
    if (ended.until_ms != 0) ended.to = JobState::kPaused;
  }
  d.emit(ended);
  must(job.pods_holding() == 0, "an attempt that ended holds nothing");
  if (job.waits() && expects_resumed(job)) d.emit(fact::JobParked{id, Parking::kResumed, 0});
  leave_out_apart(d, id);
  settle(d, id, cause);
  d.act_on(id);
}

// Queues a complete gang. If the job is backed off, it is paused until the end of the backoff.
void move_to_queue(Decision& d, const Job& job) {
  must(may_queue(job), "a job that is queued needs only its turn");
  fact::JobMoved moved;
  moved.id = job.id;
  moved.until_ms = job.backed_off_until(d.s.now());
  moved.to = moved.until_ms == 0 ? JobState::kQueued : JobState::kPaused;
  d.emit(std::move(moved));
}

// Call it when the last pod of a waiting gang is gone. If a controller may recreate the pods, the
// job waits for them for limits::kGangReturnMs.
void nobody_left(Decision& d, const Job& job, Cause cause) {
  must(job.waits() && job.pods_live() == 0, "no pod of the waiting gang is left");
  const JobId id = job.id;
  // The job already waits for new pods.
  if (job.until_ms != 0 && job.state == JobState::kIncomplete) return;
  if (!is_remade(job)) {
    d.emit(fact::JobMoved{id, JobState::kDone, cause, {}, JobState::kIncomplete});
    return;
  }
  if (job.state != JobState::kIncomplete) {
    d.emit(fact::JobMoved{id, JobState::kIncomplete, Cause::kNone, {}, JobState::kIncomplete});
  }
  d.emit(fact::GangEmptied{id, time_after(d, id, limits::kGangReturnMs)});
}

// Releases the holds of expected pods. These pods do not exist yet, so none is on its way and none
// has to end.
void give_back_kept(Decision& d, const Job& job, Cause cause) {
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    if (!job.pods[rank].is_expected() || !job.pods[rank].holds_slot()) continue;
    charge(d, job, rank, d.s.now(), UsageState::kHeldUnbound, kPlatform);
    d.emit(fact::PlaceLost{job.id, rank, cause});
    must(!job.pods[rank].holds_slot(), "an expected pod's hold is released");
  }
}

// Moves pods that wait without a rank to the free ranks.
void take_ranks(Decision& d, JobId id) {
  const Job& job = d.s.jobs().at(id);
  must(job.waits(), "pods take ranks in a job that waits");
  std::uint32_t from = job.gang_size;
  for (std::uint32_t rank = 0; rank < job.gang_size && from < job.pods.size(); ++rank) {
    if (job.pods[rank].is_live()) continue;
    while (from < job.pods.size() && !job.pods[from].is_live()) ++from;
    if (from == job.pods.size()) return;
    if (job.state == JobState::kQueued) {
      d.emit(fact::JobMoved{id, JobState::kIncomplete, Cause::kNone, {}, JobState::kIncomplete});
    }
    if (check_gang_bytes(d, job, rank, state::shape_of(d.s.fleet(), job.pods[from]))) return;
    d.emit(fact::PodSeated{id, from, rank});
    must(job.pods[rank].is_live(), "a free rank has a pod now");
  }
}

// Call it when an account names the namespace of a job without an account. A waiting job then waits
// for its turn; for a running job, the account pays from now on.
void assign(Decision& d, JobId id) {
  const Job& job = d.s.jobs().at(id);
  must(job.leaf == kUnassigned && job.pod_origin != nullptr, "a job of pods without an account");
  const AccountId account = account_of(d, id.cluster(), job.ns(), job.pod_origin->account);
  if (account == kUnassigned) return;
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    if (job.pods[rank].is_bound()) charge_end(d, job, rank, d.s.now());
  }
  const AccountId leaf = leaf_of(d, account, job.pod_origin->user);
  const bool is_new = job.origin == JobOrigin::kPods && job.state == JobState::kIncomplete;
  d.emit(fact::JobAssigned{id, leaf, is_new && !derive::accepts_job(d.s, leaf)});
  must(job.leaf == leaf, "the account pays from now on");
  settle(d, id);
}

}  // namespace

bool may_queue(const Job& job) {
  if (job.origin != JobOrigin::kPods) return true;
  const bool may = job.leaf != kUnassigned && !job.awaits_resume();
  return may && job.is_whole() && job.disputing() == nullptr && job.unknown_ranks().empty();
}

// The request of a complete gang is one record, in which neighbouring pods with the same request
// count once. The check makes no shape, because the pod may be refused.
std::optional<Error> check_gang_bytes(Decision& d, const state::Job& job, std::uint32_t rank,
                                      const PodShape& shape) {
  if (rank >= job.gang_size) return std::nullopt;  // the pod is checked when it gets a rank
  if (job.shape && rank < job.ranks()) {           // the gang's request is one record already
    return check_bytes(stored_bytes(state::request_with(d.s.fleet(), job, rank, shape)));
  }
  std::size_t bytes = 0;
  ShapeId before;
  bool after_new = false;
  const auto add_new = [&] {
    if (!before || !(state::single_pod_of(d.s.fleet(), before) == shape))
      bytes += stored_bytes(shape);
    after_new = true;
  };
  for (std::uint32_t r = 0; r < job.ranks(); ++r) {
    if (r == rank) {
      add_new();
    } else if (const ShapeId here = job.pods[r].shape; here) {
      const bool same =
          after_new ? state::single_pod_of(d.s.fleet(), here) == shape : here == before;
      if (!same) bytes += d.s.single_pod_bytes(here);
      before = here;
      after_new = false;
    }
  }
  if (rank >= job.ranks()) add_new();
  return check_bytes(bytes);
}

std::optional<Error> check_bytes(std::size_t of_gang) {
  if (of_gang <= limits::kMaxJobRequestBytes) return std::nullopt;
  return Error{ErrorCode::kInvalid, "pod.shape", std::to_string(of_gang) + " bytes with its gang's",
               "want at most " + std::to_string(limits::kMaxJobRequestBytes) +
                   " bytes as they are stored; neighbours that ask for the same count once"};
}

void ask_stop(Decision& d, const Job& job, Cause cause, EditStamp by, TimeMs until_ms) {
  must(job.state != JobState::kDone, "a job that is asked to end is live");
  fact::StopAsked stop;
  stop.id = job.id;
  stop.attempt = job.attempt;
  stop.cause = cause;
  stop.by = std::move(by);
  stop.until_ms = until_ms != 0 ? until_ms : job.active() ? job.until_ms : 0;
  stop.from = job.state;
  d.emit(std::move(stop));
  must(job.state == JobState::kEnding && job.stop == cause,
       "a job that was asked to end is ending");
  give_back_kept(d, job, cause);
  d.act_on(job.id);
  // Without pods, there is no end to wait for. The pods of a resumed owner may not exist yet.
  if (job.pods_live() == 0) finish_if_over(d, job.id);
}

void give_up(Decision& d, JobId id, Cause cause) {
  must(cause != Cause::kNone, "an attempt that cannot continue has a cause");
  const Job& job = d.s.jobs().at(id);
  if (job.runs_on()) return part_unbound(d, id, cause);
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    if (can_give_back(job, job.pods[rank])) {
      charge(d, job, rank, d.s.now(), UsageState::kHeldUnbound, kPlatform);
    }
  }
  if (gives_all_back(job)) {
    const bool own = cause == Cause::kMemberLost && job.cause != Cause::kNone;
    return end_attempt(d, job, own ? job.cause : cause);
  }
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    if (!can_give_back(job, job.pods[rank])) continue;
    d.emit(fact::PlaceLost{id, rank, cause});
    d.act_on(id);
  }
  const bool goes_on = job.state == JobState::kStarting || job.state == JobState::kRunning;
  const bool there = job.pods_holding() > 0 || lets_wait(job);
  if (goes_on && there && derive::may_be_ended(job)) ask_stop(d, job, cause, {});
  finish_if_over(d, id);
}

void lose_place(Decision& d, JobId id, std::uint32_t rank, Cause cause) {
  const Job& job = d.s.jobs().at(id);
  if (job.runs_on()) {
    const JobId alone = part(d, id, rank);
    if (alone) lose_place(d, alone, 0, cause);
    return;
  }
  give_up(d, id, cause);
  // give_up() may have released this hold with the others, or ended the attempt and dropped its
  // empty ranks.
  if (rank >= job.pods.size() || job.pods[rank].state != PodState::kHeld) return;
  charge(d, job, rank, d.s.now(), UsageState::kHeldUnbound, kPlatform);
  d.emit(fact::PlaceLost{id, rank, cause});
  d.act_on(id);  // if its gate is open, the pod may still go to the node
  must(rank >= job.pods.size() || !job.pods[rank].holds_slot(),
       "a pod without a place holds no GPU");
  finish_if_over(d, id);
}

void finish_if_over(Decision& d, JobId id) {
  const Job* const job = d.s.jobs().find(id);
  if (job == nullptr || job->state == JobState::kDone) return;
  if (job->waits()) return settle(d, id);
  // A cancelled job ends once its owner is known to stay suspended.
  if (job->is_parked() && job->ends_for_good() && job->pods_holding() == 0) return d.act_on(id);
  const bool more = job->pods_live() > 0 || job->awaits_parked_pods();
  if (!more) give_back_kept(d, *job, cause_of_end(*job));
  for (std::uint32_t rank = 0; rank < job->pods.size(); ++rank) {
    if (job->pods[rank].holds_slot() || derive::must_go(*job, rank)) return;
  }
  must(job->pods_holding() == 0, "an attempt is over once nothing is held");
  end_attempt(d, *job, cause_of_end(*job));
}

void settle(Decision& d, JobId id, Cause cause) {
  const Job& job = d.s.jobs().at(id);
  if (!job.waits() || job.origin != JobOrigin::kPods) return;
  if (job.pods_live() == 0 && !job.is_parked()) return nobody_left(d, job, cause);
  if (job.pods_live() == 0) expect_again(d, id);
  take_ranks(d, id);
  order_ranks(d, id);
  must(job.waits(), "a job still waits after its pods took ranks");
  const bool whole = may_queue(job);
  if (job.state == JobState::kQueued && !whole) {
    d.emit(fact::JobMoved{id, JobState::kIncomplete, Cause::kNone, {}, JobState::kIncomplete});
  } else if (job.state == JobState::kIncomplete && whole) {
    move_to_queue(d, job);
  }
}

void expire(Decision& d, const Job& job) {
  must(job.active(), "only holds expire");
  const JobId id = job.id;
  const bool ending = job.state == JobState::kEnding;
  if (job.runs_on()) {
    part_unbound(d, id, Cause::kExpired);
    if (job.state == JobState::kStarting) d.emit(fact::DeadlinePassed{id, job.attempt});
    return;
  }
  if (!gives_all_back(job)) d.emit(fact::DeadlinePassed{id, job.attempt});
  give_up(d, id, Cause::kExpired);
  if (ending && job.state == JobState::kEnding) d.act_on(id);
}

void end_wait(Decision& d, const Job& job) {
  must(job.state == JobState::kIncomplete || job.state == JobState::kPaused,
       "a job whose wait ends is not queued");
  fact::JobMoved moved;
  moved.id = job.id;
  if (job.state == JobState::kIncomplete) {
    moved.to = JobState::kDone;
    moved.cause = job.cause == Cause::kNone ? Cause::kVanished : job.cause;
  } else {
    moved.to = may_queue(job) ? JobState::kQueued : JobState::kIncomplete;
  }
  d.emit(std::move(moved));
}

void assign_jobs(Decision& d, const AccountSpec& spec) {
  for (const std::string& name : spec.namespaces) {
    const auto slash = name.find('/');
    const std::string ns = slash == std::string::npos ? name : name.substr(slash + 1);
    for (const auto& [cluster, _] : d.s.clusters().all()) {
      assign_jobs(d, cluster, ns);
    }
  }
  for (const auto& [cluster, c] : d.s.clusters().all()) {
    for (const NamespaceLabel* label : c.labels->values()) {
      if (label->account == spec.path) assign_jobs(d, cluster, label->ns);
    }
  }
}

void assign_jobs(Decision& d, ClusterId cluster, const std::string& ns) {
  for (const JobId id : d.s.jobs().gangs().unassigned(cluster, ns)) assign(d, id);
}

namespace {

void accept(Decision& d, JobId id) {
  d.emit(fact::JobAssigned{id, d.s.jobs().at(id).leaf, false});
  must(!d.s.jobs().at(id).awaits_resume(), "an account accepts a job once");
  settle(d, id);
}

}  // namespace

void resume_jobs(Decision& d) {
  for (const JobId id : std::set(d.s.jobs().sets().awaiting_resume())) {
    const AccountId leaf = d.s.jobs().at(id).leaf;
    if (derive::accepts_job(d.s, leaf)) accept(d, id);
  }
}

bool accept_jobs(Decision& d) {
  const auto& awaiting = d.s.jobs().sets().awaiting_by_leaf();
  bool any = false, more = true;
  std::set<AccountId> full;
  while (std::exchange(more, false)) {
    AccountId last;
    for (auto next = awaiting.begin(); next != awaiting.end();
         next = awaiting.lower_bound({AccountId(last.value + 1), JobId()})) {
      const auto [leaf, id] = *next;
      last = leaf;
      if (full.contains(leaf)) continue;
      if (!derive::accepts_job(d.s, leaf)) {
        full.insert(leaf);
        continue;
      }
      accept(d, id);
      any = more = true;
    }
  }
  return any;
}

}  // namespace subak::decide
