// What facts about jobs and their pods change.
#include <algorithm>
#include <memory>
#include <utility>

#include "core/must.h"
#include "engine/state/state.h"

namespace subak {

using state::Job;
using state::Pod;

// A job that leaves the queue is no longer awaited.
void State::set_state(Job& job, JobState to) {
  jobs_.set_state(job, to);
  if (to != JobState::kQueued) clusters_.await_no_longer(job.id);
  pass_due_ = true;
}

void State::on(const fact::JobCreated& f) {
  ShapeUse shape = f.origin == JobOrigin::kApi ? fleet_.use(f.id.cluster(), f.request) : ShapeUse();
  Job& job = jobs_.create(f, std::move(shape), now_);
  clusters_.number_used(f.id);
  if (f.state != JobState::kIncomplete) set_state(job, f.state);
  remember(f.edit, {now_, f.id, AccountId(), 0});
}

void State::on(const fact::PodAdded& f) {
  jobs_.add_pod(f, use_alone(f.job.cluster(), f.shape));
  if (!f.bound) return;
  Job& job = jobs_.writable(f.job);
  allocations_.take(job, f.rank, f.slot, now_);
  allocations_.bind(job, f.rank, now_);
  job.pods[f.rank].state = PodState::kBound;
}

void State::on(const fact::JobMoved& f) {
  Job& job = jobs_.writable(f.id);
  job.cancelling = job.cancelling || f.cancelling;
  if (f.adopted) job.origin = JobOrigin::kAdopted;
  if (f.outcome != Outcome::kNone) job.outcome = f.outcome;
  if (job.state == JobState::kIncomplete && f.to == JobState::kQueued) {
    jobs_.complete_gang(job, fleet_.use(f.id.cluster(), jobs_.request_of(job)));
  }
  set_state(job, f.to);
  remember(f.edit, {now_, f.id, AccountId(), 0});
  if (f.to == JobState::kDone) jobs_.end(job, now_);
}

void State::on(const fact::JobReserved& f) {
  Job& job = jobs_.writable(f.id);
  if (job.state != JobState::kReserved) {
    set_state(job, JobState::kReserved);
    job.attempt = f.attempt;
    job.started_ms = now_;
    if (job.pods.empty()) {
      job.pods.resize(f.slots.size());
      jobs_.complete_gang(job, job.shape.share());
    }
    must(f.slots.size() <= job.pods.size(), "a place has no more slots than the job has pods");
    for (std::uint32_t rank = 0; rank < f.slots.size(); ++rank) {
      allocations_.take(job, rank, f.slots[rank], now_);
    }
  }
  jobs_.set_deadline(job, f.until_ms);
}

// Reserved becomes running when no pod is left to bind.
void State::run_if_bound(Job& job) {
  const bool all = std::none_of(job.pods.begin(), job.pods.end(), [](const Pod& p) {
    return p.state == PodState::kWaiting || p.state == PodState::kHeld;
  });
  if (all && job.state == JobState::kReserved && job.pods_holding() > 0) {
    set_state(job, JobState::kRunning);
  }
}

void State::on(const fact::PodBound& f) {
  Job& job = jobs_.writable(f.job);
  Pod& pod = job.pods.at(f.rank);
  must(pod.holds_slot(), "what is bound was held");
  if (!(pod.slot == f.slot)) {  // somebody bound it elsewhere
    allocations_.move(job, f.rank, f.slot, now_);
    pass_due_ = true;
  }
  allocations_.bind(job, f.rank, now_);
  pod.state = PodState::kBound;
  run_if_bound(job);
}

void State::on(const fact::PodRunning& f) {
  Pod& pod = jobs_.writable(f.job).pods.at(f.rank);
  must(pod.is_bound(), "what runs is bound");
  pod.state = PodState::kRunning;
}

void State::on(const fact::PodGone& f) {
  Job& job = jobs_.writable(f.job);
  if (job.pods.at(f.rank).holds_slot()) {
    allocations_.give(job, f.rank, f.at_ms, now_);
    const bool ill = f.outcome != Outcome::kNone && f.outcome != Outcome::kSucceeded;
    if (ill && job.outcome == Outcome::kNone) job.outcome = f.outcome;
  }
  jobs_.end_pod(job, f.rank);
  run_if_bound(job);
  pass_due_ = true;
}

void State::on(const fact::HoldReleased& f) {
  Job& job = jobs_.writable(f.id);
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    if (job.pods[rank].state != PodState::kHeld) continue;
    allocations_.give(job, rank, now_, now_);
    job.pods[rank].state = PodState::kWaiting;
    pass_due_ = true;
  }
  jobs_.set_deadline(job, 0);
  if (job.all_pods(PodState::kWaiting)) {
    job.started_ms = 0;
    set_state(job, JobState::kQueued);
  }
}

void State::on(const fact::JobKept& f) {
  if (!jobs_.gather(f)) return;
  const bool lives = f.job.request.pods() > 0 && f.job.state != JobState::kDone;
  Job& job = jobs_.restore(f, lives ? fleet_.use(f.job.id.cluster(), f.job.request) : ShapeUse());
  for (std::uint32_t rank = 0; rank < job.pods.size(); ++rank) {
    restore_pod(job, rank, jobs_.gathered()[rank]);
  }
  jobs_.restored(job, f);
}

void State::restore_pod(Job& job, std::uint32_t rank, const fact::JobKept::Pod& kept) {
  ShapeUse shape = job.shape.share();
  const bool seen = !kept.uid.empty() && job.state != JobState::kDone;
  if (!shape && seen) shape = use_alone(job.id.cluster(), kept.shape);
  jobs_.restore_pod(job, rank, std::move(shape));
  if (!job.pods[rank].holds_slot()) return;
  allocations_.take(job, rank, kept.slot, now_);
  if (kept.state != PodState::kHeld) allocations_.bind(job, rank, now_);
  job.pods[rank].state = kept.state;
}

}  // namespace subak
