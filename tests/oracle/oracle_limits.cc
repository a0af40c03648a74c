#include "tests/oracle/oracle_limits.h"

#include <algorithm>

#include "core/limits.h"
#include "tests/oracle/oracle_budgets.h"
#include "tests/oracle/oracle_quota.h"
#include "tests/oracle/oracle_text.h"

namespace subak::sim {

// Calls fn(limits, GPUs for each user, account whose jobs count) for the limits of each account on
// the way up, until it returns false.
template <class F>
bool OracleLimits::each(AccountId leaf, F fn) const {
  for (const Oracle::Account* a = o_.account(leaf); a; a = o_.account(a->parent)) {
    if (!fn(parse_job_limits(a->spec.job_limits, "").value(), ProductAmounts(), a->id))
      return false;
    const UserLimits users = parse_user_limits(a->spec.user_limits, "").value();
    if (o_.account(leaf)->spec.user && !fn(users.jobs, users.gpus, leaf)) return false;
  }
  return true;
}

std::int64_t OracleLimits::jobs_at(AccountId id) const {
  return std::count_if(o_.jobs_.begin(), o_.jobs_.end(), [&](const Oracle::Job& j) {
    if (j.leaf == kUnassigned || !o_.below(j.leaf, id)) return false;
    const auto has = [&](const Oracle::Slot& s) { return s.job == j.id && s.at.milligpu > 0; };
    return std::any_of(o_.slots_.begin(), o_.slots_.end(), has) || o_.claim_of(j.id) != nullptr;
  });
}

GpuTime OracleLimits::in_flight(AccountId id) const {
  GpuTime sum;
  for (const Oracle::Slot& s : o_.slots_) {
    if (s.leaf == kUnassigned || !o_.below(s.leaf, id)) continue;
    for (const Oracle::Job& j : o_.jobs_) {
      if (j.id != s.job || !Oracle::holds(j) || o_.end_of(j) == kNeverEnds) continue;
      sum += GpuTime::of(s.at.milligpu, o_.end_of(j) - o_.now_);
    }
  }
  return sum;
}

DurationMs OracleLimits::planned(const Oracle::Job& j) const {
  Oracle::Job started = j;
  started.started = o_.now_;
  started.overruns = 0;
  return o_.end_of(started) == kNeverEnds ? 0 : o_.end_of(started) - o_.now_;
}

bool OracleLimits::allow_minutes(const Oracle::Job& j, MilliGpu gpus) const {
  return each(j.leaf, [&](const JobLimits& limits, const ProductAmounts&, AccountId id) {
    if (!limits.gpu_minutes || gpus == 0) return true;
    const GpuTime need = GpuTime::of(gpus, planned(j));
    return planned(j) != 0 && in_flight(id) + need <= gpu_minutes(*limits.gpu_minutes);
  });
}

std::string OracleLimits::stops(const Oracle::Job& j, const ProductAmounts& gpus) const {
  MilliGpu all = 0;
  for (const ProductAmount& a : gpus) all += a.milligpu;
  if (!allow_minutes(j, all)) return "GPU-minutes";
  const std::string budget = OracleBudgets(o_).stops(j, gpus);
  if (!budget.empty()) return budget;
  std::string out;
  each(j.leaf, [&](const JobLimits& limits, const ProductAmounts& of_user, AccountId id) {
    if (limits.jobs && jobs_at(id) + 1 > *limits.jobs) out = "jobs";
    if (limits.time_ms && (j.limit == 0 || j.limit > *limits.time_ms)) out = "time";
    for (const ProductAmount& most : of_user) {
      const auto of_most = [&](const ProductAmounts& amounts) {
        MilliGpu sum = 0;
        for (const ProductAmount& a : amounts) {
          if (most.product == kAnyProduct || most.product == a.product) sum += a.milligpu;
        }
        return sum;
      };
      const MilliGpu more = of_most(gpus);
      if (more > 0 && of_most(o_.held(id, {})) + more > most.milligpu) out = "GPUs of a user";
    }
    if (!out.empty()) out += " at account " + std::to_string(id.value);
    return out.empty();
  });
  return out;
}

bool OracleLimits::waits_behind_minutes(const Oracle::Job& j) const {
  return std::any_of(o_.jobs_.begin(), o_.jobs_.end(), [&](const Oracle::Job& other) {
    return other.id != j.id && o_.is_waiting(other) && cost(other.request) <= cost(j.request) &&
           !allow_minutes(other, cost(other.request));
  });
}

bool OracleLimits::is_full(AccountId leaf) const {
  if (leaf == kUnassigned) return false;
  return !each(leaf, [&](const JobLimits& limits, const ProductAmounts&, AccountId id) {
    const auto waiting = std::count_if(o_.jobs_.begin(), o_.jobs_.end(), [&](const Oracle::Job& j) {
      return subak::is_waiting(j.state) && !j.awaits_resume && j.leaf != kUnassigned &&
             o_.below(j.leaf, id);
    });
    return !limits.queued || waiting < *limits.queued;
  });
}

bool OracleLimits::limit_waiting(AccountId leaf) const {
  return !each(leaf, [](const JobLimits& limits, const ProductAmounts&, AccountId) {
    return !limits.queued;
  });
}

bool OracleLimits::is_free_for_gang(NodeId node) const {
  return std::any_of(o_.jobs_.begin(), o_.jobs_.end(), [&](const Oracle::Job& j) {
    const bool counts = j.last.finishing != 0 && o_.now_ < j.last.finishing + limits::kGangFinishMs;
    return counts && j.last.finished_on.contains(node) &&
           std::any_of(o_.slots_.begin(), o_.slots_.end(),
                       [&](const Oracle::Slot& s) { return s.job == j.id && s.at.milligpu > 0; });
  });
}

void OracleLimits::judge_gang_nodes(Oracle& oracle, const fact::AttemptStarted& f) {
  const bool reserved = std::any_of(oracle.reserved_.begin(), oracle.reserved_.end(),
                                    [&](const fact::Reserved& r) { return r.job == f.id; });
  for (const PodSlot& to : f.slots) {
    if (!reserved && OracleLimits(oracle).is_free_for_gang(to.node))
      oracle.wrong(name(f.id, 0) + " starts on a node of a gang that finishes");
  }
}

}  // namespace subak::sim
