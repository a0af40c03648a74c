#include "sim/measures.h"

#include <bit>

namespace subak::sim {
namespace {

std::vector<std::uint64_t> popularity(const Workload& w) {
  std::vector<std::uint64_t> counts(w.requests.size());
  for (const SimJob& job : w.jobs) counts[job.request] += job.warm ? 0 : 1;
  return counts;
}

}  // namespace

Measures::Measures(const Workload& w, ReservedIdle* kept, EtaJudge* eta)
    : workload_(w),
      kept_(kept),
      eta_(eta),
      timeline_(w.teams.size(), w.from_ms, w.to_ms),
      fragmentation_(w.nodes, w.requests, popularity(w), w.from_ms, w.to_ms),
      fates_(w.jobs.size()),
      since_(w.jobs.size()),
      within_quota_(w),
      pods_(w.jobs.size()) {}

void Measures::submitted(std::uint32_t index, JobId id, TimeMs t) {
  const SimJob& job = workload_.jobs[index];
  timeline_.change(job.team, t, 0, job.milligpu);
  within_quota_.queued(job.team, t, job.milligpu);
  if (kept_ != nullptr) kept_->submitted(id, job.milligpu);
  if (eta_ != nullptr) eta_->submitted(index, id);
}

void Measures::started(std::uint32_t index, TimeMs t, const std::vector<EffectPod>& pods) {
  const SimJob& job = workload_.jobs[index];
  timeline_.change(job.team, t, job.milligpu, -job.milligpu);
  within_quota_.started(job.team, t, job.milligpu);
  JobFate& fate = fates_[index];
  const bool is_first = fate.start_ms < 0;
  if (is_first) {
    fate.start_ms = t;
  } else {
    fate.again_ms += t - since_[index];
  }
  since_[index] = t;
  pods_[index] = pods;
  take(pods, +1, t);
  if (eta_ != nullptr && is_first) eta_->started(index, t);
}

void Measures::preempted(std::uint32_t index, JobId id, TimeMs t, DurationMs lost_ms) {
  const SimJob& job = workload_.jobs[index];
  timeline_.change(job.team, t, -job.milligpu, job.milligpu);
  within_quota_.queued(job.team, t, job.milligpu);
  if (kept_ != nullptr) kept_->submitted(id, job.milligpu);
  release(index, t);
  fates_[index].lost_ms += lost_ms;
  ++fates_[index].preemptions;
}

void Measures::ended(std::uint32_t index, TimeMs t) {
  const SimJob& job = workload_.jobs[index];
  timeline_.change(job.team, t, -job.milligpu, 0);
  fates_[index].end_ms = t;
  release(index, t);
}

void Measures::cancelled(std::uint32_t index, TimeMs t) {
  const SimJob& job = workload_.jobs[index];
  timeline_.change(job.team, t, 0, -job.milligpu);
  within_quota_.started(job.team, t, job.milligpu);  // it is no longer queued
  within_quota_.ended(job.team, t, job.milligpu);
}

void Measures::settled(TimeMs t) {
  if (eta_ == nullptr) return;
  const auto start = std::chrono::steady_clock::now();
  eta_->settled(t);
  telling_ += std::chrono::steady_clock::now() - start;
}

SimResult Measures::result() {
  timeline_.finish();
  SimResult r = make_result(workload_, timeline_, fates_);
  if (r.quota) r.quota->queued_within_gpu_h = within_quota_.gpu_hours();
  r.fragmentation = fragmentation_.time_mean(workload_.to_ms);
  return r;
}

void Measures::release(std::uint32_t index, TimeMs t) {
  within_quota_.ended(workload_.jobs[index].team, t, workload_.jobs[index].milligpu);
  fates_[index].held_ms += t - since_[index];
  since_[index] = t;
  take(pods_[index], -1, t);
  std::vector<EffectPod>().swap(pods_[index]);
}

void Measures::take(const std::vector<EffectPod>& pods, MilliGpu sign, TimeMs t) {
  for (const EffectPod& pod : pods) {
    const int gpus = std::popcount(pod.gpu_mask);
    if (gpus > 0) fragmentation_.change(pod.node, pod.gpu_mask, sign * pod.milligpu / gpus, t);
  }
}

}  // namespace subak::sim
