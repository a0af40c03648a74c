// Applies facts about jobs and their pods.
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "core/must.h"
#include "engine/state/state.h"

namespace subak {

using state::Job;
using state::Pod;

namespace {

// True if all usage of the pod before `at` is in the books.
bool is_charged(const State& s, const Pod& pod, TimeMs at) {
  return !s.allocations().keeps_books() || pod.slot.milligpu == 0 || pod.since_ms == at;
}

// The pod existed at `seen_ms` (0: at the time of the fact). A later report on the clock replaces
// an earlier one.
void see_pod(Pod& pod, TimeMs seen_ms, DurationMs behind_ms, TimeMs fact_ms) {
  pod.seen_ms = std::max(pod.seen_ms, seen_ms == 0 ? fact_ms : seen_ms);
  if (behind_ms != 0) pod.behind_ms = behind_ms;
}

// Records that the job gives up the GPUs that it holds, `milligpu`, for a claim. nullptr: the claim
// is not known.
void note_preemption(Job& job, const state::Claim* claim, MilliGpu milligpu, TimeMs now) {
  state::Preempted last;
  const state::Preempted* const before = job.extras().preempted.get();
  last.times = 1 + (before != nullptr ? before->times : 0);
  last.at_ms = now;
  if (claim != nullptr) {
    last.claimant = claim->job, last.leaf = claim->leaf;
    last.right = claim->right;
  }
  last.started_ms = job.run().started_ms;
  last.milligpu = milligpu;
  job.make_extras().preempted = std::make_unique<state::Preempted>(last);
}

MilliGpu held_by(const Job& job) {
  MilliGpu sum = 0;
  for (const Pod& pod : job.pods) sum += pod.holds_slot() ? pod.slot.milligpu : 0;
  return sum;
}

}  // namespace

// A job that leaves the queue loses its reservation and its claim.
void State::set_state(Job& job, JobState to) {
  if (to != JobState::kQueued) claims_.end(job.id);
  jobs_.set_state(job, to);
  if (to == JobState::kRunning) {  // a node took its pods
    jobs_.set_backoff(job, nullptr);
    if (job.of_extras != nullptr) job.of_extras->rejected.reset();
  }
  if (to != JobState::kQueued && clusters_.reserve_no_longer(job.id)) reserve_nodes();
  plan_end(job);
  pass_due_.now = true;
}

void State::on(const fact::JobCreated& f) {
  claims_.note_outside_event(log_);
  ShapeUse shape = f.origin == JobOrigin::kApi ? fleet_.use(f.id.cluster(), f.request) : ShapeUse();
  Job& job = jobs_.create(f, std::move(shape), now());
  must(clusters_.at(f.id.cluster()).next_job <= f.id.sequence(), "a number is used once");
  clusters_.number_used(f.id);
  if (f.state != JobState::kIncomplete) set_state(job, f.state);
  must(job.state == f.state, "a new job is as its fact says");
  remember(f.edit, {now(), f.id, AccountId(), 0});
}

// A gang that changes its members while it waits has no request until it is complete again.
void State::open_gang(Job& job) {
  if (!job.shape || job.origin != JobOrigin::kPods) return;
  state::open_gang(fleet_, job, [&](const PodShape& shape) { return use_single_pod(job, shape); });
}

void State::on(const fact::PodAdded& f) {
  Job& job = jobs_.writable(f.job);
  must(job.state != JobState::kDone, "a job that is done has no new pods");
  if (job.state == JobState::kPaused && f.rank < job.gang_size) open_gang(job);
  if (!log_.restoring()) clusters_.pod_seen(f.job.cluster(), fact_ms());
  const bool kept = f.rank < job.pods.size() && job.pods[f.rank].holds_slot();
  if (kept) return jobs_.fill_place(f);
  jobs_.add_pod(f, use_single_pod(job, f.shape));
  if (job.state == JobState::kIncomplete) jobs_.set_deadline(job, 0);  // a pod came
  if (!f.bound) return;
  must(f.bound_at_ms <= now(), "what is bound was bound before");
  allocations_.take(job, f.rank, f.slot, f.bound_at_ms);
  allocations_.bind(job, f.rank, f.bound_at_ms);
  job.pods[f.rank].seen_ms = f.bound_at_ms;
  job.pods[f.rank].state = PodState::kBound;
}

// Expects a pod at each rank of the fact that has no live pod.
void State::on(const fact::PodsExpected& f) {
  Job& job = jobs_.writable(f.job);
  must(job.state == JobState::kIncomplete || job.state == JobState::kPaused,
       "pods are expected only while the gang is incomplete");
  open_gang(job);
  std::uint32_t rank = f.first;
  for (const PodGroup& group : f.groups) {
    for (std::uint32_t i = 0; i < group.count; ++i, ++rank) {
      if (rank < job.pods.size() && job.pods[rank].is_live()) continue;
      state::expect_pod(job, rank, use_single_pod(job, group.shape));
    }
  }
}

void State::on(const fact::JobParked& f) {
  Job& job = jobs_.writable(f.id);
  must(job.state != JobState::kDone && job.state != JobState::kQueued,
       "a queued job is incomplete before its owner is resumed");
  if (f.to == Parking::kResumed && job.waits()) open_gang(job);
  state::set_parking(job, f.to);
  if (f.to == Parking::kParked && job.state == JobState::kIncomplete) jobs_.set_deadline(job, 0);
  if (f.until_ms == 0) return;
  must(job.state == JobState::kStarting && f.until_ms >= now(), "holds of an attempt end later");
  jobs_.set_deadline(job, f.until_ms);
}

// If the gang is already one request, the request changes and its reservation ends. A pod behind
// the ranks has a shape of its own.
void State::on(const fact::PodChanged& f) {
  Job& job = jobs_.writable(f.job);
  must(job.pods.at(f.rank).state == PodState::kWaiting, "who waits may change");
  pass_due_.now = true;
  job.pods[f.rank].order = f.order;
  if (!job.shape || f.rank >= job.ranks()) {
    Pod& pod = job.pods[f.rank];
    must(pod.shape && pod.shape_rank == 0, "who changes was seen");
    pod.shape = use_single_pod(job, f.shape);
    pod.dispute = f.dispute;
    return;
  }
  must(job.waits(), "a request changes while its job waits");
  if (clusters_.reserve_no_longer(f.job)) reserve_nodes();
  claims_.end(f.job);
  const GangRequest request = state::request_with(fleet_, job, f.rank, f.shape);
  jobs_.change_request(job, fleet_.use(f.job.cluster(), request));
}

void State::on(const fact::PodSeated& f) {
  Job& job = jobs_.writable(f.job);
  must(job.state == JobState::kIncomplete || job.state == JobState::kPaused,
       "ranks are taken only while a gang is incomplete");
  open_gang(job);
  jobs_.seat_pod(job, f.from, f.rank);
}

void State::on(const fact::PodsRanked& f) {
  Job& job = jobs_.writable(f.job);
  must(job.state == JobState::kIncomplete || job.state == JobState::kPaused,
       "ranks change only while a gang is incomplete");
  open_gang(job);
  jobs_.rank_pods(job, f.moves);
}

void State::on(const fact::PodGated& f) {
  Pod& pod = jobs_.writable(f.job).pods.at(f.rank);
  must(pod.is_live() && !pod.is_bound() && pod.gate != f.gate, "gates matter until a pod is bound");
  pod.gate = f.gate;
}

void State::on(const fact::GangResized& f) {
  Job& job = jobs_.writable(f.id);
  must(job.state == JobState::kIncomplete || job.state == JobState::kPaused,
       "a gang changes its size while it is not whole");
  must(job.gang && f.size != job.gang_size, "a gang gets another size");
  open_gang(job);
  jobs_.resize_gang(job, f.size);
  pass_due_.now = true;
}

void State::on(const fact::GangEmptied& f) {
  Job& job = jobs_.writable(f.id);
  must(job.state == JobState::kIncomplete && job.pods_live() == 0, "no pod of the gang is left");
  jobs_.set_deadline(job, f.until_ms);
}

void State::on(const fact::JobAssigned& f) {
  claims_.note_outside_event(log_);
  Job& job = jobs_.writable(f.id);
  must(job.state != JobState::kDone && job.state != JobState::kQueued,
       "who gets an account had no place in the queue");
  if (job.leaf == kUnassigned) {
    jobs_.assign(job, f.leaf);
    allocations_.assign(job, now());
    plan_end(job);  // the account may have a default time limit of its own
  }
  must(job.leaf == f.leaf, "who has an account keeps it");
  jobs_.await_resume(job, f.awaits_resume);
}

void State::on(const fact::JobMoved& f) {
  Job& job = jobs_.writable(f.id);
  if (f.to == JobState::kDone || job.extras().preempted == nullptr)
    claims_.note_outside_event(log_);
  must(!job.active(), "a job that has an attempt ends it first");
  must((f.cause == Cause::kNone) == (f.to != JobState::kDone), "an end has its cause");
  must(f.edit.actor.empty() || f.from == job.state, "who is moved is as it was seen");
  if (f.cause != Cause::kNone) job.cause = f.cause;
  if (f.to == JobState::kIncomplete) open_gang(job);
  if (f.to == JobState::kQueued && !job.shape) {
    state::complete_gang(fleet_, job, fleet_.use(f.id.cluster(), state::request_of(fleet_, job)));
  }
  must(f.until_ms == 0 || f.to == JobState::kPaused, "who is paused is queued again");
  set_state(job, f.to);
  must(f.until_ms == 0 || f.until_ms >= now(), "a pause ends after it begins");
  if (f.until_ms != 0) jobs_.set_deadline(job, f.until_ms);
  remember(f.edit, {now(), f.id, AccountId(), 0});
  if (f.to == JobState::kDone) jobs_.end(job, now());
}

void State::on(const fact::JobAdopted& f) {
  Job& job = jobs_.writable(f.id);
  must(job.origin == JobOrigin::kForeign && job.state != JobState::kDone,
       "who is adopted was foreign and runs");
  job.origin = JobOrigin::kAdopted;
  plan_end(job);
}

void State::on(const fact::AttemptStarted& f) {
  Job& job = jobs_.writable(f.id);
  must(f.attempt == job.attempt + 1, "attempts are counted one by one");
  must(!f.slots.empty() && f.slots.size() == job.gang_size, "all pods of a gang start together");
  must(job.pods_holding() == 0, "a job that starts holds nothing yet");
  must(f.until_ms >= now(), "a hold ends after it begins");
  job.make_run().started_ms = now();
  job.overruns = 0;
  set_state(job, JobState::kStarting);
  job.attempt = f.attempt;
  job.cause = Cause::kNone;
  if (job.pods.empty()) {
    job.pods.resize(f.slots.size());
    state::complete_gang(fleet_, job, job.shape.share());
  }
  unsettle(job.pods);
  for (std::uint32_t rank = 0; rank < f.slots.size(); ++rank) {
    job.pods[rank].refused = false;
    allocations_.take(job, rank, f.slots[rank], now());
  }
  jobs_.set_deadline(job, f.until_ms);
  must(job.pods_holding() == job.gang_size, "all pods of the gang have a hold");
}

void State::on(const fact::DeadlinePassed& f) {
  Job& job = jobs_.writable(f.id);
  must(job.active() && f.attempt == job.attempt, "a deadline is of the present attempt");
  must(job.until_ms != 0 && job.until_ms <= now(), "what is past was to come");
  jobs_.set_deadline(job, 0);
  // The planned end of a job that a budget ends depends on the deadline.
  plan_end(job);
  if (claims_.by(f.id) != nullptr) pass_due_.now = true;  // its claim may end
}

void State::on(const fact::StopAsked& f) {
  Job& job = jobs_.writable(f.id);
  must(f.attempt == job.attempt && f.from == job.state, "who is to end is as it was seen");
  must(f.cause != Cause::kNone, "a stop has its cause");
  must(f.cause != job.stop, "a stop is asked once of a cause");
  if (f.cause != Cause::kMemberLost || job.cause == Cause::kNone) job.cause = f.cause;
  job.stop = f.cause;
  if (f.cause == Cause::kPreempted) note_preemption(job, claims_.by(job.id), held_by(job), now());
  if (job.state != JobState::kEnding) set_state(job, JobState::kEnding);
  must(f.until_ms == 0 || f.until_ms >= job.run().started_ms, "a hold ends after it begins");
  jobs_.set_deadline(job, f.until_ms);
  // From now on, overruns count late ends.
  if (f.cause == Cause::kBudget) job.overruns = 0;
  plan_end(job);
  if (job.ends_for_good()) jobs_.forget_gang(job);
  remember(f.by, {now(), f.id, AccountId(), 0});
}

void State::on(const fact::EndRefused& f) {
  Job& job = jobs_.writable(f.id);
  must(f.attempt == job.attempt && job.state == JobState::kEnding, "who may not end is to end");
  must(job.run().end_refused_ms == 0, "that an end is refused is said once");
  job.make_run().end_refused_ms = now();
  if (claims_.by(f.id) != nullptr) pass_due_.now = true;  // its claim may end
}

void State::on(const fact::SchedulerRefused& f) {
  Job& job = jobs_.writable(f.id);
  Pod& pod = job.pods.at(f.rank);
  must(job.active() && pod.state == PodState::kHeld, "who is refused was on its way");
  must(!pod.refused && !f.words.empty(), "a refusal is said once, in words");
  pod.refused = true;
  jobs_.set_backoff(
      job, std::make_unique<state::Backoff>(state::Backoff{f.words, f.backoffs, f.until_ms}));
}

void State::on(const fact::RefusalsForgotten& f) {
  Job& job = jobs_.writable(f.id);
  must(job.extras().backoff != nullptr, "what is forgotten was said");
  jobs_.set_backoff(job, nullptr);
  pass_due_.now = true;
}

void State::on(const fact::ReadyTimedOut& f) {
  Job& job = jobs_.writable(f.id);
  must(job.in_attempt() && job.pods.at(f.rank).is_bound(), "a pod that is not ready is on a node");
  must(!f.words.empty() && f.times > 0, "a pod that is not ready has a reason");
  job.make_extras().unready =
      std::make_unique<state::ReadyTimeout>(state::ReadyTimeout{f.words, f.times, f.until_ms});
}

void State::on(const fact::AttemptEnded& f) {
  Job& job = jobs_.writable(f.id);
  if (f.cause != Cause::kPreempted && job.stop != Cause::kPreempted)
    claims_.note_outside_event(log_);
  must(f.attempt == job.attempt && f.cause != Cause::kNone, "an attempt ends once, of a cause");
  must(job.active() || job.state == JobState::kRunning,
       "an attempt that ends had a hold or was asked to end");
  must(f.to == JobState::kDone || is_waiting(f.to), "who has no attempt waits, or is done");
  const MilliGpu held = held_by(job);
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    must(!job.pods[rank].is_bound(), "nothing of an attempt that ended is bound");
    if (job.pods[rank].state != PodState::kHeld) continue;
    give_slot(job, rank, now());
    job.pods[rank].state = PodState::kWaiting;
    pass_due_.now = true;
  }
  must(job.pods_holding() == 0, "nothing of an attempt that ended is held");
  // A victim that had not begun to run ends without StopAsked, so its preemption is recorded here.
  const state::Claim* const claim = claims_.by(job.id);
  if (claim != nullptr && f.cause == Cause::kPreempted && job.stop != Cause::kPreempted)
    note_preemption(job, claim, held, now());
  claims_.victim_ended(job.id);
  job.cause = f.cause;
  job.stop = Cause::kNone;
  if (job.of_run) job.of_run->end_refused_ms = 0;
  if (f.cause != Cause::kReleaseRefused) {
    job.refusals = 0;
  } else if (job.refusals < std::numeric_limits<std::uint16_t>::max()) {
    ++job.refusals;
  }
  if (f.to != JobState::kDone) {
    jobs_.end_run(job);
    // An API job's launcher recreates all pods. The present pods of a gang still wait.
    for (Pod& pod : job.pods) {
      if (job.origin == JobOrigin::kApi) pod.state = PodState::kWaiting;
    }
  }
  if (f.to == JobState::kIncomplete) open_gang(job);
  set_state(job, f.to);
  if (f.to == JobState::kPaused) jobs_.set_deadline(job, f.until_ms);
  if (f.to == JobState::kDone) jobs_.end(job, now());
}

