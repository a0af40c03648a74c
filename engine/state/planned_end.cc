#include "engine/state/planned_end.h"

#include <algorithm>

#include "accounting/quota/account_budgets.h"
#include "core/limits.h"
#include "core/must.h"

namespace subak {
namespace state {
namespace {

// Returns `from` plus `ms` doubled `times` times.
TimeMs doubled(TimeMs from, DurationMs ms, std::uint32_t times) {
  must(ms > 0, "what is doubled is some time");
  if (times >= limits::kMaxOverruns || ms >= (kNever - from) >> times) return kNever;
  return from + (ms << times);
}

}  // namespace

bool has_end(const Job& job) {
  return job.run().started_ms != 0 && (job.active() || job.state == JobState::kRunning);
}

bool enforces_limit(const State& s, const Job& job) {
  if (!job.is_ours() || job.time_limit_ms == 0) return false;
  if (job.leaf != kUnassigned && has_hard_budget(s.tree(), job.leaf)) return true;
  for (AccountId id = job.leaf == kUnassigned ? AccountId() : job.leaf; id;
       id = s.tree().node(id).parent) {
    const TimeLimits said = s.tree().node(id).spec.time_limits;
    if (said != TimeLimits::kInherit) return said == TimeLimits::kEnforced;
  }
  return s.policy().enforce_time_limits;
}

bool trusts_limit(const State& s, const Job& job) {
  if (job.time_limit_ms == 0 || job.overruns > 0) return false;
  if (enforces_limit(s, job)) return true;
  return !job.shape || !s.jobs().limit_record().overran_lately(job, s.fleet().request(job.shape));
}

DurationMs default_limit(const State& s, AccountId leaf) {
  for (AccountId id = leaf == kUnassigned ? AccountId() : leaf; id; id = s.tree().node(id).parent) {
    const DurationMs own = s.tree().node(id).spec.default_time_limit_ms;
    if (own != 0) return own;
  }
  return s.policy().default_time_limit_ms;
}

bool ends_by_budget(const State& s, const Job& job) {
  return job.time_limit_ms == 0 && job.is_ours() && job.leaf != kUnassigned &&
         has_hard_budget(s.tree(), job.leaf);
}

// Returns when a job without a time limit has to be gone by the periods of its accounts' hard
// budgets. kEndless: default_limit() counts instead, or there is no such budget.
static TimeMs end_by_budget(const State& s, const Job& job) {
  if (!ends_by_budget(s, job)) return kEndless;
  const bool asked = job.state == JobState::kEnding && job.stop == Cause::kBudget;
  const TimeMs asked_ms = asked && job.until_ms != 0 ? job.until_ms : kEndless;
  if (default_limit(s, job.leaf) != 0) return asked_ms;
  return std::min(asked_ms, budget_until(s.tree(), job.leaf));
}

TimeMs limit_end(const State& s, const Job& job, TimeMs started_ms) {
  must(job.time_limit_ms != 0, "only a job with a time limit ends by it");
  return started_ms + job.time_limit_ms + s.policy().time_limit_grace_ms;
}

TimeMs planned_end(const State& s, const Job& job, TimeMs started_ms, std::uint32_t overruns) {
  if (enforces_limit(s, job)) {
    return doubled(limit_end(s, job, started_ms), limits::kEndingMs, overruns);
  }
  if (TimeMs end_ms = end_by_budget(s, job); end_ms < kEndless) {
    // After a leap of the clock, the present period may be over already.
    end_ms = std::max(end_ms, started_ms + limits::kEndingMs);
    return doubled(end_ms - limits::kEndingMs, limits::kEndingMs, overruns);
  }
  const DurationMs limit_ms =
      job.time_limit_ms != 0 ? job.time_limit_ms : default_limit(s, job.leaf);
  return limit_ms == 0 ? kNever : doubled(started_ms, limit_ms, overruns);
}

TimeMs end_by_default(const Job& job, DurationMs limit_ms) {
  return doubled(job.run().started_ms, limit_ms, job.overruns);
}

JobDemand job_demand(const State& s, const Job& job) {
  if (s.tree().quota_sums().extra_limits().empty()) return {};
  const TimeMs end_ms = planned_end(s, job, s.now(), 0);
  JobDemand demand{1, job.time_limit_ms, end_ms < kNever ? end_ms - s.now() : 0, s.now()};
  demand.civil = s.allocations().calendar() != nullptr;
  return demand;
}

TimeMs sure_end(const State& s, const Job& job) {
  return trusts_limit(s, job) ? planned_end(s, job, s.now(), 0) : kNever;
}

}  // namespace state

using state::Job;
using state::kNever;

void State::plan_end(Job& job) {
  const TimeMs before = job.run().end_ms;
  if (!state::has_end(job)) {
    jobs_.set_end(job, 0, 0);
    if (before != 0) allocations_.end_changed(job, before);
    return;
  }
  const TimeMs started_ms = job.run().started_ms;
  const TimeMs end = state::planned_end(*this, job, started_ms, job.overruns);
  must(end >= started_ms, "a job ends after it started");
  const bool asked = job.state == JobState::kEnding;
  TimeMs due = end;
  const bool by_default =
      state::ends_by_budget(*this, job) && state::default_limit(*this, job.leaf) != 0;
  if (!asked && by_default) due = std::max(started_ms, end - limits::kEndingMs);
  if (!asked && state::enforces_limit(*this, job)) due = state::limit_end(*this, job, started_ms);
  jobs_.set_end(job, end, due >= kNever ? 0 : due);
  if (end != before) allocations_.end_changed(job, before);
}

// Called after the policy or an account has changed.
void State::plan_ends() {
  for (const auto& [id, job] : jobs_.table().all()) {  // any order: each by itself
    if (state::has_end(job)) plan_end(jobs_.writable(id));
  }
}

void State::on(const fact::JobOverran& f) {
  Job& job = jobs_.writable(f.id);
  must(f.attempt == job.attempt && state::has_end(job), "who overruns has an attempt");
  must(f.times > job.overruns && f.times <= limits::kMaxOverruns, "overruns are counted");
  const DurationMs early_ms = state::ends_by_budget(*this, job) ? limits::kEndingMs : 0;
  must(job.run().end_ms <= now() + early_ms, "who overruns was to have ended");
  jobs_.overran(job, f.times);
  plan_end(job);
  pass_due_.now = true;
}

}  // namespace subak
