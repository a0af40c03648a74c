// When what jobs hold is taken to be free: by their limits, never by a guess of how long they will run.
#include <algorithm>

#include "core/limits.h"
#include "core/must.h"
#include "engine/state/state.h"

namespace subak {

using state::Job;
using state::kNever;

namespace {

// The clock of its limit runs: from the start of its attempt on, since its GPUs are nobody else's then.
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
  const bool ours = job.origin == JobOrigin::kApi || job.origin == JobOrigin::kPods;
  if (!ours || job.time_limit_ms == 0) return false;
  for (AccountId id = job.leaf == kUnassigned ? AccountId() : job.leaf; id;
       id = tree_.node(id).parent) {
    const TimeLimits said = tree_.node(id).spec.time_limits;
    if (said != TimeLimits::kInherit) return said == TimeLimits::kEnforced;
  }
  return policy_.enforce_time_limits;
}

TimeMs State::limit_end(const Job& job) const {
  return job.run().started_ms + job.time_limit_ms + policy_.time_limit_grace_ms;
}

TimeMs State::planned_end(const Job& job, std::uint32_t overruns) const {
  if (enforces_limit(job)) {
    return doubled(limit_end(job), limits::kEndingMs, overruns);
  }
  const DurationMs limit_ms =
      job.time_limit_ms != 0 ? job.time_limit_ms : policy_.default_time_limit_ms;
  return limit_ms == 0 ? kNever : doubled(job.run().started_ms, limit_ms, overruns);
}

TimeMs State::sure_end(const Job& job) const {
  if (job.time_limit_ms == 0) return kNever;
  const bool enforced = enforces_limit(job);
  const DurationMs grace_ms = enforced ? policy_.time_limit_grace_ms + limits::kEndingMs : 0;
  return std::min(kNever, now_ + job.time_limit_ms + grace_ms);
}

void State::plan_end(Job& job) {
  const TimeMs before = job.run().end_ms;
  if (!has_end(job)) {
    jobs_.set_end(job, 0, 0);
    return;
  }
  const TimeMs end = planned_end(job, job.overruns);
  const bool asked = job.state == JobState::kEnding;
  TimeMs due = end;
  if (!asked && enforces_limit(job)) due = limit_end(job);
  jobs_.set_end(job, end, due >= kNever ? 0 : due);
  if (end != before) allocations_.end_changed(job);
}

// The policy or an account says something else.
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
  job.overruns = static_cast<std::uint8_t>(f.times);
  plan_end(job);
  pass_due_ = true;
}

}  // namespace subak
