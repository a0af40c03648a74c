// The oracle's checks of ends: when a job's holds are expected to be free, overruns, and enforced
// limits.
#include <algorithm>

#include "core/limits.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/oracle_budgets.h"
#include "tests/oracle/oracle_text.h"

namespace subak::sim {
bool Oracle::enforced(const Job& j) const {
  if (!is_ours(j) || j.limit == 0) return false;
  if (j.leaf != kUnassigned && OracleBudgets(*this).is_hard(j.leaf)) return true;
  for (AccountId id = j.leaf; id && id != kUnassigned;) {
    const Account* const a = account(id);
    if (a == nullptr) break;
    if (a->spec.time_limits != TimeLimits::kInherit) {
      return a->spec.time_limits == TimeLimits::kEnforced;
    }
    if (id == kRootAccount) break;
    id = a->parent;
  }
  return policy_.enforce_time_limits;
}

bool Oracle::is_ours(const Job& j) {
  return j.origin == JobOrigin::kApi || j.origin == JobOrigin::kPods;
}

Oracle::Kind Oracle::kind_of(const Job& j) {
  Kind kind{j.leaf, j.id.cluster(), j.name, {}, j.request};
  std::erase_if(kind.stem, [](char c) { return c >= '0' && c <= '9'; });
  for (const PodGroup& group : j.request.groups) {
    kind.pods.insert(kind.pods.end(), group.count, group.shape);
  }
  kind.rest.groups.clear();
  return kind;
}

// The last two similar jobs that ended decide, while the engine shows them, and so does each job
// that is late now.
bool Oracle::trusted(const Job& j) const {
  if (j.limit == 0 || j.overruns > 0) return false;
  if (enforced(j) || !is_ours(j)) return true;
  const Kind kind = kind_of(j);
  for (const Job& other : jobs_) {
    const bool late = other.overruns > 0 && other.limit != 0 && holds(other) && is_ours(other);
    if (late && kind_of(other) == kind) return false;
  }
  int seen = 0;
  for (auto it = told_.rbegin(); it != told_.rend() && seen < 2; ++it) {
    if (it->number + limits::kDoneJobsKept <= done_) break;
    if (!(it->kind == kind)) continue;
    if (it->over) return false;
    ++seen;
  }
  return true;
}

TimeMs Oracle::end_of(const Job& j) const {
  if (is_ours(j) && j.limit == 0 && j.leaf != kUnassigned && OracleBudgets(*this).is_hard(j.leaf)) {
    const bool by_default = OracleBudgets(*this).default_limit(j) != 0;
    TimeMs end = by_default ? kEndless : OracleBudgets(*this).until(j.leaf);
    const bool asked =
        j.state == JobState::kEnding && j.stop == Cause::kBudget && j.until != 0 && !j.last.late;
    if (asked) end = std::min(end, j.until);
    if (end < kEndless) end = std::max(end, j.started + limits::kEndingMs);
    if (end < kEndless && j.overruns >= limits::kMaxOverruns) return kNeverEnds;
    if (end < kEndless) return end - limits::kEndingMs + (limits::kEndingMs << j.overruns);
  }
  DurationMs doubled = j.limit != 0 ? j.limit : OracleBudgets(*this).default_limit(j);
  TimeMs from = j.started;
  if (enforced(j)) {
    from += j.limit + policy_.time_limit_grace_ms;
    doubled = limits::kEndingMs;
  }
  if (doubled == 0 || j.overruns >= limits::kMaxOverruns) return kNeverEnds;
  for (std::uint32_t i = 0; i < j.overruns; ++i) doubled = std::min(2 * doubled, kNeverEnds);
  return std::min(from + doubled, kNeverEnds);
}

bool Oracle::holds(const Job& j) {
  return j.started != 0 && (j.state == JobState::kStarting || j.state == JobState::kRunning ||
                            j.state == JobState::kEnding);
}

void Oracle::on(const fact::JobOverran& f) {
  Job* const j = job(f.id);
  if (f.attempt != j->attempt) wrong(name(f.id) + " overran in another attempt");
  if (!holds(*j)) wrong(name(f.id) + " overran though it holds nothing");
  // A budget lets a job without a limit run on shortly before its planned end.
  const bool by_budget = is_ours(*j) && j->limit == 0 && OracleBudgets(*this).is_hard(j->leaf);
  if (end_of(*j) > now_ + (by_budget ? limits::kEndingMs : 0)) {
    wrong(name(f.id) + " overran an end that is to come");
  }
  if (f.times <= j->overruns) wrong(name(f.id) + " overran less often than before");
  j->overruns = f.times;
}

// Checks a job that was asked to end because it reached its limit.
void Oracle::judge_limit(const Job& j) {
  if (!enforced(j)) wrong(name(j.id) + " is ended by a limit that is not enforced");
  const DurationMs had_ms = now_ - j.started;
  if (had_ms < j.limit + policy_.time_limit_grace_ms) {
    wrong(name(j.id) + " is ended before its limit");
  }
}

void Oracle::on(const fact::TimeLeapt& f) {
  if (f.charged == 0) leapt_until_ = f.to_ms == 0 ? 0 : f.to_ms + limits::kClockProofMs;
}

// After a tick, in clusters whose state is known.
void Oracle::judge_ends() {
  for (const Node& n : nodes_) {
    const TimeMs due = n.drain_from != 0 ? n.drain_from : n.drain_until;
    if (n.there && due != 0 && due <= now_) wrong(n.spec.name + " is drained at another time");
  }
  if (now_ < leapt_until_) return;
  for (const Job& j : jobs_) {
    if (!is_synced(j.id.cluster()) || !holds(j)) continue;
    if (end_of(j) <= now_) wrong(name(j.id) + " is past its end, and nobody says so");
    const bool had = now_ - j.started >= j.limit + policy_.time_limit_grace_ms;
    if (enforced(j) && had && j.state != JobState::kEnding) {
      wrong(name(j.id) + " has had its limit and goes on");
    }
  }
}

void Oracle::compare_end(const Job& j, const JobRow& row) {
  const TimeMs end = holds(j) ? end_of(j) : 0;
  if (row.planned_end_ms != (end == kNeverEnds ? 0 : end)) wrong(name(j.id) + " ends elsewhen");
  if (row.limit.enforced != enforced(j)) wrong(name(j.id) + " has a limit of another kind");
  const bool settled = holds(j) || j.state == JobState::kQueued;
  if (settled && row.limit.distrusted != (j.limit != 0 && !trusted(j)))
    wrong(name(j.id) + " is trusted otherwise");
  if (holds(j) && row.overruns != j.overruns)
    wrong(name(j.id) + " overran another number of times");
}

}  // namespace subak::sim