void State::give_slot(Job& job, std::uint32_t rank, TimeMs at) {
  const Pod& pod = job.pods.at(rank);
  must(is_charged(*this, pod, at), "a released hold is charged up to then");
  const DurationMs length_ms = at - job.run().started_ms;
  if (pod.slot.milligpu > 0 && length_ms > 0)
    clusters_.hold_ended(job.id.cluster(), pod.slot.milligpu, length_ms);
  allocations_.give(job, rank, at, now());
}

void State::on(const fact::PlaceLost& f) {
  Job& job = jobs_.writable(f.job);
  must(job.active(), "a pod that loses its hold has an attempt");
  must(job.pods.at(f.rank).state == PodState::kHeld, "a pod that loses its hold was not bound");
  must(f.cause != Cause::kNone, "a lost hold has a cause");
  if (job.cause == Cause::kNone) job.cause = f.cause;
  give_slot(job, f.rank, now());
  job.pods[f.rank].state = PodState::kWaiting;
  pass_due_.now = true;
}

// A starting job runs when no pod is left to bind.
void State::run_if_bound(Job& job) {
  must(job.ranks() <= job.pods.size(), "each rank has a pod");
  const auto end = job.pods.begin() + static_cast<std::ptrdiff_t>(job.ranks());
  const bool all = std::none_of(job.pods.begin(), end, [](const Pod& p) {
    return p.state == PodState::kWaiting || p.state == PodState::kHeld;
  });
  if (all && job.state == JobState::kStarting && job.pods_holding() > 0) {
    set_state(job, JobState::kRunning);
  }
}

