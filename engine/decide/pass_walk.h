// One walk of a scheduling pass down the account tree. It yields the waiting jobs in their order,
// and the pass (pass.cc, claims.cc) tries to place each job and reports the result. The walk skips
// jobs that cannot start, because their shape (their request) has no placement or a rule of an
// account stops them. A job class (in names: `line`) is the waiting jobs of one leaf and shape.
// Threads: one at a time; all functions run inside Engine::apply.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "accounting/quota/entitlement.h"
#include "core/must.h"
#include "engine/decide/decide.h"
#include "engine/decide/decision.h"
#include "engine/derive/reservations.h"
#include "model/bounds/pass_limits.h"
#include "queue/ready.h"

namespace subak::decide {

// Return the number that rises whenever a shape that had no placement may have one now
// (freed_version() of the fleet, plus 1); never 0. Cached results are valid for one number. The
// version of one shape may stay the same for longer than the version of the fleet.
std::uint64_t freed_point(const Decision& d);
std::uint64_t freed_point(const Decision& d, ShapeId shape);
// True if the cache `blocked` says that the shape has no placement, and the fleet has not changed
// for this shape since.
bool is_blocked(const Decision& d, const PassMemory::BlockedShapes& blocked, ShapeId shape);
// Records that the shape has no placement now.
void note_blocked(const Decision& d, PassMemory::BlockedShapes& blocked, ShapeId shape);

// The work that one pass has done: how many jobs it started, and how many searches for a placement
// it made. Only these counts bound a pass, never the clock.
struct Work {
  std::size_t starts = 0, checks = 0;
  bool enough() const {
    return starts >= limits::kMaxStartsPerPass || checks >= limits::kMaxFitChecksPerPass;
  }
};

// Bounds how many jobs a walk tries for each budget that has too little GPU time left for them. The
// first jobs are blocked one by one, because a shorter job may still fit. After
// limits::kMaxBudgetLooks jobs, a budget of all products blocks its whole account. A budget of one
// product then blocks the job class of each job that it stops.
class BudgetLooks {
 public:
  // Call it for a job that a budget stops in its turn.
  void block(ReadyQueue::Pass& pass, const Binding& rule, JobId job);

 private:
  // How many jobs each budget has stopped, by its account and product.
  std::map<std::pair<AccountId, ProductId>, int> looks_;
};

// One walk down the account tree. Only jobs whose shape has a placement outside the reserved nodes
// take part. The walk finds these shapes before it begins, because the order compares accounts by
// their next jobs. The caller takes a job with next(), tries to place it, and reports the result
// with started() or with a function that skips or blocks jobs.
class PassWalk {
 public:
  // The walk searches for placements outside `reserved_nodes`, which must outlive the walk.
  // `blocked` has the cached results for the nodes outside `reserved_nodes`. The shapes in
  // `reserved` always take part.
  PassWalk(Decision& d, const ReservedNodes& reserved_nodes, PassMemory& memory,
           PassMemory::BlockedShapes& blocked, std::set<ShapeId> reserved = {});

