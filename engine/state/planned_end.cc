// Planned ends of jobs: by their limits, never by a predicted run time.
#include "core/limits.h"
#include "core/must.h"
#include "engine/state/state.h"

namespace subak {

using state::Job;
using state::kNever;

namespace {

// True if the clock of its limit runs: from the start of its attempt on, since no other job can use
// its GPUs then.
bool has_end(const Job& job) {
  return job.run().started_ms != 0 && (job.active() || job.state == JobState::kRunning);
}

// `times` doublings of `ms` after `from`.
TimeMs doubled(TimeMs from, DurationMs ms, std::uint32_t times) {
  if (times >= limits::kMaxOverruns || ms >= (kNever - from) >> times) return kNever;
  return from + (ms << times);
}

}  // namespace

bool State::enforces_limit(const Job& job) const {
  if (!job.is_ours() || job.time_limit_ms == 0) return false;
  for (AccountId id = job.leaf == kUnassigned ? AccountId() : job.leaf; id;
       id = tree_.node(id).parent) {
    const TimeLimits said = tree_.node(id).spec.time_limits;
    if (said != TimeLimits::kInherit) return said == TimeLimits::kEnforced;
  }
  return policy_.enforce_time_limits;
}

bool State::trusts_limit(const Job& job) const {
  if (job.time_limit_ms == 0 || job.overruns > 0) return false;
  return enforces_limit(job) || !jobs_.overran_lately(job);
}

TimeMs State::limit_end(const Job& job, TimeMs started_ms) const {
  return started_ms + job.time_limit_ms + policy_.time_limit_grace_ms;
}

TimeMs State::planned_end(const Job& job, TimeMs started_ms, std::uint32_t overruns) const {
  if (enforces_limit(job)) {
    return doubled(limit_end(job, started_ms), limits::kEndingMs, overruns);
  }
  const DurationMs limit_ms =
      job.time_limit_ms != 0 ? job.time_limit_ms : policy_.default_time_limit_ms;
  return limit_ms == 0 ? kNever : doubled(started_ms, limit_ms, overruns);
}

TimeMs State::sure_end(const Job& job) const {
  return trusts_limit(job) ? planned_end(job, now_, 0) : kNever;
}

void State::plan_end(Job& job) {
  const TimeMs before = job.run().end_ms;
  if (!has_end(job)) {
    jobs_.set_end(job, 0, 0);
    return;
  }
  const TimeMs started_ms = job.run().started_ms;
  const TimeMs end = planned_end(job, started_ms, job.overruns);
  const bool asked = job.state == JobState::kEnding;
  TimeMs due = end;
  if (!asked && enforces_limit(job)) due = limit_end(job, started_ms);
  jobs_.set_end(job, end, due >= kNever ? 0 : due);
  if (end != before) allocations_.end_changed(job);
}

// The policy or an account changed.
void State::plan_ends() {
  for (const auto& [id, job] : jobs_.all()) {  // any order: each by itself
    if (has_end(job)) plan_end(jobs_.writable(id));
  }
}

void State::on(const fact::JobOverran& f) {
  Job& job = jobs_.writable(f.id);
  must(f.attempt == job.attempt && has_end(job), "who overruns has an attempt");
  must(f.times > job.overruns && f.times <= limits::kMaxOverruns, "overruns are counted");
  must(job.run().end_ms <= now_, "who overruns was to have ended");
  jobs_.overran(job, f.times);
  plan_end(job);
  pass_due_ = true;
}

}  // namespace subak