void State::on(const fact::PodBound& f) {
  Job& job = jobs_.writable(f.job);
  Pod& pod = job.pods.at(f.rank);
  if (!log_.restoring()) clusters_.pod_seen(f.job.cluster(), fact_ms());
  must(pod.holds_slot(), "what is bound was held");
  must(f.at_ms <= now(), "what is bound was bound before");
  must(is_charged(*this, pod, f.at_ms), "a hold is charged up to its bind");
  if (!(pod.slot == f.slot)) {  // another party bound it elsewhere
    allocations_.move(job, f.rank, f.slot, now());
    claims_.note_outside_event(log_);
    pass_due_.now = true;
  }
  allocations_.bind(job, f.rank, now());
  pod.state = PodState::kBound;
  pod.gate = PodGate::kOpen;
  see_pod(pod, f.seen_ms, f.behind_ms, fact_ms());
  run_if_bound(job);
}

void State::on(const fact::PodRunning& f) {
  Pod& pod = jobs_.writable(f.job).pods.at(f.rank);
  if (!log_.restoring()) clusters_.pod_seen(f.job.cluster(), fact_ms());
  must(pod.state == PodState::kBound, "what begins to run is bound, and did not run");
  pod.state = PodState::kRunning;
  see_pod(pod, f.seen_ms, f.behind_ms, fact_ms());
}