  // Returns the next job in the order; none if no job is left. Without a report, next() returns the
  // same job again.
  std::optional<JobId> next() { return pass_.next(); }
  // Call it when the job has started, after its holds are in the tree. `leaf`: the job's account.
  void started(JobId id, AccountId leaf) { pass_.started(id, leaf); }
  // Call it when the shape has no placement. Records this, and blocks the shape for this walk.
  void no_place(ShapeId shape);
  // Call it when one shape has no placement, because a start often takes the room of several shapes
  // at once. The function searches placements for the other shapes, and blocks each shape without a
  // placement. It ends at the first shape that has a placement. Each search counts as one of
  // `work.checks`.
  void block_others(Work& work);
  // Call it for a job that has no placement and that would end at `end_ms`. Returns true if nodes
  // that will be drained before that time are the only obstacle. In this case, the walk skips the
  // job. Similar jobs with shorter limits may start on these nodes.
  bool skip_if_drained(const state::Job& job, TimeMs end_ms, derive::ReservedUntil& reserved_until);
  // Skips the job. After limits::kMaxFillLooks jobs of one shape, it skips all jobs of the shape.
  void skip_drained(const state::Job& job, TimeMs end_ms);
  // True if some job of this shape that ends no later than `end_ms` had no placement. A job of this
  // shape that ends at `end_ms` then also has no placement.
  bool is_too_late(ShapeId shape, TimeMs end_ms) const;
  // Returns the shapes of the jobs that skip_drained() has skipped.
  std::set<ShapeId> too_late() const;
  // Call it for the shape of a job that had no placement in its turn, for whatever reason.
  void pass_over(ShapeId shape) { passed_over_.try_emplace(shape, freed_point(d_, shape)); }
  // True if a shape without a placement in this walk, or one that was passed over, may have a
  // placement by now, because of the starts in this walk. Non-GPU pods must leave CPU and memory
  // free for free GPUs (Fleet::set_gpu_headroom), and a start makes these GPUs fewer.
  bool may_fit_now() const;
  // Skip all jobs of this job's class, or only this job, for the rest of the walk.
  void skip_line(JobId id) { pass_.block_line(id); }
  void skip_job(JobId id) { pass_.block_job(id); }
  // Call it for a job in its turn that has this placement. Returns true if the job had its turn as
  // a job within quota, but would borrow GPUs beyond its quota on the product of the placement.
  // This happens if the quota covers the job only on other products. Then the job's class waits for
  // its turn among the classes that borrow.
  bool wait_to_borrow(const state::Job& job, const Placement& placement);
  // True if some job may claim GPUs of other jobs, and the walk has found a shape without a
  // placement since the last call of looked_for_claims().
  bool may_have_new_claimants() const { return newly_blocked_ && may_claim_; }
  // Call it after a search for claims.
  void looked_for_claims() { newly_blocked_ = false; }
  // Blocks the job class of the job, because a rule that stops one job of a leaf and shape stops
  // all such jobs.
  void block_line_by_rule(JobId id) { block_by_rule({id, serial_of(id), AccountId(), 0}); }
  // Blocks this job, because it cannot be preempted and would borrow GPUs that a quota guarantees.
  // Other jobs of its job class may be preemptible.
  void block_by_promise(const state::Job& job) {
    stopped_.by_promise.emplace(job.leaf, job.shape);
    pass_.block_job(job.id);
  }
  // Blocks this job, because a budget has too little left for it (BudgetLooks).
  void block_by_budget(const Binding& rule, const state::Job& job);
  // Records when this rule on GPU-minutes or on a budget will allow the job that it stops now.
  void wait_for_minutes(const Binding& rule) {
    must(rule.allows_at > d_.s.now(), "a rule that stops a job allows it later");
    d_.set_pass_due_at(std::min(d_.s.pass_due().at_ms, rule.allows_at));
  }
  // True if a rule of the job's accounts stops the job on every placement. Blocks the jobs that
  // this rule stops, and records the rule for the next pass where that is possible.
  bool block_if_stopped(const state::Job& job);

 private:
  // Returns the fewest milli-GPU that the job can take.
  MilliGpu least_size(const state::Job& job) const;
  void block_by_rule(const PassMemory::BlockedByRule& rule);
  void apply(const PassMemory::BlockedByRule& rule);
  std::uint64_t serial_of(JobId id) const {
    return d_.s.fleet().shapes().serial(d_.s.jobs().at(id).shape);
  }
  // Returns the shapes that may have a placement, in an order that depends only on the state. It
  // blocks all other shapes. If there are more shapes than one pass could start, the newest shapes
  // are tried only in their turn.
  std::vector<ShapeId> unknown_shapes();
  bool has_place(ShapeId shape);

  Decision& d_;
  const ReservedNodes& reserved_nodes_;
  PassMemory& memory_;
  PassMemory::BlockedShapes& blocked_;
  const std::set<ShapeId> reserved_;
  const bool may_claim_;       // the policy and the quotas allow claims
  bool newly_blocked_ = true;  // as of may_have_new_claimants()
  std::vector<ShapeId> open_;  // shapes that had a placement when the walk began
  struct TooLate {
    TimeMs end_ms = 0;     // the earliest end of these jobs
    std::size_t jobs = 0;  // the number of jobs
  };
  std::map<ShapeId, TooLate> too_late_;
  const std::uint64_t begun_;  // freed_point() when the walk began
  // freed_point() of each shape when it was first passed over
  std::map<ShapeId, std::uint64_t> passed_over_;
  struct Stopped {
    // Job classes for which wait_to_borrow() returned true.
    std::set<std::pair<AccountId, ShapeId>> to_borrow;
    // Classes of jobs that block_by_promise() blocked.
    std::set<std::pair<AccountId, ShapeId>> by_promise;
    BudgetLooks by_budget;
  };
  Stopped stopped_;
  const TargetShareRule rule_;
  ReadyQueue::Pass pass_;
};

}  // namespace subak::decide