void State::on(const fact::PodGone& f) {
  Job& job = jobs_.writable(f.job);
  must(job.state != JobState::kDone, "a pod that goes is of a live job");
  must(f.at_ms <= now(), "who is gone went before");
  if (job.pods.at(f.rank).holds_slot()) {
    if (job.stop != Cause::kPreempted) claims_.note_outside_event(log_);
    if (!f.rejection.error.empty()) {  // older stores have rejections without an error
      const std::string& node = fleet_.node(job.pods[f.rank].slot.node)->name;
      job.make_extras().rejected =
          std::make_unique<NodeRejection>(NodeRejection{node, f.rejection});
    }
    const NodeId node = job.pods[f.rank].slot.node;
    give_slot(job, f.rank, f.at_ms);
    if (f.cause == Cause::kFinished && job.in_attempt() && job.run().holding > 0)
      job.of_run->pod_finished(node, fact_ms());
    const bool ill = f.cause != Cause::kNone && f.cause != Cause::kFinished;
    if (ill && job.cause == Cause::kNone) job.cause = f.cause;
  }
  if (job.of_run) job.of_run->end_refused_ms = 0;
  const bool of_gang = f.rank < job.ranks();
  if (job.state == JobState::kPaused && of_gang) open_gang(job);
  jobs_.end_pod(job, f.rank);
  run_if_bound(job);
  pass_due_.now = true;
}

void State::on(const fact::JobSnapshot& f) {
  must(log_.restoring(), "jobs are restored from a checkpoint alone");
  const fact::JobSnapshot* const all = jobs_.gather(f);
  if (all == nullptr) return;  // more parts of it follow
  const bool lives = all->job.state != JobState::kDone;
  const bool whole = lives && all->job.request.pods() > 0;
  Job& job =
      jobs_.restore(*all, whole ? fleet_.use(all->job.id.cluster(), all->job.request) : ShapeUse());
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    restore_pod(job, rank, all->pods[rank], lives);
  }
  jobs_.restored(job, *all);
  plan_end(job);
}

void State::restore_pod(Job& job, std::uint32_t rank, const fact::JobSnapshot::Pod& kept,
                        bool lives) {
  ShapeUse shape = rank < job.ranks() ? job.shape.share() : ShapeUse();
  // A pod that was seen, or that is expected.
  const bool known = !kept.uid.empty() || kept.gate == PodGate::kClosed;
  if (!shape && lives && known) shape = use_single_pod(job, kept.shape);
  must(rank < job.pods.size(), "a checkpoint has each pod of its job");
  jobs_.restore_pod(job, rank, kept, std::move(shape));
  if (!job.pods[rank].holds_slot()) return;
  allocations_.take(job, rank, kept.slot, now());
  job.pods[rank].since_ms = kept.since_ms;
  job.pods[rank].seen_ms = kept.seen_ms;
  job.pods[rank].behind_ms = kept.behind_ms;
  if (kept.state != PodState::kHeld) allocations_.bind(job, rank, now());
  job.pods[rank].state = kept.state;
}

}  // namespace subak
